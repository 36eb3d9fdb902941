/*
 * row_conditions.h - which rows pass the conditions of a result plan.
 */
#pragma once

#include "engine/result/plan/result_plan.h"
#include "engine/result/rows/result_rows.h"
#include "engine/threads/parallel_work.h"

namespace turbine {

/* A byte a row, by its number: 1 where it passes all of them, else 0. Throws DeviceError. */
HostBuffer passing_rows(const ResultPlan& plan, const ResultRows& rows, ParallelWork& work);

/* Of `count` references, or of all rows if `list` is null, those that pass, in their order. Throws DeviceError. */
RowList passing_refs(const ResultPlan& plan, const ResultRows& rows, const RowRef* list, uint64_t count,
                     ParallelWork& work);

}  // namespace turbine
