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

}  // namespace turbine
