/*
 * program_check.cc - what a program may not be: its rows, its expressions, its joins, filters and sink.
 *
 * Called by Program::parse(), once for every program that comes from a backend. Attributes decide how bytes of pages
 * are read, so sizes, alignments and indexes are checked one by one. An expression may be used if the columns that it
 * needs are there: those of the source everywhere, those of a joined table after its join; those of a SEMI or ANTI
 * join, which has no match to show, in its residual only. It must pass nothing that generated code could misread.
 */
#include "engine/program/program_check.h"

#include "turbine/grid.h"
#include "turbine/model.h"
#include "turbine/point_column.h"
#include "turbine/wire.h"

namespace turbine {

namespace {

constexpr int kMaxScale = 1000;
constexpr uint32_t kNum64Digits = 18;

/* text and bpchar have one physical form, and functions take either. */
bool compatible_types(uint32_t a, uint32_t b) { return a == b || (tb_type_is_character(a) && tb_type_is_character(b)); }

/* A type's scale, of an element of `kind`. */
void check_scale(const char* kind, size_t index, uint32_t type, int scale) {
  if (scale < -kMaxScale || scale > kMaxScale) program_fail(kind, index, "scale out of range");
  if (scale != 0 && !tb_type_is_numeric(type)) program_fail(kind, index, "scale of a type that has none");
}

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

void check_tid_column(const Program& p, size_t i, const TbColumn& c) {
  if (p.source() != TB_SOURCE_HEAP || c.join != 0) program_fail("column", i, "tuple ids of no heap");
  if (c.attnum != 0 || c.type != TB_TYPE_INT8 || c.flags != TB_COL_TID || c.digits != 0 || c.missing_param != TB_NONE)
    program_fail("column", i, "of tuple ids is more than that");
}

void check_heap_column(const Program& p, size_t i, const TbColumn& c) {
  if (c.attnum < 1 || c.attnum > p.attributes().size()) program_fail("column", i, "no such attribute");
  const TbAttribute& a = p.attributes()[c.attnum - 1];
  if (a.flags & TB_ATT_DROPPED) program_fail("column", i, "of a dropped attribute");
  const bool display = c.flags & TB_COL_DISPLAY_SCALE;
  if (display && c.type != TB_TYPE_INT4) program_fail("column", i, "display scale's type");
  const bool coordinate = c.flags & TB_COL_COORDINATE;
  if (coordinate) {
    if (c.type != TB_TYPE_FLOAT8 || display) program_fail("column", i, "coordinate's type");
    if (!tb_point_form_is_valid(c.digits)) program_fail("column", i, "form of a point");
    if (c.missing_param != TB_NONE) program_fail("column", i, "missing value of a point");
  } else if (c.digits > (c.type == TB_TYPE_NUM64 ? kNum64Digits : 0)) {
    program_fail("column", i, "digits");
  }
  const bool varlena = tb_type_is_text(c.type) || tb_type_is_numeric(c.type) || display || coordinate;
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
  if (c.flags & ~(TB_COL_NULLABLE | TB_COL_STORED_NULLABLE | TB_COL_DISPLAY_SCALE | TB_COL_TID | TB_COL_COORDINATE))
    program_fail("column", i, "unknown flags");
  if (i > 0 && c.join < p.columns()[i - 1].join) program_fail("column", i, "out of the order of joins");
  check_scale("column", i, c.type, c.scale);
  const bool decoded = c.join == 0 && p.source() != TB_SOURCE_ROWS;
  if (!decoded && (c.flags & TB_COL_DISPLAY_SCALE)) program_fail("column", i, "display scale of no attribute");
  if (!decoded && (c.flags & TB_COL_COORDINATE)) program_fail("column", i, "coordinate of no attribute");
  if (!decoded && c.digits != 0) program_fail("column", i, "digits of no attribute");
  if (c.join != 0 && !(c.flags & TB_COL_TID)) return check_payload_column(p, i, c);
  if (c.flags & TB_COL_STORED_NULLABLE) program_fail("column", i, "of the source has a joined column's flag");
  if (p.full_joins_end() > 0 && !(c.flags & TB_COL_NULLABLE)) program_fail("column", i, "nullable flag at a FULL join");
  if (c.flags & TB_COL_TID) return check_tid_column(p, i, c);
  if (p.source() == TB_SOURCE_ROWS)
    check_rows_column(i, c);
  else
    check_heap_column(p, i, c);
}

}  // namespace

void check_row_shape(const Program& program) {
  if (program.source() == TB_SOURCE_ROWS && !program.attributes().empty())
    program_fail("source of rows with attributes");
  for (size_t i = 0; i < program.attributes().size(); i++) check_attribute(i, program.attributes()[i]);
  for (size_t i = 0; i < program.params().size(); i++) check_param_shape(i, program.params()[i]);
  for (size_t i = 0; i < program.columns().size(); i++) check_column(program, i);
}

namespace {

bool is_grid_edges(const TbExpr& e) { return e.op == TB_EXPR_GRID && e.index == TB_GRID_EDGES; }

class ExprCheck {
 public:
  explicit ExprCheck(const Program& program) : p_(program) {}

