/*
 * program.cc - validation of a serialized program.
 *
 * Everything that arrives in a QUERY message passes here before any reader
 * looks at it: a program that parse() returns is safe to index without checks.
 * Called by sessions of the daemon and by the compiler process.
 */
#include "engine/program/program.h"

#include <cstring>

#include "turbine/params.h"
#include "turbine/wire.h"

namespace turbine {
namespace {

[[noreturn]] void fail(const std::string& what) { throw ProgramError("program: " + what); }

std::string at(const char* kind, size_t index, const std::string& what) {
  return std::string(kind) + " " + std::to_string(index) + ": " + what;
}

bool valid_type(uint32_t type) { return tb_type_width(type) != 0; }

/* text and bpchar have one physical form, and functions take either. */
bool compatible(uint32_t a, uint32_t b) { return a == b || (tb_type_is_text(a) && tb_type_is_text(b)); }

constexpr int kMaxScale = 1000;

void check_scale(const char* kind, size_t index, uint32_t type, int scale) {
  if (scale < -kMaxScale || scale > kMaxScale) fail(at(kind, index, "scale out of range"));
  if (scale != 0 && !tb_type_is_numeric(type)) fail(at(kind, index, "scale of a type that has none"));
}

/* One validation pass over a blob whose sections have been bounds-checked. */
class Validator {
 public:
  explicit Validator(const Program& program) : p_(program) {}

  void run() {
    check_attributes();
    check_params_shapes();
    check_columns();
    check_exprs();
    check_sink();
  }

 private:
  void check_attributes() {
    for (size_t i = 0; i < p_.attributes().size(); i++) {
      const TbAttribute& a = p_.attributes()[i];
      if (a.length == 0 || a.length < -2) fail(at("attribute", i, "bad length"));
      if (a.align != 1 && a.align != 2 && a.align != 4 && a.align != 8) fail(at("attribute", i, "bad alignment"));
      if (a.flags & ~(TB_ATT_BYVAL | TB_ATT_NOTNULL | TB_ATT_DROPPED)) fail(at("attribute", i, "unknown flags"));
      if ((a.flags & TB_ATT_BYVAL) && a.length != 1 && a.length != 2 && a.length != 4 && a.length != 8)
        fail(at("attribute", i, "by-value length"));
      if (a.reserved != 0) fail(at("attribute", i, "reserved field"));
    }
  }

  void check_params_shapes() {
    for (size_t i = 0; i < p_.params().size(); i++) {
      const TbParamShape& s = p_.params()[i];
      if (!valid_type(s.type)) fail(at("parameter", i, "unknown type"));
      if (s.flags & ~(TB_PARAM_ARRAY | TB_PARAM_NULLABLE)) fail(at("parameter", i, "unknown flags"));
      check_scale("parameter", i, s.type, s.scale);
    }
  }

  void check_columns() {
    for (size_t i = 0; i < p_.columns().size(); i++) {
      const TbColumn& c = p_.columns()[i];
      if (c.attnum < 1 || c.attnum > p_.attributes().size()) fail(at("column", i, "no such attribute"));
      if (!valid_type(c.type)) fail(at("column", i, "unknown type"));
      if (c.flags & ~TB_COL_NULLABLE) fail(at("column", i, "unknown flags"));
      if (c.reserved != 0 || c.reserved2 != 0) fail(at("column", i, "reserved field"));
      check_scale("column", i, c.type, c.scale);
      const TbAttribute& a = p_.attributes()[c.attnum - 1];
      if (a.flags & TB_ATT_DROPPED) fail(at("column", i, "of a dropped attribute"));
      const bool varlena = tb_type_is_text(c.type) || tb_type_is_numeric(c.type);
      const int length = varlena ? -1 : static_cast<int>(tb_type_width(c.type));
      if (a.length != length) fail(at("column", i, "type does not fit the attribute"));
      if (c.missing_param != TB_NONE) check_missing(i, c);
    }
  }

  void check_missing(size_t i, const TbColumn& c) {
    if (c.missing_param >= p_.params().size()) fail(at("column", i, "no such parameter"));
    const TbParamShape& s = p_.params()[c.missing_param];
    if (s.flags & TB_PARAM_ARRAY) fail(at("column", i, "missing value is an array"));
    if (!compatible(s.type, c.type) || s.scale != c.scale) fail(at("column", i, "missing value's type"));
  }

  void check_exprs() {
    const uint64_t pool = p_.header().args.count;
    is_array_.assign(p_.exprs().size(), false);
    for (uint32_t i = 0; i < p_.exprs().size(); i++) {
      const TbExpr& e = p_.expr(i);
      if (!valid_type(e.type)) fail(at("expression", i, "unknown type"));
      if (e.flags & ~(TB_EX_NULLABLE | TB_EX_RAISES)) fail(at("expression", i, "unknown flags"));
      if (e.reserved != 0 || e.reserved2 != 0) fail(at("expression", i, "reserved field"));
      if (uint64_t{e.first_arg} + e.nargs > pool) fail(at("expression", i, "operand list out of bounds"));
      for (uint32_t arg : p_.args(e))
        if (arg >= i) fail(at("expression", i, "operand does not precede it"));
      check_scale("expression", i, e.type, e.scale);
      check_expr(i, e);
      check_flags(i, e);
    }
  }

