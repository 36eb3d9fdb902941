/*
 * sink_check.cc - joins, filters and the sink of a program.
 *
 * An expression may be used where the columns that it needs are there: those of
 * the source everywhere, those of a joined table after its join; those of a
 * SEMI or ANTI join, which has no match to show, in its residual only.
 */
#include "engine/program/program_check.h"
#include "turbine/wire.h"

namespace turbine {
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
    for (size_t i = 0; i < p_.outputs().size(); i++) check_value("output", i, p_.outputs()[i], visible_);
    check_sink();
  }

 private:
  void check_value(const char* kind, size_t i, uint32_t expr, uint32_t visible) {
    if (expr >= p_.exprs().size()) program_fail(kind, i, "no such expression");
    if (is_array_[expr]) program_fail(kind, i, "is an array");
    if (needs_[expr] & ~visible) program_fail(kind, i, "uses a column that is not there");
  }

  void check_condition(const char* kind, size_t i, uint32_t expr, uint32_t visible) {
    check_value(kind, i, expr, visible);
    if (p_.expr(expr).type != TB_TYPE_BOOL) program_fail(kind, i, "is not boolean");
  }

  void check_join(size_t j, const TbJoin& join) {
    if (join.kind < TB_JOIN_INNER || join.kind > TB_JOIN_FULL) program_fail("join", j, "unknown kind");
    if (join.flags & ~TB_JOIN_UNIQUE) program_fail("join", j, "unknown flags");
    for (uint32_t reserved : join.reserved)
      if (reserved != 0) program_fail("join", j, "reserved field");
    if (join.nfilters > (join.kind == TB_JOIN_FULL ? p_.filters().size() : 0))
      program_fail("join", j, "filters before it");
    if (join.join_table >= TB_MAX_JOIN_TABLES) program_fail("join", j, "table number");
    if (join.nkeys > TB_MAX_KEYS) program_fail("join", j, "too many keys");
    if (uint64_t{join.first_key} + join.nkeys > p_.header().args.count) program_fail("join", j, "keys out of bounds");
    for (uint32_t key : p_.join_keys(join)) check_value("key of join", j, key, visible_);
    if (join.residual != TB_NONE) check_condition("residual of join", j, join.residual, visible_ | 1u << j);
    if (join.kind != TB_JOIN_SEMI && join.kind != TB_JOIN_ANTI) visible_ |= 1u << j;
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