  std::vector<bool> run() {
    const uint64_t pool = p_.header().args.count;
    is_array_.assign(p_.exprs().size(), false);
    for (uint32_t i = 0; i < p_.exprs().size(); i++) {
      const TbExpr& e = p_.expr(i);
      if (tb_type_width(e.type) == 0) program_fail("expression", i, "unknown type");
      if (e.flags & ~(TB_EX_NULLABLE | TB_EX_RAISES)) program_fail("expression", i, "unknown flags");
      if (e.reserved != 0 || e.reserved2 != 0) program_fail("expression", i, "reserved field");
      if (uint64_t{e.first_arg} + e.nargs > pool) program_fail("expression", i, "operand list out of bounds");
      for (uint32_t arg : p_.args(e))
        if (arg >= i) program_fail("expression", i, "operand does not precede it");
      check_scale("expression", i, e.type, e.scale);
      check_expr(i, e);
      check_flags(i, e);
    }
    return is_array_;
  }

 private:
  void need(bool ok, uint32_t i, const char* what) {
    if (!ok) program_fail("expression", i, what);
  }

  const TbExpr& arg(const TbExpr& e, uint32_t n) const { return p_.expr(p_.args(e)[n]); }

  void check_expr(uint32_t i, const TbExpr& e) {
    // Arrays are second operands of ANY and ALL, and the first ones of MODEL.
    const bool list = e.op == TB_EXPR_ANY || e.op == TB_EXPR_ALL;
    const bool model = e.op == TB_EXPR_MODEL && tb_model_has_array(e.index);
    const uint32_t place = list ? 1 : model ? 0 : TB_NONE;
    for (uint32_t n = 0; n < e.nargs; n++) need(is_array_[p_.args(e)[n]] == (n == place), i, "array operand");
    // Only who stores rows knows how to write them.
    for (uint32_t n = 0; n < e.nargs; n++) need(!is_grid_edges(arg(e, n)), i, "edges as an operand");
    // Each operation has its own operands.
    switch (e.op) {
      case TB_EXPR_COLUMN: return check_column_ref(i, e);
      case TB_EXPR_PARAM: return check_param_ref(i, e);
      case TB_EXPR_CALL: return check_call(i, e);
      case TB_EXPR_AND:
      case TB_EXPR_OR: need(e.nargs >= 2, i, "needs two operands"); return check_boolean(i, e, true);
      case TB_EXPR_NOT:
      case TB_EXPR_IS_TRUE:
      case TB_EXPR_IS_NOT_TRUE:
      case TB_EXPR_IS_FALSE:
      case TB_EXPR_IS_NOT_FALSE: need(e.nargs == 1, i, "needs one operand"); return check_boolean(i, e, true);
      case TB_EXPR_IS_NULL:
      case TB_EXPR_IS_NOT_NULL: need(e.nargs == 1, i, "needs one operand"); return check_boolean(i, e, false);
      case TB_EXPR_CASE: return check_case(i, e);
      case TB_EXPR_COALESCE:
        need(e.nargs >= 1 && e.index == 0, i, "bad COALESCE");
        for (uint32_t n = 0; n < e.nargs; n++) check_same_type(i, e, arg(e, n));
        return;
      case TB_EXPR_IS_DISTINCT:
      case TB_EXPR_ANY:
      case TB_EXPR_ALL: return check_comparison(i, e);
      case TB_EXPR_GREATEST:
      case TB_EXPR_LEAST: return check_extreme(i, e);
      case TB_EXPR_RESCALE:
        need(e.nargs == 1 && e.index == 0, i, "bad RESCALE");
        need(tb_type_is_numeric(e.type) && tb_type_is_numeric(arg(e, 0).type), i, "RESCALE of no numeric");
        return;
      case TB_EXPR_MODEL: return check_model(i, e);
      case TB_EXPR_SEQUENCE:
        need(e.nargs >= 1 && e.index <= 1, i, "bad SEQUENCE");
        check_same_type(i, e, arg(e, e.nargs - 1u));
        return;
      case TB_EXPR_LOCAL: return check_local(i, e);
      case TB_EXPR_LOOP: return check_loop(i, e);
      case TB_EXPR_GRID: return check_grid(i, e);
      case TB_EXPR_POINT: return check_point(i, e);
      case TB_EXPR_POSSIBLE:
      case TB_EXPR_UNDECIDED:
        need(e.nargs == 1 || e.nargs == 2, i, "needs one operand, or two");
        return check_boolean(i, e, true);
      default: program_fail("expression", i, "unknown operation");
    }
  }

