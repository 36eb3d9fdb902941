/*
 * param_block.cc - a parameter block checked against its program's shapes.
 *
 * Called at the start of every query, before generated code reads the block without looking.
 */
#include <cstring>

#include "engine/program/program.h"
#include "turbine/params.h"

namespace turbine {
namespace {

[[noreturn]] void fail_param(size_t index, const char* what) {
  throw ProgramError("parameter value " + std::to_string(index) + ": " + what);
}

/* The bytes [offset, offset + size) of the block's value area. */
const uint8_t* value_bytes(std::span<const uint8_t> block, size_t index, uint64_t first, uint64_t offset,
                           uint64_t size) {
  if (size == 0) return block.data();
  if (offset < first || offset > block.size() || size > block.size() - offset) fail_param(index, "out of bounds");
  return block.data() + offset;
}

void check_array(std::span<const uint8_t> block, size_t index, uint64_t first, uint32_t type, const TbParam& value) {
  if (value.offset % 16 != 0) fail_param(index, "array is not aligned");
  const uint64_t width = tb_type_width(type);
  const uint8_t* elements = value_bytes(block, index, first, value.offset, value.length * (width + 1));
  const uint8_t* nulls = elements + value.length * width;
  for (uint32_t i = 0; i < value.length; i++) {
    if (nulls[i] > 1) fail_param(index, "null flag");
    if (type == TB_TYPE_BOOL && elements[i] > 1) fail_param(index, "boolean");
    if (!tb_type_is_text(type) || nulls[i]) continue;
    TbTextView view;
    memcpy(&view, elements + i * sizeof view, sizeof view);
    const uint8_t* text = value_bytes(block, index, first, view.offset, view.length);
    uint32_t prefix = 0;
    memcpy(&prefix, text, view.length < 4 ? view.length : 4);
    if (view.id != 0 || view.prefix != prefix) fail_param(index, "text view");
  }
}

}  // namespace

void check_params(const Program& program, std::span<const uint8_t> block) {
  TbParamBlock header;
  if (block.size() < sizeof header) throw ProgramError("parameters: bad size");
  memcpy(&header, block.data(), sizeof header);
  const uint64_t first = sizeof header + uint64_t{header.count} * sizeof(TbParam);
  if (header.magic != TB_PARAMS_MAGIC) throw ProgramError("parameters: bad magic");
  if (header.count != program.params().size()) throw ProgramError("parameters: wrong number");
  if (header.total_size != block.size() || first > block.size()) throw ProgramError("parameters: bad size");
  if (header.reserved[0] != 0 || header.reserved[1] != 0) throw ProgramError("parameters: reserved field");

  for (size_t i = 0; i < header.count; i++) {
    const TbParamShape& shape = program.params()[i];
    TbParam value;
    memcpy(&value, block.data() + sizeof header + i * sizeof value, sizeof value);
    if (value.is_null > 1) fail_param(i, "null flag");
    if (value.is_null) {
      if (!(shape.flags & TB_PARAM_NULLABLE)) fail_param(i, "is NULL but its shape says never");
      continue;
    }
    if (shape.flags & TB_PARAM_ARRAY)
      check_array(block, i, first, shape.type, value);
    else if (tb_type_is_text(shape.type))
      value_bytes(block, i, first, value.offset, value.length);
    else if (shape.type == TB_TYPE_BOOL && value.value[0] > 1)
      fail_param(i, "boolean");
  }
}

}  // namespace turbine
