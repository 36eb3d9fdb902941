/*
 * window_pass.h - the functions of one window pass, over rows that are sorted by its
 * keys; PostgreSQL's nodeWindowAgg.c says what they mean.
 *
 * Partitions are shared out among threads, as are functions.
 */
#pragma once

#include "engine/result/order/sorted_rows.h"
#include "engine/result/plan/result_plan.h"
#include "engine/threads/parallel_work.h"

namespace turbine {

/* Adds the columns of the pass's functions to `rows`. `sorted`: all of them, with
 * agree(). Throws DeviceError. */
void compute_window_pass(const ResultPlan& plan, const TbWindowPass& pass, ResultRows& rows, const SortedRows& sorted,
                         ParallelWork& work);

}  // namespace turbine
