/*
 * program.cc - parsing of a serialized program, and of the parameters of a query.
 *
 * Everything that arrives in a QUERY message passes here before any reader looks at it: a program that parse() returns
 * is safe to index without checks, and generated code reads a parameter block without looking. Called by sessions of
 * the daemon and by the compiler process.
 */
#include "engine/program/program.h"

#include <cstring>

#include "engine/program/program_check.h"
#include "turbine/model.h"
#include "turbine/params.h"
#include "turbine/wire.h"

namespace turbine {

namespace {

void check_section(const char* name, TbSection s, uint64_t element, uint32_t most, uint64_t total) {
  if (s.count > most) program_fail(std::string(name) + ": too many");
  if (s.offset % 8 != 0) program_fail(std::string(name) + ": not aligned");
  if (s.count == 0) {
    if (s.offset > total) program_fail(std::string(name) + ": out of bounds");
    return;
  }
  if (s.offset < sizeof(TbProgram) || s.offset + s.count * element > total)
    program_fail(std::string(name) + ": out of bounds");
}

void check_header(const TbProgram& h, size_t size) {
  if (h.magic != TB_PROGRAM_MAGIC) program_fail("bad magic");
  if (h.version != TB_PROGRAM_VERSION) program_fail("version " + std::to_string(h.version) + " is not known");
  if (h.total_size != size) program_fail("size does not match");
  if (h.sink < TB_SINK_ROWS || h.sink > TB_SINK_BUILD) program_fail("unknown sink");
  if (h.flags & ~TB_PROGRAM_KEEPS_NULL_KEYS) program_fail("unknown flags");
  if (h.flags != 0 && h.sink != TB_SINK_BUILD) program_fail("flags of another sink");
  if (h.source < TB_SOURCE_HEAP || h.source > TB_SOURCE_FILES) program_fail("unknown source");
  if (h.source == TB_SOURCE_FILES && h.sink == TB_SINK_ROWS) program_fail("row ids of files");
  check_section("attributes", h.attributes, sizeof(TbAttribute), TB_MAX_ATTRIBUTES, size);
  check_section("columns", h.columns, sizeof(TbColumn), TB_MAX_COLUMNS, size);
  check_section("expressions", h.exprs, sizeof(TbExpr), TB_MAX_EXPRS, size);
  // Each operand slot belongs to an expression or a join; 64 apiece is beyond any query.
  check_section("operands", h.args, sizeof(uint32_t), TB_MAX_EXPRS * 64, size);
  check_section("filters", h.filters, sizeof(uint32_t), TB_MAX_EXPRS, size);
  check_section("keys", h.keys, sizeof(uint32_t), TB_MAX_KEYS, size);
  check_section("aggregates", h.aggs, sizeof(TbAgg), TB_MAX_AGGS, size);
  check_section("parameters", h.params, sizeof(TbParamShape), TB_MAX_PARAMS, size);
  check_section("outputs", h.outputs, sizeof(uint32_t), TB_MAX_OUTPUTS, size);
  check_section("joins", h.joins, sizeof(TbJoin), TB_MAX_JOINS, size);
}

}  // namespace

Program Program::parse(std::span<const uint8_t> blob) {
  if (blob.size() < sizeof(TbProgram) || blob.size() > TB_MAX_MESSAGE) program_fail("bad size");
  Program program;
  program.blob_.assign(blob.begin(), blob.end());
  check_header(program.header(), blob.size());
  check_row_shape(program);
  check_joins_and_sink(program, check_exprs(program));
  return program;
}

bool Program::has_tids() const { return tb_program_has_tids(&header()) != 0; }

size_t Program::source_columns() const {
  size_t n = 0;
  while (n < columns().size() && columns()[n].join == 0) n++;
  return n;
}

size_t Program::full_joins_end() const {
  size_t end = joins().size();
  while (end > 0 && joins()[end - 1].kind != TB_JOIN_FULL) end--;
  return end;
}

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
  // The block is whole.
  TbParamBlock header;
  if (block.size() < sizeof header) throw ProgramError("parameters: bad size");
  memcpy(&header, block.data(), sizeof header);
  const uint64_t first = sizeof header + uint64_t{header.count} * sizeof(TbParam);
  if (header.magic != TB_PARAMS_MAGIC) throw ProgramError("parameters: bad magic");
  if (header.count != program.params().size()) throw ProgramError("parameters: wrong number");
  if (header.total_size != block.size() || first > block.size()) throw ProgramError("parameters: bad size");
  if (header.reserved[0] != 0 || header.reserved[1] != 0) throw ProgramError("parameters: reserved field");

  // Each value has its shape.
  std::vector<uint32_t> lengths(header.count);
  for (size_t i = 0; i < header.count; i++) {
    const TbParamShape& shape = program.params()[i];
    TbParam value;
    memcpy(&value, block.data() + sizeof header + i * sizeof value, sizeof value);
    if (value.is_null > 1) fail_param(i, "null flag");
    if (value.is_null) {
      if (!(shape.flags & TB_PARAM_NULLABLE)) fail_param(i, "is NULL but its shape says never");
      continue;
    }
    lengths[i] = value.length;
    if (shape.flags & TB_PARAM_ARRAY)
      check_array(block, i, first, shape.type, value);
    else if (tb_type_is_text(shape.type))
      value_bytes(block, i, first, value.offset, value.length);
    else if (shape.type == TB_TYPE_BOOL && value.value[0] > 1)
      fail_param(i, "boolean");
  }

  // Models are as long as code reads them.
  for (const TbExpr& e : program.exprs()) {
    if (e.op != TB_EXPR_MODEL || !tb_model_has_array(e.index)) continue;
    const uint32_t param = program.expr(program.args(e)[0]).index;
    const uint32_t columns = e.nargs - 1u;
    const bool whole = tb_model_has_centroids(e.index)
                           ? lengths[param] > 0 && lengths[param] % tb_model_length(e.index, columns, 1) == 0
                           : lengths[param] == tb_model_length(e.index, columns, 0);
    if (!whole) fail_param(param, "length of a model");
  }
}

}  // namespace turbine