  void need(bool ok, uint32_t i, const char* what) {
    if (!ok) fail(at("expression", i, what));
  }

  const TbExpr& arg(const TbExpr& e, uint32_t n) const { return p_.expr(p_.args(e)[n]); }

  void check_expr(uint32_t i, const TbExpr& e) {
    const bool list = e.op == TB_EXPR_ANY || e.op == TB_EXPR_ALL;
    for (uint32_t n = 0; n < e.nargs; n++)
      need(is_array_[p_.args(e)[n]] == (list && n == 1), i, "array operand");
    switch (e.op) {
      case TB_EXPR_COLUMN: return check_column_ref(i, e);
      case TB_EXPR_PARAM: return check_param_ref(i, e);
      case TB_EXPR_CALL: return check_call(i, e);
      case TB_EXPR_AND:
      case TB_EXPR_OR:
        need(e.nargs >= 2, i, "needs two operands");
        return check_boolean(i, e, true);
      case TB_EXPR_NOT:
      case TB_EXPR_IS_TRUE:
      case TB_EXPR_IS_NOT_TRUE:
      case TB_EXPR_IS_FALSE:
      case TB_EXPR_IS_NOT_FALSE:
        need(e.nargs == 1, i, "needs one operand");
        return check_boolean(i, e, true);
      case TB_EXPR_IS_NULL:
      case TB_EXPR_IS_NOT_NULL:
        need(e.nargs == 1, i, "needs one operand");
        return check_boolean(i, e, false);
      case TB_EXPR_CASE: return check_case(i, e);
      case TB_EXPR_COALESCE:
        need(e.nargs >= 1 && e.index == 0, i, "bad COALESCE");
        for (uint32_t n = 0; n < e.nargs; n++) check_same_type(i, e, arg(e, n));
        return;
      case TB_EXPR_IS_DISTINCT:
      case TB_EXPR_ANY:
      case TB_EXPR_ALL: return check_comparison(i, e);
      case TB_EXPR_RESCALE:
        need(e.nargs == 1 && e.index == 0, i, "bad RESCALE");
        need(tb_type_is_numeric(e.type) && tb_type_is_numeric(arg(e, 0).type), i, "RESCALE of no numeric");
        return;
      default: fail(at("expression", i, "unknown operation"));
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
    for (uint32_t n = 0; n < e.nargs; n++) need(compatible(arg(e, n).type, f.args[n]), i, "argument type");
    need(compatible(e.type, f.result), i, "result type");
  }

  void check_boolean(uint32_t i, const TbExpr& e, bool boolean_operands) {
    need(e.type == TB_TYPE_BOOL && e.index == 0, i, "not boolean");
    for (uint32_t n = 0; boolean_operands && n < e.nargs; n++)
      need(arg(e, n).type == TB_TYPE_BOOL, i, "operand is not boolean");
  }

  void check_same_type(uint32_t i, const TbExpr& e, const TbExpr& value) {
    need(compatible(value.type, e.type) && value.scale == e.scale, i, "values of different types");
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
    need(compatible(arg(e, 0).type, f.args[0]) && compatible(arg(e, 1).type, f.args[1]), i, "argument type");
  }

  /* Generated code takes an expression without the flag for never NULL (or
   * never raising): the flags must cover what the operands imply. */
  void check_flags(uint32_t i, const TbExpr& e) {
    bool raises = false;
    bool nullable = false;
    if (e.op == TB_EXPR_CALL || e.op == TB_EXPR_IS_DISTINCT || e.op == TB_EXPR_ANY || e.op == TB_EXPR_ALL)
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
        nullable = true;
        for (uint32_t n = 0; n < e.nargs; n++) nullable &= (arg(e, n).flags & TB_EX_NULLABLE) != 0;
        break;
      default: break;
    }
    need(!nullable || (e.flags & TB_EX_NULLABLE), i, "may be NULL but is not marked so");
    need(!raises || (e.flags & TB_EX_RAISES), i, "may raise but is not marked so");
  }

  void check_value(const char* kind, size_t i, uint32_t expr) {
    if (expr >= p_.exprs().size()) fail(at(kind, i, "no such expression"));
    if (is_array_[expr]) fail(at(kind, i, "is an array"));
  }

  void check_condition(const char* kind, size_t i, uint32_t expr) {
    check_value(kind, i, expr);
    if (p_.expr(expr).type != TB_TYPE_BOOL) fail(at(kind, i, "is not boolean"));
  }

