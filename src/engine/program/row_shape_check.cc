/*
 * row_shape_check.cc - attributes, parameters and columns of a program.
 *
 * Called by Program::parse(). Attributes decide how bytes of pages are read, so sizes,
 * alignments and indexes are checked one by one.
 */
#include "engine/program/program_check.h"

namespace turbine {
namespace {

constexpr int kMaxScale = 1000;
constexpr uint32_t kNum64Digits = 18;

bool valid_type(uint32_t type) { return tb_type_width(type) != 0; }

void check_attribute(size_t i, const TbAttribute& a) {
  if (a.length == 0 || a.length < -2) program_fail("attribute", i, "bad length");
  if (a.align != 1 && a.align != 2 && a.align != 4 && a.align != 8) program_fail("attribute", i, "bad alignment");
  if (a.flags & ~(TB_ATT_BYVAL | TB_ATT_NOTNULL | TB_ATT_DROPPED)) program_fail("attribute", i, "unknown flags");
  if ((a.flags & TB_ATT_BYVAL) && a.length != 1 && a.length != 2 && a.length != 4 && a.length != 8)
    program_fail("attribute", i, "by-value length");
  if (a.reserved != 0) program_fail("attribute", i, "reserved field");
}

void check_param_shape(size_t i, const TbParamShape& s) {
  if (!valid_type(s.type)) program_fail("parameter", i, "unknown type");
  if (s.flags & ~(TB_PARAM_ARRAY | TB_PARAM_NULLABLE | TB_PARAM_ZONE)) program_fail("parameter", i, "unknown flags");
  if ((s.flags & TB_PARAM_ZONE) && (s.type != TB_TYPE_TEXT || s.flags != TB_PARAM_ZONE))
    program_fail("parameter", i, "time zone's shape");
  check_scale("parameter", i, s.type, s.scale);
}

void check_missing(const Program& p, size_t i, const TbColumn& c) {
  if (c.missing_param >= p.params().size()) program_fail("column", i, "no such parameter");
  const TbParamShape& s = p.params()[c.missing_param];
  if (s.flags & TB_PARAM_ARRAY) program_fail("column", i, "missing value is an array");
  if (!compatible_types(s.type, c.type) || s.scale != c.scale) program_fail("column", i, "missing value's type");
}

void check_heap_column(const Program& p, size_t i, const TbColumn& c) {
  if (c.attnum < 1 || c.attnum > p.attributes().size()) program_fail("column", i, "no such attribute");
  const TbAttribute& a = p.attributes()[c.attnum - 1];
  if (a.flags & TB_ATT_DROPPED) program_fail("column", i, "of a dropped attribute");
  const bool display = c.flags & TB_COL_DISPLAY_SCALE;
  if (display && c.type != TB_TYPE_INT4) program_fail("column", i, "display scale's type");
  if (c.digits > (c.type == TB_TYPE_NUM64 ? kNum64Digits : 0)) program_fail("column", i, "digits");
  const bool varlena = tb_type_is_text(c.type) || tb_type_is_numeric(c.type) || display;
  const int length = varlena ? -1 : static_cast<int>(tb_type_width(c.type));
  if (a.length != length) program_fail("column", i, "type does not fit the attribute");
  if (c.missing_param != TB_NONE) check_missing(p, i, c);
}

void check_rows_column(size_t i, const TbColumn& c) {
  if (c.attnum != i + 1) program_fail("column", i, "of rows is out of order");
  if (c.missing_param != TB_NONE) program_fail("column", i, "of rows has a missing value");
}

/* Generated code looks for NULLs where the flags say that they may be, and
 * nowhere else: LEFT and FULL joins bring them, and a table's column that has them. */
void check_payload_column(const Program& p, size_t i, const TbColumn& c) {
  if (c.join > p.joins().size()) program_fail("column", i, "no such join");
  if (c.attnum < 1 || c.attnum > TB_MAX_OUTPUTS) program_fail("column", i, "no such output");
  if (c.missing_param != TB_NONE) program_fail("column", i, "of a table has a missing value");
  const bool nullable = p.may_lack_match(c.join - 1u) || (c.flags & TB_COL_STORED_NULLABLE);
  if (nullable != ((c.flags & TB_COL_NULLABLE) != 0)) program_fail("column", i, "nullable flag of a joined column");
}

void check_column(const Program& p, size_t i) {
  const TbColumn& c = p.columns()[i];
  if (!valid_type(c.type)) program_fail("column", i, "unknown type");
  if (c.flags & ~(TB_COL_NULLABLE | TB_COL_STORED_NULLABLE | TB_COL_DISPLAY_SCALE))
    program_fail("column", i, "unknown flags");
  if (i > 0 && c.join < p.columns()[i - 1].join) program_fail("column", i, "out of the order of joins");
  check_scale("column", i, c.type, c.scale);
  const bool decoded = c.join == 0 && p.source() != TB_SOURCE_ROWS;
  if (!decoded && (c.flags & TB_COL_DISPLAY_SCALE)) program_fail("column", i, "display scale of no attribute");
  if (!decoded && c.digits != 0) program_fail("column", i, "digits of no attribute");
  if (c.join != 0) return check_payload_column(p, i, c);
  if (c.flags & TB_COL_STORED_NULLABLE) program_fail("column", i, "of the source has a joined column's flag");
  if (p.full_joins_end() > 0 && !(c.flags & TB_COL_NULLABLE)) program_fail("column", i, "nullable flag at a FULL join");
  if (p.source() == TB_SOURCE_ROWS)
    check_rows_column(i, c);
  else
    check_heap_column(p, i, c);
}

}  // namespace

void check_scale(const char* kind, size_t index, uint32_t type, int scale) {
  if (scale < -kMaxScale || scale > kMaxScale) program_fail(kind, index, "scale out of range");
  if (scale != 0 && !tb_type_is_numeric(type)) program_fail(kind, index, "scale of a type that has none");
}

void check_row_shape(const Program& program) {
  if (program.source() == TB_SOURCE_ROWS && !program.attributes().empty())
    program_fail("source of rows with attributes");
  for (size_t i = 0; i < program.attributes().size(); i++) check_attribute(i, program.attributes()[i]);
  for (size_t i = 0; i < program.params().size(); i++) check_param_shape(i, program.params()[i]);
  for (size_t i = 0; i < program.columns().size(); i++) check_column(program, i);
}

}  // namespace turbine
