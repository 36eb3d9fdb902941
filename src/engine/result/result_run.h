/*
 * result_run.h - runs a query's result plan, between the device's finish() and the first row that is sent.
 *
 * Called by execution/ on the session's thread; the host's worker threads share the work. Memory is charged to
 * the query (DeviceQuery::host_memory). Rows that a device keeps in host memory are not copied. If only the
 * first rows of an order are wanted, only candidates for these are kept.
 */
#pragma once

#include <memory>
#include <optional>

#include "engine/device/device.h"
#include "engine/result/order/row_order.h"
#include "engine/result/plan/result_plan.h"
#include "engine/result/rows/row_gather.h"
#include "engine/threads/parallel_work.h"

namespace turbine {

class ResultRun {
 public:
  /* `cancelled` is asked on the thread that makes this. `query` must outlive it. `unread`: as TbQuery says.
   * `any_order`: nobody cares for the order of the rows where the plan names none. */
  ResultRun(const ResultPlan& plan, DeviceQuery& query, uint64_t unread, bool any_order, WorkerPool& pool,
            std::function<bool()> cancelled);

  /* `nrows`: as finish() said. Returns how many rows there are now. Throws
   * DeviceError. */
  uint64_t run(uint64_t nrows);

  /* Rows from `first` on, at least one and at most `count`; with the columns of
   * window functions; those that are unread have no values. Valid until the next call. */
  ResultBatch fetch(uint64_t first, uint64_t count);

  /* Where rows were sorted, after run(). */
  const SortPlace& sort_place() const { return place_; }

 private:
  void collect(uint64_t nrows);
  void collect_best(uint64_t nrows);
  void collect_likely(uint64_t nrows);
  bool drops_many(uint64_t nrows);
  bool drop_rows(uint64_t nrows);
  void run_passes();
  bool run_plan_on_device(uint64_t nrows);
  bool run_on_device(const TbWindowPass& pass);
  bool has_own_order() const;
  void sort_for(const TbWindowPass& pass);
  bool sorted_by(std::span<const TbSortKey> keys) const;
  void order_all();
  ResultBatch fetch_unsorted(uint64_t first, uint64_t count) const;

  const ResultPlan& plan_;
  DeviceQuery& query_;
  const uint64_t unread_;
  const bool any_order_;
  ParallelWork work_;
  std::unique_ptr<ResultRows> rows_;
  std::optional<SortedRows> sorted_;
  std::span<const TbSortKey> sorted_keys_;  // what sorted_ is sorted by
  std::optional<RowGather> gather_;
  SortPlace place_;
  bool conditions_asked_ = false;  // of all rows, which are in sorted_
  bool all_come_ = false;          // as the device has them
};

}  // namespace turbine
