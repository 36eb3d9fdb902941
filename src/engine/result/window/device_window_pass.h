/*
 * device_window_pass.h - the functions of one window pass by the device on which their query has run, if it
 * computes such and the rows are so many that it pays.
 *
 * The host packs keys and columns, and takes the order and the values.
 */
#pragma once

#include <memory>
#include <optional>

#include "engine/result/order/device_row_sort.h"
#include "engine/result/plan/result_plan.h"

namespace turbine {

/* What is wanted besides the values. */
struct WindowPassWish {
  bool conditions;  // the plan's are this pass's: only rows that pass them are wanted, in the order
  bool order;       // of all rows
};

/* Are the plan's conditions such as the device's pass can ask? */
bool asks_conditions(const ResultPlan& plan, const TbWindowPass& pass);

/* Is the plan one pass that a device computes over rows that have stayed there (DeviceQuery::keep_rows_on_device)? */
bool wants_rows_on_device(const ResultPlan& plan);

/* Takes all rows that such a plan leaves, of `place.window`, which has them, with the pass's columns: in the pass's
 * order, the first `limit` of them, or as they are (`any_order`). Those of the query's columns that are `unread` have
 * no values. False: the host is to do it, and nothing has changed. Throws DeviceError, as above. */
bool compute_plan_on_device(const ResultPlan& plan, uint64_t nrows, bool any_order, uint64_t limit, uint64_t unread,
                            std::unique_ptr<ResultRows>& rows, ParallelWork& work, SortPlace& place);

/* Adds the pass's columns to the rows, and sets `sorted` if its order is wanted; where there are
 * conditions, only rows in `sorted` have values then. False: the host is to compute them, and nothing
 * has changed. Throws DeviceError: out of the host's memory, closed, a value that PostgreSQL has to see. */
bool compute_window_pass_on_device(const ResultPlan& plan, const TbWindowPass& pass, WindowPassWish wish,
                                   ResultRows& rows, std::optional<SortedRows>& sorted, ParallelWork& work,
                                   SortPlace& place);

}  // namespace turbine
