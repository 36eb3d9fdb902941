/*
 * parquet_writer.h - Parquet files, one row group for each record batch.
 *
 * Parquet has statistics of its own for each row group and column, and pages of indexes.
 */
#pragma once

#include <arrow/type.h>
#include <arrow/util/type_fwd.h>
#include <parquet/arrow/writer.h>

#include <memory>

#include "export/output_file.h"
#include "export/table_writer.h"

namespace turbine::exporting {

struct ParquetOptions {
  arrow::Compression::type compression;
  bool dictionary; /* for columns that are worth one */
};

/* Throws ExportError, as all functions of the writer do. */
std::unique_ptr<TableWriter> make_parquet_writer(std::unique_ptr<OutputFile> file,
                                                 const std::shared_ptr<arrow::Schema>& schema,
                                                 const ParquetOptions& options);

}  // namespace turbine::exporting
