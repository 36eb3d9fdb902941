/*
 * row_estimate.h - estimates of a result plan for rows where they lie: intervals that
 * hold what PostgreSQL will compute of them.
 */
#pragma once

#include <span>

#include "engine/result/estimate/estimate_steps.h"
#include "engine/result/estimate/interval.h"
#include "engine/result/plan/result_plan.h"
#include "engine/result/rows/result_rows.h"

namespace turbine {

/* Rows that are estimated at once. */
constexpr size_t kEstimateRows = 128;

/* Of rows [first, first + n) of a batch; n <= kEstimateRows. */
void estimate_rows(std::span<const TbEstimateStep> steps, const std::vector<ColumnShape>& columns,
                   const ResultBatch& batch, uint64_t first, size_t n, Interval* results);

}  // namespace turbine