  void check_local(uint32_t i, const TbExpr& e) {
    need(e.nargs == 0 && e.index < TB_MAX_LOCALS, i, "no such local");
    if (locals_.size() <= e.index) locals_.resize(e.index + size_t{1});
    const TbExpr*& known = locals_[e.index];
    if (!known) known = &e;
    need(e.type == known->type && e.scale == known->scale, i, "a local of two types");
  }

  /* A local that no LOCAL has read so far has no type yet; later ones must have that of its initial value. */
  void check_loop(uint32_t i, const TbExpr& e) {
    need(e.nargs >= 2 && e.nargs % 2 == 0 && e.type == TB_TYPE_BOOL, i, "bad LOOP");
    const uint32_t n = (e.nargs - 2u) / 2;
    need(e.index <= TB_MAX_LOCALS && n <= TB_MAX_LOCALS - e.index, i, "no such local");
    need(arg(e, n).type == TB_TYPE_BOOL, i, "condition is not boolean");
    if (locals_.size() < e.index + n) locals_.resize(e.index + n);
    for (uint32_t k = 0; k < n; k++) {
      const TbExpr*& known = locals_[e.index + k];
      if (!known) known = &arg(e, k);
      check_same_type(i, *known, arg(e, k));
      check_same_type(i, *known, arg(e, n + 2 + k));
    }
  }

  void check_column_ref(uint32_t i, const TbExpr& e) {
    need(e.nargs == 0 && e.index < p_.columns().size(), i, "no such column");
    const TbColumn& c = p_.columns()[e.index];
    need(e.type == c.type && e.scale == c.scale, i, "type differs from its column's");
  }

  void check_param_ref(uint32_t i, const TbExpr& e) {
    need(e.nargs == 0 && e.index < p_.params().size(), i, "no such parameter");
    const TbParamShape& s = p_.params()[e.index];
    need(e.type == s.type && e.scale == s.scale, i, "type differs from its parameter's");
    is_array_[i] = (s.flags & TB_PARAM_ARRAY) != 0;
  }

