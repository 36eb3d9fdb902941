/*
 * join_plan.cc - where filters stand among joins, and whose matches are needed.
 *
 * Called by the pipelines of both targets; looks at the program and emits nothing.
 */
#include "compiler/codegen/join_plan.h"

#include <algorithm>

#include "compiler/codegen/expression_walk.h"

namespace turbine {

namespace {

/* Marks the joins whose columns the expression reads. */
void mark_joins(const Program& program, uint32_t expr, std::vector<bool>& used) {
  walk_expression(program, expr, [&](const TbExpr& e) {
    const uint16_t join = e.op == TB_EXPR_COLUMN ? program.columns()[e.index].join : 0;
    if (join != 0) used[join - 1u] = true;
    return true;
  });
}

std::vector<bool> used_matches(const Program& program) {
  const auto joins = program.joins();
  std::vector<bool> used(joins.size());
  for (auto roots : {program.filters(), program.keys(), program.outputs()})
    for (uint32_t root : roots) mark_joins(program, root, used);
  for (const TbAgg& agg : program.aggs()) {
    mark_joins(program, agg.arg, used);
    mark_joins(program, agg.filter, used);
  }
  for (size_t j = 0; j < joins.size(); j++) {
    if (joins[j].kind == TB_JOIN_FULL) used[j] = true;
    for (uint32_t key : program.join_keys(joins[j])) mark_joins(program, key, used);
    std::vector<bool> by_residual(joins.size());
    mark_joins(program, joins[j].residual, by_residual);
    for (size_t other = 0; other < j; other++)
      if (by_residual[other]) used[other] = true;
  }
  return used;
}

/* Does every tuple go on, with or without a match, or a tuple a match? */
bool returns_matches(const TbJoin& join) { return join.kind != TB_JOIN_SEMI && join.kind != TB_JOIN_ANTI; }

/* Where the program's `index`th filter stands, as in JoinPlan::filters. */
size_t filter_place(const Program& program, size_t index) {
  const auto joins = program.joins();
  std::vector<bool> used(joins.size());
  mark_joins(program, program.filters()[index], used);
  for (size_t j = 0; j < joins.size(); j++)
    if (joins[j].kind == TB_JOIN_FULL && index >= joins[j].nfilters) used[j] = true;
  const auto last = std::find(used.rbegin(), used.rend(), true);
  return static_cast<size_t>(used.rend() - last);
}

}  // namespace

JoinPlan plan_joins(const Program& program) {
  JoinPlan plan;
  const auto joins = program.joins();
  plan.filters.resize(joins.size() + 1);
  for (size_t i = 0; i < program.filters().size(); i++)
    plan.filters[filter_place(program, i)].push_back(program.filters()[i]);
  plan.match_used = used_matches(program);
  for (const TbJoin& join : joins) plan.expands.push_back(returns_matches(join) && !(join.flags & TB_JOIN_UNIQUE));
  return plan;
}

}  // namespace turbine
