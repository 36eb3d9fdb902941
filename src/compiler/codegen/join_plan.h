/*
 * join_plan.h - where a program's filters stand among its joins, and which
 * joins' matches anybody looks at.
 */
#pragma once

#include <vector>

#include "engine/program/program.h"

namespace turbine {

struct JoinPlan {
  /* [0]: before the first join; [1 + j]: after join j, the last one that a column
   * of the filter belongs to, or a FULL join that it may not come before. In
   * PostgreSQL's order. */
  std::vector<std::vector<uint32_t>> filters;
  /* Somebody but the join's own residual reads its columns, or marks its matches. */
  std::vector<bool> match_used;
  /* Fans out: a tuple may have more than one match that counts. */
  std::vector<bool> expands;
};

JoinPlan plan_joins(const Program& program);

}  // namespace turbine