  void check_call(uint32_t i, const TbExpr& e) {
    need(e.index < TB_FUNCTION_COUNT, i, "no such function");
    const TbFunction& f = tb_functions[e.index];
    need(e.nargs == f.nargs, i, "number of arguments");
    for (uint32_t n = 0; n < e.nargs; n++) need(compatible_types(arg(e, n).type, f.args[n]), i, "argument type");
    need(compatible_types(e.type, f.result), i, "result type");
  }

  void check_boolean(uint32_t i, const TbExpr& e, bool boolean_operands) {
    need(e.type == TB_TYPE_BOOL && e.index == 0, i, "not boolean");
    for (uint32_t n = 0; boolean_operands && n < e.nargs; n++)
      need(arg(e, n).type == TB_TYPE_BOOL, i, "operand is not boolean");
  }

  void check_same_type(uint32_t i, const TbExpr& e, const TbExpr& value) {
    need(compatible_types(value.type, e.type) && value.scale == e.scale, i, "values of different types");
  }

  void check_case(uint32_t i, const TbExpr& e) {
    need(e.nargs >= 3 && e.nargs % 2 == 1 && e.index == 0, i, "bad CASE");
    for (uint32_t n = 0; n + 1 < e.nargs; n += 2) {
      need(arg(e, n).type == TB_TYPE_BOOL, i, "condition is not boolean");
      check_same_type(i, e, arg(e, n + 1));
    }
    check_same_type(i, e, arg(e, e.nargs - 1));
  }

  void check_comparison(uint32_t i, const TbExpr& e) {
    need(e.type == TB_TYPE_BOOL && e.nargs == 2, i, "bad comparison");
    need(e.index < TB_FUNCTION_COUNT, i, "no such function");
    const TbFunction& f = tb_functions[e.index];
    need(f.nargs == 2 && f.result == TB_TYPE_BOOL, i, "not a comparison function");
    need(compatible_types(arg(e, 0).type, f.args[0]) && compatible_types(arg(e, 1).type, f.args[1]), i,
         "argument type");
  }

  void check_extreme(uint32_t i, const TbExpr& e) {
    need(e.nargs >= 1 && e.index < TB_FUNCTION_COUNT, i, "bad GREATEST or LEAST");
    const TbFunction& f = tb_functions[e.index];
    need(f.nargs == 2 && f.result == TB_TYPE_BOOL, i, "not a comparison function");
    for (uint32_t n = 0; n < e.nargs; n++) {
      const uint32_t type = arg(e, n).type;
      check_same_type(i, e, arg(e, n));
      need(compatible_types(type, f.args[0]) && compatible_types(type, f.args[1]), i, "argument type");
    }
  }

  void check_model(uint32_t i, const TbExpr& e) {
    need(e.index >= TB_MODEL_LINEAR && e.index <= TB_MODEL_PRODUCT, i, "no such model");
    need(e.nargs >= 1u + tb_model_has_array(e.index), i, "a model of no columns");
    need(e.type == (e.index == TB_MODEL_NEAREST ? TB_TYPE_INT4 : TB_TYPE_FLOAT8), i, "result type");
    for (uint32_t n = 0; n < e.nargs; n++) need(arg(e, n).type == TB_TYPE_FLOAT8, i, "argument type");
    need(!tb_model_has_array(e.index) || !(arg(e, 0).flags & TB_EX_NULLABLE), i, "a model that may be NULL");
  }

