/*
 * expr_check.cc - expressions of a program: operands, types, and flags that cover what they
 * imply.
 *
 * Called by Program::parse(), once for every program that comes from a backend. It must pass
 * nothing that generated code could misread; what it refuses is a ProgramError with the place.
 */
#include "engine/program/program_check.h"

namespace turbine {
namespace {

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
    const bool list = e.op == TB_EXPR_ANY || e.op == TB_EXPR_ALL;
    for (uint32_t n = 0; n < e.nargs; n++) need(is_array_[p_.args(e)[n]] == (list && n == 1), i, "array operand");
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
      default: program_fail("expression", i, "unknown operation");
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

  /* Generated code takes an expression without the flag for never NULL (or
   * never raising): the flags must cover what the operands imply. */
  void check_flags(uint32_t i, const TbExpr& e) {
    bool raises = false;
    bool nullable = false;
    if (e.op == TB_EXPR_CALL || e.op == TB_EXPR_IS_DISTINCT || e.op == TB_EXPR_ANY || e.op == TB_EXPR_ALL ||
        e.op == TB_EXPR_GREATEST || e.op == TB_EXPR_LEAST)
      raises = tb_functions[e.index].flags & TB_FN_RAISES;
    for (uint32_t n = 0; n < e.nargs; n++) raises |= (arg(e, n).flags & TB_EX_RAISES) != 0;

    switch (e.op) {
      case TB_EXPR_COLUMN: nullable = p_.columns()[e.index].flags & TB_COL_NULLABLE; break;
      case TB_EXPR_PARAM: nullable = p_.params()[e.index].flags & TB_PARAM_NULLABLE; break;
      case TB_EXPR_CALL:
      case TB_EXPR_NOT:
      case TB_EXPR_AND:
      case TB_EXPR_OR:
      case TB_EXPR_RESCALE:
      case TB_EXPR_ANY:
      case TB_EXPR_ALL:
        for (uint32_t n = 0; n < e.nargs; n++) nullable |= (arg(e, n).flags & TB_EX_NULLABLE) != 0;
        break;
      case TB_EXPR_CASE:
        for (uint32_t n = 1; n < e.nargs; n += 2) nullable |= (arg(e, n).flags & TB_EX_NULLABLE) != 0;
        nullable |= (arg(e, e.nargs - 1).flags & TB_EX_NULLABLE) != 0;
        break;
      case TB_EXPR_COALESCE:
      case TB_EXPR_GREATEST:
      case TB_EXPR_LEAST:
        nullable = true;
        for (uint32_t n = 0; n < e.nargs; n++) nullable &= (arg(e, n).flags & TB_EX_NULLABLE) != 0;
        break;
      default: break;
    }
    need(!nullable || (e.flags & TB_EX_NULLABLE), i, "may be NULL but is not marked so");
    need(!raises || (e.flags & TB_EX_RAISES), i, "may raise but is not marked so");
  }

  const Program& p_;
  std::vector<bool> is_array_;
};

}  // namespace

std::vector<bool> check_exprs(const Program& program) { return ExprCheck(program).run(); }

}  // namespace turbine
