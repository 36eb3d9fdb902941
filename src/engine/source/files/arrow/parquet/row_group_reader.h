/*
 * row_group_reader.h - the rows of one row group of a Parquet file.
 *
 * Columns whose pages are PLAIN, indexes of a dictionary or distances between integers go from page to rows without
 * libarrow's arrays between (chunk_pages.h, chunk_values.h); libparquet reads the others as record batches.
 */
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/source/files/arrow/arrow_file.h"

namespace parquet {
class FileMetaData;
}
namespace parquet::arrow {
class FileReader;
}

namespace turbine {

/* What a file's readers have in common. Borrowed by them. */
struct ParquetColumns {
  std::shared_ptr<parquet::FileMetaData> metadata;
  std::shared_ptr<arrow::Schema> schema;
  std::vector<int> leaves;           // by top-level field: its column; -1: it has several
  std::vector<std::vector<int>> all_leaves;  // by top-level field
  std::vector<BoundColumn> columns;  // that are wanted
  std::vector<int> fields;           // that these are read of, ascending
};

/* `rows`: of the row group, that are wanted. `open_arrow`: opens libparquet's own reader of the file, which costs more,
 * if it is needed. Throws FileError, bad_alloc. */
std::unique_ptr<BatchReader> read_row_group(
    const OpenedFile& opened, const ParquetColumns& columns, uint32_t batch, const RowRanges& rows,
    const std::function<std::unique_ptr<parquet::arrow::FileReader>()>& open_arrow);

}  // namespace turbine