  void check_grid(uint32_t i, const TbExpr& e) {
    struct Form {
      uint32_t type, ngeometries, nnumbers;
      bool has_index;  // of a cell, behind the numbers
    };
    static constexpr Form kForms[] = {{},
                                      {TB_TYPE_INT4, 1, 2, false},
                                      {TB_TYPE_INT8, 1, 2, true},
                                      {TB_TYPE_INT8, 1, 1, false},
                                      {TB_TYPE_GEOMETRY, 1, 2, true},
                                      {TB_TYPE_BOOL, 1, 2, true},
                                      {TB_TYPE_BOOL, 2, 0, false},
                                      {TB_TYPE_BOOL, 2, 0, false},
                                      {TB_TYPE_BOOL, 2, 0, false},
                                      {TB_TYPE_BOOL, 1, 0, false},
                                      {TB_TYPE_BOOL, 2, 2, true}};
    need(e.index >= TB_GRID_CELLS && e.index <= TB_GRID_FIRST, i, "no such value of a grid");
    const Form& form = kForms[e.index];
    const uint32_t first_index = form.ngeometries + form.nnumbers;
    need(e.nargs == first_index + form.has_index, i, "number of arguments");
    need(e.type == form.type, i, "result type");
    for (uint32_t n = 0; n < e.nargs; n++) {
      const uint32_t type = arg(e, n).type;
      need(n < form.ngeometries ? tb_type_is_text(type) : type == (n < first_index ? TB_TYPE_FLOAT8 : TB_TYPE_INT4), i,
           "argument type");
    }
  }

  void check_point(uint32_t i, const TbExpr& e) {
    need(tb_point_form_is_valid(e.index) && tb_point_coordinate(e.index) == 0, i, "form of a point");
    need(e.type == TB_TYPE_GEOMETRY && e.nargs == tb_point_dimensions(e.index), i, "number of coordinates");
    for (uint32_t n = 0; n < e.nargs; n++) need(arg(e, n).type == TB_TYPE_FLOAT8, i, "argument type");
  }

  /* Generated code takes an expression without the flag for never NULL (or
   * never raising): the flags must cover what the operands imply. */
  void check_flags(uint32_t i, const TbExpr& e) {
    // May it raise?
    bool raises = false;
    if (e.op == TB_EXPR_CALL || e.op == TB_EXPR_IS_DISTINCT || e.op == TB_EXPR_ANY || e.op == TB_EXPR_ALL ||
        e.op == TB_EXPR_GREATEST || e.op == TB_EXPR_LEAST)
      raises = tb_functions[e.index].flags & TB_FN_RAISES;
    raises |= e.op == TB_EXPR_LOOP || (e.op == TB_EXPR_GRID && tb_grid_raises(e.index));
    const bool decides = e.op == TB_EXPR_UNDECIDED || (e.op == TB_EXPR_POSSIBLE && e.nargs == 1);
    for (uint32_t n = 0; n < e.nargs && !decides; n++) raises |= (arg(e, n).flags & TB_EX_RAISES) != 0;

    // May it be NULL?
    bool nullable = false;
    switch (e.op) {
      case TB_EXPR_COLUMN: nullable = p_.columns()[e.index].flags & TB_COL_NULLABLE; break;
      case TB_EXPR_PARAM: nullable = p_.params()[e.index].flags & TB_PARAM_NULLABLE; break;
      case TB_EXPR_CALL: nullable = tb_functions[e.index].flags & TB_FN_NULLS; [[fallthrough]];
      case TB_EXPR_NOT:
      case TB_EXPR_AND:
      case TB_EXPR_OR:
      case TB_EXPR_RESCALE:
      case TB_EXPR_ANY:
      case TB_EXPR_ALL:
      case TB_EXPR_MODEL:
      case TB_EXPR_GRID:
      case TB_EXPR_POINT:
        for (uint32_t n = 0; n < e.nargs; n++) nullable |= (arg(e, n).flags & TB_EX_NULLABLE) != 0;
        break;
      case TB_EXPR_CASE:
        for (uint32_t n = 1; n < e.nargs; n += 2) nullable |= (arg(e, n).flags & TB_EX_NULLABLE) != 0;
        nullable |= (arg(e, e.nargs - 1).flags & TB_EX_NULLABLE) != 0;
        break;
      case TB_EXPR_LOCAL: nullable = true; break;
      case TB_EXPR_SEQUENCE: nullable = arg(e, e.nargs - 1u).flags & TB_EX_NULLABLE; break;
      case TB_EXPR_COALESCE:
      case TB_EXPR_GREATEST:
      case TB_EXPR_LEAST:
        nullable = true;
        for (uint32_t n = 0; n < e.nargs; n++) nullable &= (arg(e, n).flags & TB_EX_NULLABLE) != 0;
        break;
      default: break;
    }

    // The flags must say so.
    need(!nullable || (e.flags & TB_EX_NULLABLE), i, "may be NULL but is not marked so");
    need(!raises || (e.flags & TB_EX_RAISES), i, "may raise but is not marked so");
  }

