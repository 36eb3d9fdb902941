/*
 * row_conditions.h - which rows pass the conditions of a result plan.
 */
#pragma once

#include "engine/result/plan/result_plan.h"
#include "engine/result/rows/result_rows.h"
#include "engine/threads/parallel_work.h"

namespace turbine {

/* A byte a row, by its number, not 0 where it passes all of them. Throws DeviceError. */
HostBuffer passing_rows(const ResultPlan& plan, const ResultRows& rows, ParallelWork& work);

}  // namespace turbine
