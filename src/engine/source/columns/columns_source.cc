/*
 * columns_source.cc - chunks of columns that the backend has written.
 *
 * Called by execution/ on the session's thread. It must never let the device see a chunk
 * before columns_chunk_check.cc has looked at its bounds.
 */
#include "engine/source/columns/columns_source.h"

#include "engine/source/columns/columns_chunk_check.h"
#include "engine/wire/protocol_error.h"

namespace turbine {

void ColumnsSource::check(const ChunkRequest& chunk, const SlotShape&) const {
  if (chunk.npages != 0 || !chunk.runs.empty() || chunk.layout != 0) throw ProtocolError("columns chunk with pages");
}

void ColumnsSource::check_content(const uint8_t* slot, const SlotShape& shape) const {
  check_columns_chunk(program_, {slot, shape.ids_offset}, shape.max_rows());
}

}  // namespace turbine