  const Program& p_;
  std::vector<bool> is_array_;
  std::vector<const TbExpr*> locals_;  // an expression of its type and scale; nullptr: none is known
};

}  // namespace

std::vector<bool> check_exprs(const Program& program) { return ExprCheck(program).run(); }

namespace {

static_assert(TB_MAX_JOINS <= 32, "a mask has a bit a join");

class SinkCheck {
 public:
  SinkCheck(const Program& program, const std::vector<bool>& is_array) : p_(program), is_array_(is_array) {
    for (const TbExpr& e : p_.exprs()) {
      uint32_t joins = 0;
      if (e.op == TB_EXPR_COLUMN && p_.columns()[e.index].join != 0) joins = 1u << (p_.columns()[e.index].join - 1);
      for (uint32_t arg : p_.args(e)) joins |= needs_[arg];
      needs_.push_back(joins);
    }
  }

  void run() {
    for (size_t j = 0; j < p_.joins().size(); j++) check_join(j, p_.joins()[j]);
    for (size_t i = 0; i < p_.filters().size(); i++) check_condition("filter", i, p_.filters()[i], visible_);
    check_barriers();
    for (size_t i = 0; i < p_.keys().size(); i++) check_value("key", i, p_.keys()[i], visible_);
    for (size_t i = 0; i < p_.aggs().size(); i++) check_agg(i, p_.aggs()[i]);
    for (size_t i = 0; i < p_.outputs().size(); i++)
      check_value("output", i, p_.outputs()[i], visible_, p_.sink() == TB_SINK_BUILD);
    check_sink();
  }

 private:
  void check_value(const char* kind, size_t i, uint32_t expr, uint32_t visible, bool stores_edges = false) {
    if (expr >= p_.exprs().size()) program_fail(kind, i, "no such expression");
    if (is_array_[expr]) program_fail(kind, i, "is an array");
    if (needs_[expr] & ~visible) program_fail(kind, i, "uses a column that is not there");
    if (is_grid_edges(p_.expr(expr)) && !stores_edges) program_fail(kind, i, "edges that nobody stores");
  }

  void check_condition(const char* kind, size_t i, uint32_t expr, uint32_t visible) {
    check_value(kind, i, expr, visible);
    if (p_.expr(expr).type != TB_TYPE_BOOL) program_fail(kind, i, "is not boolean");
  }

  void check_join(size_t j, const TbJoin& join) {
    if (join.kind < TB_JOIN_INNER || join.kind > TB_JOIN_SERIES) program_fail("join", j, "unknown kind");
    if (join.flags & ~TB_JOIN_UNIQUE) program_fail("join", j, "unknown flags");
    for (uint32_t reserved : join.reserved)
      if (reserved != 0) program_fail("join", j, "reserved field");
    if (join.nfilters > (join.kind == TB_JOIN_FULL ? p_.filters().size() : 0))
      program_fail("join", j, "filters before it");
    if (join.kind == TB_JOIN_SERIES ? join.join_table != TB_NONE : join.join_table >= TB_MAX_JOIN_TABLES)
      program_fail("join", j, "table number");
    if (join.nkeys > TB_MAX_KEYS) program_fail("join", j, "too many keys");
    if (uint64_t{join.first_key} + join.nkeys > p_.header().args.count) program_fail("join", j, "keys out of bounds");
    for (uint32_t key : p_.join_keys(join)) check_value("key of join", j, key, visible_);
    if (join.kind == TB_JOIN_SERIES) check_series(j, join);
    if (join.residual != TB_NONE) check_condition("residual of join", j, join.residual, visible_ | 1u << j);
    if (join.kind != TB_JOIN_SEMI && join.kind != TB_JOIN_ANTI) visible_ |= 1u << j;
  }

