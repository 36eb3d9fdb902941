/*
 * arrow_file.h - what the files of both formats have in common: where they are read from, and the columns
 * that they are opened for.
 */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/status.h>
#include <arrow/type_fwd.h>

#include "engine/source/files/arrow/column_values.h"
#include "engine/source/files/arrow/metadata_cache.h"
#include "engine/source/files/arrow/stored_file.h"
#include "engine/source/files/table_file.h"

namespace turbine {

/* Of one open file. Reads beside each other (pread). */
struct OpenedFile {
  std::shared_ptr<StoredFile> file;
  FileVersion version;

  /* Throws FileError if it has another version now. */
  void check_unchanged() const;
};

/* A column that the program wants, and where it is in the file. */
struct BoundColumn {
  static constexpr int kConstant = -1;
  WantedColumn wanted;
  int field = kConstant;  // of the file's schema
};

/* Finds each by its name; throws FileError. */
std::vector<BoundColumn> bind_columns(const arrow::Schema& schema, std::vector<WantedColumn> wanted);

/* Columns of a batch that libarrow has read become rows. */
class BoundRows {
 public:
  /* `fields`: of the file, in the order of the batch's columns; columns of other fields are left alone. `schema`: the
   * batch's, which may have dictionaries where the file's has texts. */
  BoundRows(const std::vector<BoundColumn>& columns, const std::vector<int>& fields, const arrow::Schema& schema);
  /* Appends rows of the batch to these columns; throws FileError. */
  void append(const arrow::RecordBatch& batch, int64_t from, uint32_t count, std::vector<ColumnRows>& rows) const;
  /* Checks what libarrow has read, once a batch; throws FileError. */
  void check(const arrow::RecordBatch& batch) const;

 private:
  const std::vector<BoundColumn>& columns_;
  struct Place {
    size_t column;  // of the bound ones
    int field;  // of the batch
    std::unique_ptr<const ColumnValues> values;
  };
  std::vector<Place> places_;
};

/* Appends rows to all columns that the file has not got. */
void append_constants(const std::vector<BoundColumn>& columns, uint32_t count, std::vector<ColumnRows>& rows);

/* Reads a batch of which no column is in the file. */
std::unique_ptr<BatchReader> read_constants(const std::vector<BoundColumn>& columns);

/* The one value that a constant column has, where it is taken for an integer. */
StoredColumn::Zone constant_zone(const WantedColumn& constant);

/* Fields that the columns are read of, ascending, each once. */
std::vector<int> bound_fields(const std::vector<BoundColumn>& columns);

/* The first that is made of the field, which is bound. */
size_t first_column_of(const std::vector<BoundColumn>& columns, int field);

/* Memory for what libarrow reads of all files: of a bomb it is an error, not the end. */
arrow::MemoryPool* file_memory();

/* Throws a FileError, or bad_alloc, unless the status is good. */
void check_status(const arrow::Status& status);

std::unique_ptr<TableFile> open_ipc_file(OpenedFile opened, std::vector<WantedColumn> wanted, bool is_stream);
std::unique_ptr<TableFile> open_parquet_file(OpenedFile opened, std::vector<WantedColumn> wanted);

}  // namespace turbine
