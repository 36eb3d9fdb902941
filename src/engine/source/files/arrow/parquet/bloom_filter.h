/*
 * bloom_filter.h - whether a column chunk's Bloom filter knows one of some values.
 */
#pragma once

#include "engine/source/files/arrow/arrow_file.h"
#include "engine/source/files/arrow/parquet/integer_bounds.h"
#include "engine/source/segments/equality_filter.h"

namespace parquet {
class ColumnChunkMetaData;
}

namespace turbine {

/* True: no row of the chunk has one of the values. False: some may have, or there is no filter that can be asked.
 * `integers`: how the column's integers are made of the file's; null: they are not, or it has texts. Throws FileError,
 * bad_alloc, and what libparquet throws. */
bool bloom_filter_excludes(const OpenedFile& opened, const parquet::ColumnChunkMetaData& chunk,
                           const parquet::ColumnDescriptor& column, const BoundsForm* integers,
                           const ColumnEquality& equality);

}  // namespace turbine
