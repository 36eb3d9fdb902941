/*
 * kept_row_layout.cc - computes the columns of kept rows from a program.
 *
 * Called by compiler and engine, which must get the same answer: nothing except the
 * program may count.
 */
#include "engine/program/kept_row_layout.h"

namespace turbine {
namespace {

std::string check_payload(const TbColumn& column, const KeptRowLayout& table) {
  if (column.attnum > table.noutputs()) return "no output " + std::to_string(column.attnum);
  const KeptColumn& output = table.output(column.attnum - 1u);
  const std::string name = "output " + std::to_string(column.attnum);
  if (column.type != output.type || column.scale != output.scale) return name + " is of another type";
  if (((column.flags & TB_COL_STORED_NULLABLE) != 0) != output.nullable) return name + ": nullable differs";
  return "";
}

}  // namespace

KeptRowLayout kept_row_layout(const Program& program) {
  KeptRowLayout rows;
  rows.nkeys = program.keys().size();
  rows.keeps_null_keys = program.keeps_null_keys();
  for (uint32_t key : program.keys()) {
    const TbExpr& e = program.expr(key);
    rows.columns.push_back({e.type, e.scale, rows.keeps_null_keys && (e.flags & TB_EX_NULLABLE) != 0});
  }
  for (uint32_t output : program.outputs()) {
    const TbExpr& e = program.expr(output);
    rows.columns.push_back({e.type, e.scale, (e.flags & TB_EX_NULLABLE) != 0});
  }
  return rows;
}

std::string probe_mismatch(const Program& program, size_t join, const KeptRowLayout& table) {
  const std::span<const uint32_t> keys = program.join_keys(program.joins()[join]);
  if (keys.size() != table.nkeys) return "the table has " + std::to_string(table.nkeys) + " keys";
  for (size_t i = 0; i < keys.size(); i++) {
    const TbExpr& e = program.expr(keys[i]);
    if (e.type != table.columns[i].type || e.scale != table.columns[i].scale)
      return "key " + std::to_string(i) + " is of another type";
  }
  if (program.joins()[join].kind == TB_JOIN_FULL && !table.keeps_null_keys) return "rows with NULL keys were left out";
  for (const TbColumn& column : program.columns()) {
    if (column.join != join + 1) continue;
    if (std::string why = check_payload(column, table); !why.empty()) return why;
  }
  return "";
}

bool is_integer_key(uint32_t type) {
  switch (type) {
    case TB_TYPE_INT2:
    case TB_TYPE_INT4:
    case TB_TYPE_INT8:
    case TB_TYPE_DATE:
    case TB_TYPE_TIMESTAMP:
    case TB_TYPE_TIMESTAMPTZ: return true;
    default: return false;
  }
}

}  // namespace turbine