  void check_sink() {
    for (size_t i = 0; i < p_.filters().size(); i++) check_condition("filter", i, p_.filters()[i]);
    for (size_t i = 0; i < p_.keys().size(); i++) check_value("key", i, p_.keys()[i]);
    for (size_t i = 0; i < p_.aggs().size(); i++) check_agg(i, p_.aggs()[i]);
    if (p_.sink() == TB_SINK_ROWS && (!p_.keys().empty() || !p_.aggs().empty())) fail("rows sink with aggregates");
  }

  void check_agg(size_t i, const TbAgg& agg) {
    if (agg.reserved != 0) fail(at("aggregate", i, "reserved field"));
    if (agg.filter != TB_NONE) check_condition("aggregate filter", i, agg.filter);
    if (agg.arg == TB_NONE) {
      if (agg.kind != TB_AGG_COUNT || agg.type != 0 || agg.scale != 0) fail(at("aggregate", i, "has no argument"));
      return;
    }
    check_value("aggregate", i, agg.arg);
    const TbExpr& e = p_.expr(agg.arg);
    if (agg.type != e.type || agg.scale != e.scale) fail(at("aggregate", i, "type differs from its argument's"));
    if (!takes(agg.kind, agg.type)) fail(at("aggregate", i, "argument type"));
  }

  static bool takes(uint32_t kind, uint32_t type) {
    switch (kind) {
      case TB_AGG_COUNT: return true;
      case TB_AGG_SUM_INT: return type == TB_TYPE_INT2 || type == TB_TYPE_INT4;
      case TB_AGG_SUM_WIDE: return type == TB_TYPE_INT8 || tb_type_is_numeric(type);
      case TB_AGG_SUM_FLOAT: return type == TB_TYPE_FLOAT4 || type == TB_TYPE_FLOAT8;
      case TB_AGG_MIN:
      case TB_AGG_MAX: return type != TB_TYPE_BOOL;
      default: return false;
    }
  }

  const Program& p_;
  std::vector<bool> is_array_;
};

void check_section(const char* name, TbSection s, uint64_t element, uint32_t most, uint64_t total) {
  if (s.count > most) fail(std::string(name) + ": too many");
  if (s.offset % 8 != 0) fail(std::string(name) + ": not aligned");
  if (s.count == 0) {
    if (s.offset > total) fail(std::string(name) + ": out of bounds");
    return;
  }
  if (s.offset < sizeof(TbProgram) || s.offset + s.count * element > total) fail(std::string(name) + ": out of bounds");
}

void check_header(const TbProgram& h, size_t size) {
  if (h.magic != TB_PROGRAM_MAGIC) fail("bad magic");
  if (h.version != TB_PROGRAM_VERSION) fail("version " + std::to_string(h.version) + " is not known");
  if (h.total_size != size) fail("size does not match");
  if (h.sink != TB_SINK_ROWS && h.sink != TB_SINK_AGGREGATE) fail("unknown sink");
  if (h.source != TB_SOURCE_HEAP) fail("unknown source");
  if (h.reserved[0] != 0 || h.reserved[1] != 0) fail("reserved field");
  check_section("attributes", h.attributes, sizeof(TbAttribute), TB_MAX_ATTRIBUTES, size);
  check_section("columns", h.columns, sizeof(TbColumn), TB_MAX_COLUMNS, size);
  check_section("expressions", h.exprs, sizeof(TbExpr), TB_MAX_EXPRS, size);
  // Each operand slot belongs to an expression; 64 apiece is beyond any query.
  check_section("operands", h.args, sizeof(uint32_t), TB_MAX_EXPRS * 64, size);
  check_section("filters", h.filters, sizeof(uint32_t), TB_MAX_EXPRS, size);
  check_section("keys", h.keys, sizeof(uint32_t), TB_MAX_KEYS, size);
  check_section("aggregates", h.aggs, sizeof(TbAgg), TB_MAX_AGGS, size);
  check_section("parameters", h.params, sizeof(TbParamShape), TB_MAX_PARAMS, size);
  if (h.outputs.count != 0) fail("outputs are reserved");
}

[[noreturn]] void fail_param(size_t index, const char* what) {
  throw ProgramError("parameter value " + std::to_string(index) + ": " + what);
}

/* The bytes [offset, offset + size) of the block's value area. */
const uint8_t* value_bytes(std::span<const uint8_t> block, size_t index, uint64_t first, uint64_t offset, uint64_t size) {
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
    if (view.buffer != 0 || view.prefix != prefix) fail_param(index, "text view");
  }
}

}  // namespace

Program Program::parse(std::span<const uint8_t> blob) {
  if (blob.size() < sizeof(TbProgram) || blob.size() > TB_MAX_MESSAGE) fail("bad size");
  Program program;
  program.blob_.assign(blob.begin(), blob.end());
  check_header(program.header(), blob.size());
  Validator(program).run();
  return program;
}

size_t Program::source_columns() const {
  size_t n = 0;
  while (n < columns().size() && columns()[n].join == 0) n++;
  return n;
}

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