  /* A series has no table: its numbers are all that can be read of it. */
  void check_series(size_t j, const TbJoin& join) {
    if (join.nkeys != 1 || p_.expr(p_.join_keys(join)[0]).type != TB_TYPE_INT4)
      program_fail("join", j, "a series has one key, its length");
    if (join.flags != 0 || join.residual != TB_NONE) program_fail("join", j, "a series has no condition");
    if (j < p_.full_joins_end()) program_fail("join", j, "a series before a FULL join");
    for (const TbColumn& column : p_.columns())
      if (column.join == j + 1 && (column.attnum != 1 || column.type != TB_TYPE_INT4 || column.flags != 0))
        program_fail("join", j, "a series has one column, its number");
  }

  /* What is evaluated before a FULL join needs nothing of it or of later ones. */
  void check_barriers() {
    uint32_t before = 0;
    for (size_t j = 0; j < p_.joins().size(); j++) {
      const TbJoin& join = p_.joins()[j];
      if (join.kind != TB_JOIN_FULL) continue;
      if (join.nfilters < before) program_fail("join", j, "filters before it");
      before = join.nfilters;
      for (uint32_t i = 0; i < before; i++)
        if (needs_[p_.filters()[i]] >> j != 0) program_fail("filter", i, "stands before the join that it needs");
    }
  }

  void check_agg(size_t i, const TbAgg& agg) {
    if (agg.reserved != 0) program_fail("aggregate", i, "reserved field");
    if (agg.filter != TB_NONE) check_condition("aggregate filter", i, agg.filter, visible_);
    if (agg.arg == TB_NONE) {
      if (agg.kind != TB_AGG_COUNT || agg.type != 0 || agg.scale != 0) program_fail("aggregate", i, "has no argument");
      return;
    }
    check_value("aggregate", i, agg.arg, visible_);
    const TbExpr& e = p_.expr(agg.arg);
    if (agg.type != e.type || agg.scale != e.scale) program_fail("aggregate", i, "type differs from its argument's");
    if (!takes(agg.kind, agg.type)) program_fail("aggregate", i, "argument type");
  }

  static bool takes(uint32_t kind, uint32_t type) {
    switch (kind) {
      case TB_AGG_COUNT: return true;
      case TB_AGG_SUM_INT: return type == TB_TYPE_INT2 || type == TB_TYPE_INT4 || type == TB_TYPE_INT8;
      case TB_AGG_SUM_WIDE: return type == TB_TYPE_INT8 || tb_type_is_numeric(type);
      case TB_AGG_SUM_FLOAT: return type == TB_TYPE_FLOAT4 || type == TB_TYPE_FLOAT8;
      case TB_AGG_MIN:
      case TB_AGG_MAX: return type != TB_TYPE_BOOL;
      default: return false;
    }
  }

  void check_sink() {
    const TbSink sink = p_.sink();
    const bool keys = sink == TB_SINK_AGGREGATE || sink == TB_SINK_BUILD;
    const bool outputs = sink == TB_SINK_PROJECT || sink == TB_SINK_BUILD;
    if (!p_.keys().empty() && !keys) program_fail("sink with keys that takes none");
    if (!p_.aggs().empty() && sink != TB_SINK_AGGREGATE) program_fail("sink with aggregates that takes none");
    if (!p_.outputs().empty() && !outputs) program_fail("sink with outputs that takes none");
    if (!p_.joins().empty() && sink == TB_SINK_ROWS) program_fail("rows sink with joins");
  }

  const Program& p_;
  const std::vector<bool>& is_array_;
  std::vector<uint32_t> needs_;  // of each expression: joins whose columns it uses
  uint32_t visible_ = 0;         // joins so far whose columns may be used
};

}  // namespace

void check_joins_and_sink(const Program& program, const std::vector<bool>& is_array) {
  SinkCheck(program, is_array).run();
}

}  // namespace turbine
