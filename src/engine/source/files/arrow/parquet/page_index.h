/*
 * page_index.h - where the pages of a column chunk are, and what they hold, as the file's page index says.
 *
 * An index is optional, and untrusted: what it says of places is checked against the chunk, and of rows against
 * the row group here, and against the pages when they are read (page_source.h).
 */
#pragma once

#include <cstdint>
#include <vector>

#include "engine/source/files/arrow/arrow_file.h"
#include "engine/source/files/arrow/parquet/integer_bounds.h"

namespace parquet {
class ColumnChunkMetaData;
}

namespace turbine {

/* A data page. */
struct PagePlace {
  uint64_t offset = 0, size = 0;  // in the file, with its header
  uint64_t first_row = 0, rows = 0;  // of the row group
};

/* Bytes of the chunk, within the file; throws FileError if they are not. */
struct ChunkBytes {
  int64_t start = 0, size = 0;
};
ChunkBytes chunk_bytes(const OpenedFile& opened, const parquet::ColumnChunkMetaData& chunk);

/* In the order of rows, of which the group has `rows`; empty: the file has no index of them. For columns that are not
 * nested. Throws FileError, bad_alloc, and what libparquet throws. */
std::vector<PagePlace> page_places(const OpenedFile& opened, const parquet::ColumnChunkMetaData& chunk, uint64_t rows);

/* By page, of which there are so many; empty: the file does not say. Throws the same. */
std::vector<StoredColumn::Zone> page_zones(const OpenedFile& opened, const parquet::ColumnChunkMetaData& chunk,
                                           const BoundsForm& form, size_t pages);

}  // namespace turbine
