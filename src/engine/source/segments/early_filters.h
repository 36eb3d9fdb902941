/*
 * early_filters.h - the conditions that may leave rows out before they are read.
 *
 * Only filters before the first that may raise: a row that is not looked at raises nothing, where
 * PostgreSQL would have raised. And only those that come before the first FULL join: the rows that
 * later ones drop count as matches.
 */
#pragma once

#include <algorithm>
#include <cstddef>

#include "engine/program/program.h"

namespace turbine {

template <class Visit>
void visit_conjuncts(const Program& program, const TbExpr& filter, const Visit& visit) {
  if (filter.op != TB_EXPR_AND) return visit(filter);
  for (const uint32_t arg : program.args(filter)) visit_conjuncts(program, program.expr(arg), visit);
}

/* Calls `visit` with each condition, ANDed. */
template <class Visit>
void visit_early_filters(const Program& program, const Visit& visit) {
  size_t count = program.filters().size();
  for (const TbJoin& join : program.joins())
    if (join.kind == TB_JOIN_FULL) count = std::min<size_t>(count, join.nfilters);
  for (const uint32_t filter : program.filters().first(count)) {
    const TbExpr& expr = program.expr(filter);
    if (expr.flags & TB_EX_RAISES) return;
    visit_conjuncts(program, expr, visit);
  }
}

/* The first condition that may raise, with nothing before it that does; null: there is none, or it is within another
 * operation. What is false of a row for certain, and raises nothing of it, may leave the row out. */
inline const TbExpr* first_raising_condition(const Program& program) {
  size_t count = program.filters().size();
  for (const TbJoin& join : program.joins())
    if (join.kind == TB_JOIN_FULL) count = std::min<size_t>(count, join.nfilters);
  for (const uint32_t filter : program.filters().first(count)) {
    const TbExpr* expr = &program.expr(filter);
    while (expr->op == TB_EXPR_AND && (expr->flags & TB_EX_RAISES)) {
      const auto args = program.args(*expr);
      expr = &program.expr(*std::find_if(args.begin(), args.end(),
                                         [&](uint32_t arg) { return program.expr(arg).flags & TB_EX_RAISES; }));
    }
    if (expr->flags & TB_EX_RAISES) return expr;
  }
  return nullptr;
}

}  // namespace turbine
