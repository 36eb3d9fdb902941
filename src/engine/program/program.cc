/*
 * program.cc - parsing of a serialized program.
 *
 * Everything that arrives in a QUERY message passes here before any reader
 * looks at it: a program that parse() returns is safe to index without checks.
 * Called by sessions of the daemon and by the compiler process.
 */
#include "engine/program/program.h"

#include "engine/program/program_check.h"
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

}  // namespace turbine
