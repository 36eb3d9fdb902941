/*
 * split_query.h - one query on several GPUs: each has a query of its own, here called a branch.
 *
 * Tasks go to branches, each whole. A task of cached segments goes to the home of its range (segment_homes.h), columns
 * that a GPU has staged go to that GPU, and all else goes where the fewest tasks are in flight. When the input has
 * ended, the results of the branches are merged on the host:
 *
 *   grouped     groups of all branches are folded, as those of the host's threads are (host/group_merge.h)
 *   ungrouped   states are folded: those of tasks in the tasks' order, where it matters, else those of branches
 *   PROJECT     rows of one branch follow those of the branch before
 *
 * Rows of a FULL join that nothing has matched run on the first branch, once the marks of all branches are joined
 * there. Windows and sorts are computed by the host, over the merged rows.
 *
 * Errors: the first error of a branch ends the query. What a lost GPU had computed is gone, so the whole query has
 * failed.
 *
 * Threads: as device.h says. finish() fetches many groups on the pool's threads, those of a branch on one.
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
  /* `branches`: queries of `program`, which can_split(), at least one. `workers` merge results. */
  SplitQuery(std::shared_ptr<const Program> program, std::vector<std::unique_ptr<DeviceQuery>> branches,
             WorkerPool& workers);

  void stop() override;
  void cancelled_by(std::function<bool()> cancelled) override;
  void submit(const Task& task, Done done) override;
  std::shared_ptr<StagedColumns> stage_columns(uint64_t bytes) override;
  void limit_rows(std::shared_ptr<const RowLimit> limit) override;
  uint64_t finish() override;
  ResultBatch fetch(uint64_t first, uint64_t count) override;
  bool rows_stay() const override;
  MemoryBudget& host_memory() override { return branches_[0]->query->host_memory(); }
  DeviceQueryStats stats() const override;
  std::vector<DeviceQueryStats> stats_by_device() const override;

 private:
  struct Branch {
    /* Layouts of chunks with the code of this branch's device, by the query's. Tasks in flight use them. */
    std::map<const ChunkLayout*, ChunkLayout> layouts{};
    std::unique_ptr<DeviceQuery> query;
    std::atomic<uint32_t> in_flight{0};
    uint64_t rows = 0;  // PROJECT, after finish()
  };
  size_t idlest() const;
  size_t branch_of(const Task& task);
  const ChunkLayout* layout_of(size_t branch, const ChunkLayout* layout);
  void join_marks(uint32_t join);
  void merge_groups(const std::vector<uint64_t>& rows);
  void fold_totals();

  const std::shared_ptr<const Program> program_;
  std::vector<std::unique_ptr<Branch>> branches_;
  WorkerPool& workers_;
  std::optional<uint32_t> marked_join_;  // whose marks the first branch has of all; the query's thread's

  std::mutex mutex_;  // protects what follows, and layouts
  std::map<const StagedColumns*, size_t> staged_on_;  // the branch of columns whose task has not come
  size_t stagings_ = 0;

  // After finish(), the query's thread's.
  std::optional<GroupFold> fold_;  // AGGREGATE
  std::optional<MergedGroups> groups_;  // grouped
  std::vector<uint8_t> total_;  // ungrouped: the row of states
  VectorArena total_text_;
};

}  // namespace turbine
