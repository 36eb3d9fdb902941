/*
 * likely_rows.h - the rows that may pass a plan's conditions and be among the first of its
 * order, as far as estimates tell.
 *
 * PostgreSQL's order of those that stay begins with the same rows as its order of all,
 * or with others that are equal by all keys.
 */
#pragma once

#include "engine/result/estimate/row_estimate.h"
#include "engine/threads/parallel_work.h"

namespace turbine {

/* In no order. Memory is charged to the rows' budget. */
RowList likely_rows(const ResultRows& rows, const ResultPlan& plan, ParallelWork& work);

}  // namespace turbine
