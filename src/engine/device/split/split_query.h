/*
 * split_query.h - one query on several GPUs: each has a query of its own, here called a route.
 *
 * Tasks go to routes, each whole. A task of cached segments goes to the home of its range (segment_homes.h), columns
 * that a GPU has staged go to that GPU, and all else goes where the fewest tasks are in flight. When the input has
 * ended, the results of the routes are merged on the host:
 *
 *   grouped     groups of all routes are folded, as those of the host's threads are (host/group_merge.h)
 *   ungrouped   states are folded: those of tasks in the tasks' order, where it matters, else those of routes
 *   PROJECT     rows of one route follow those of the route before
 *
 * Rows of a FULL join that nothing has matched run on the first route, once the marks of all routes are joined there.
 * Windows and sorts are computed by the host, over the merged rows.
 *
 * Errors: the first error of a route ends the query. What a lost GPU had computed is gone, so the whole query has
 * failed.
 *
 * Threads: as device.h says. finish() fetches many groups on the pool's threads, those of a route on one.
 */
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/host/group_merge.h"
#include "engine/group_fold/group_fold.h"
#include "engine/threads/worker_pool.h"

namespace turbine {

class SplitQuery final : public DeviceQuery {
 public:
  /* `routes`: queries of `program`, which can_split(), at least one. `workers` merge results. */
  SplitQuery(std::shared_ptr<const Program> program, std::vector<std::unique_ptr<DeviceQuery>> routes,
             WorkerPool& workers);

  void stop() override;
  void cancelled_by(std::function<bool()> cancelled) override;
  void submit(const Task& task, Done done) override;
  std::shared_ptr<StagedColumns> stage_columns(uint64_t bytes) override;
  void limit_rows(std::shared_ptr<const RowLimit> limit) override;
  uint64_t finish() override;
  ResultBatch fetch(uint64_t first, uint64_t count) override;
  bool rows_stay() const override;
  MemoryBudget& host_memory() override { return routes_[0]->query->host_memory(); }
  DeviceQueryStats stats() const override;
  std::vector<DeviceQueryStats> stats_by_device() const override;

 private:
  struct Route {
    /* Layouts of chunks with the code of this route's device, by the query's. Tasks in flight use them. */
    std::map<const ChunkLayout*, ChunkLayout> layouts{};
    std::unique_ptr<DeviceQuery> query;
    std::atomic<uint32_t> in_flight{0};
    uint64_t rows = 0;  // PROJECT, after finish()
  };
  size_t idlest() const;
  size_t route_of(const Task& task);
  const ChunkLayout* layout_of(size_t route, const ChunkLayout* layout);
  void join_marks(uint32_t join);
  void merge_groups(const std::vector<uint64_t>& rows);
  void fold_totals();

  const std::shared_ptr<const Program> program_;
  std::vector<std::unique_ptr<Route>> routes_;
  WorkerPool& workers_;
  std::optional<uint32_t> marked_join_;  // whose marks the first route has of all; the query's thread's

  std::mutex mutex_;  // protects what follows, and layouts
  std::map<const StagedColumns*, size_t> staged_on_;  // the route of columns whose task has not come
  size_t stagings_ = 0;

  // After finish(), the query's thread's.
  std::optional<GroupFold> fold_;  // AGGREGATE
  std::optional<MergedGroups> groups_;  // grouped
  std::vector<uint8_t> total_;  // ungrouped: the row of states
  VectorArena total_text_;
};

}  // namespace turbine
