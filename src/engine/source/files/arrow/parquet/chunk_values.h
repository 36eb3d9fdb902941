/*
 * chunk_values.h - values of a Parquet column chunk become rows of a column.
 *
 * A dictionary's entries are converted once a chunk, and rows take them by their indexes.
 */
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "engine/source/files/arrow/parquet/chunk_pages.h"
#include "engine/source/files/column_rows.h"
#include "engine/source/files/table_file.h"

namespace turbine {

/* Of one wanted column, of one chunk. */
class ChunkValues {
 public:
  virtual ~ChunkValues() = default;
  /* Before all rows: the chunk's dictionary, which goes. Throws FileError, bad_alloc. */
  virtual void take_dictionary(const DictionaryEntries&) {}
  /* Appends the run's rows. Throws FileError, bad_alloc. */
  virtual void append(const ValueRun& run, ColumnRows& rows) = 0;
};

/* `type`: libarrow's of the column. Null if libparquet has to read it: it makes other values of what the pages hold,
 * or they do not become the wanted ones. */
std::unique_ptr<ChunkValues> chunk_values(const parquet::ColumnDescriptor& column, const arrow::DataType& type,
                                          const WantedColumn& wanted);

}  // namespace turbine
