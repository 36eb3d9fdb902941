/*
 * file_columns.h - a table's rows as the columns that an Arrow file has already.
 *
 * Whoever made the file has chosen its types. A value is written if it can be held exactly, so that it reads
 * back as it was; all others are errors. Columns that the table lacks are NULL.
 */
#pragma once

#include <arrow/record_batch.h>

#include <memory>
#include <string>
#include <vector>

#include "export/postgres/pg_type.h"

namespace turbine::exporting {

/* The columns of an addition to such a file: dictionaries as their values, no statistics. */
std::shared_ptr<arrow::Schema> addition_schema(const arrow::Schema& file);

class FileColumns {
 public:
  /* `names` and `types` are those of the rows; `types` become what decoders have to make of them. Throws
   * ExportError of kUsage if the file lacks a column, or has it in a type that such values have no form in. */
  FileColumns(const arrow::Schema& file, const std::vector<std::string>& names, std::vector<PgType>& types);

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  /* Decoded rows as a batch of schema(). Throws ExportError of kValue, with the column's name. */
  std::shared_ptr<arrow::RecordBatch> convert(const arrow::RecordBatch& rows) const;

 private:
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<int> sources_; /* by column of the file: of the rows, or -1 */
};

}  // namespace turbine::exporting
