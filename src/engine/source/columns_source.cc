/*
 * columns_source.cc - chunks of columns that the backend has written, and their bounds in slot memory.
 *
 * Called by execution/ on the session's thread. It reads what a backend wrote: no offset or length may be used before
 * it is checked, and the device must never see a chunk before.
 */
#include "engine/source/columns_source.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "engine/program/program.h"
#include "engine/wire/protocol_error.h"
#include "turbine/wire.h"

namespace turbine {

namespace {

bool inside(uint64_t offset, uint64_t bytes, uint64_t size) { return offset <= size && bytes <= size - offset; }

/* `valid`: of a nullable column, else null. */
void check_texts(const uint8_t* values, const uint8_t* valid, uint32_t nrows, uint64_t bytes_size) {
  for (uint32_t i = 0; i < nrows; i++) {
    TbTextView view;
    memcpy(&view, values + i * sizeof view, sizeof view);
    if (valid != nullptr && valid[i] == 0) continue;
    if (view.id != 0 || !inside(view.offset, view.length, bytes_size)) throw ProtocolError("text leaves its chunk");
  }
}

/* `slot`: the slot's bytes that a chunk may use. Throws ProtocolError. */
void check_columns_chunk(const Program& program, std::span<const uint8_t> slot, uint32_t max_rows) {
  const auto& chunk = *reinterpret_cast<const TbColumnsChunk*>(slot.data());
  const uint64_t columns = program.source_columns();
  const uint64_t header = sizeof chunk + columns * sizeof chunk.columns[0];
  if (header > slot.size() || chunk.ncolumns != columns) throw ProtocolError("columns chunk: number of columns");
  if (chunk.nrows > max_rows) throw ProtocolError("columns chunk: too many rows");
  if (!inside(chunk.bytes_offset, chunk.bytes_size, slot.size())) throw ProtocolError("columns chunk: byte area");

  for (size_t i = 0; i < columns; i++) {
    const TbColumn& column = program.columns()[i];
    const uint64_t width = tb_type_width(column.type);
    const auto [values, valid] = chunk.columns[i];
    if (values % std::min<uint64_t>(width, 16) != 0 || !inside(values, chunk.nrows * width, slot.size()))
      throw ProtocolError("columns chunk: values out of bounds");
    // Generated code reads those of every nullable column.
    if (valid == 0 && (column.flags & TB_COL_NULLABLE)) throw ProtocolError("columns chunk: no valid bytes");
    if (valid != 0 && !inside(valid, chunk.nrows, slot.size())) throw ProtocolError("columns chunk: valid bytes");
    if (tb_type_is_text(column.type))
      check_texts(slot.data() + values, column.flags & TB_COL_NULLABLE ? slot.data() + valid : nullptr, chunk.nrows,
                  chunk.bytes_size);
  }
}

}  // namespace

void ColumnsSource::check(const ChunkRequest& chunk, const SlotShape&) const {
  if (chunk.npages != 0 || !chunk.runs.empty() || chunk.layout != 0) throw ProtocolError("columns chunk with pages");
}

void ColumnsSource::check_content(const uint8_t* slot, const SlotShape& shape) const {
  check_columns_chunk(program_, {slot, shape.ids_offset}, shape.max_rows());
}

}  // namespace turbine
