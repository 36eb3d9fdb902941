/*
 * group_sink.cc - grouped aggregation on the host: a table a worker, merged at the end.
 *
 * Owns the tables until they are merged. Called by host_query.cc: add() from the pool's
 * threads, each with its own table, finish() from the query's.
 */
#include <optional>

#include "engine/device/host/group_merge.h"
#include "engine/device/host/host_sink.h"

namespace turbine {
namespace {

class GroupSink final : public HostSink {
 public:
  GroupSink(const Program& program, uint64_t first_capacity, MemoryBudget& budget, WorkerPool& pool)
      : fold_(program), first_capacity_(first_capacity), budget_(budget), pool_(pool), tables_(pool.size()) {}

  void begin_chunk(unsigned worker) override {
    if (!tables_[worker])
      tables_[worker] = std::make_unique<HostGroupTable>(fold_.layout().row_size, first_capacity_, budget_);
  }
  void attach(unsigned worker, TbPipelineArgs& args) override { args.groups = tables_[worker]->raw(); }
  bool make_room(unsigned worker, uint64_t rows, uint64_t bytes) override {
    const bool grew = tables_[worker]->ensure_rows(rows);
    return tables_[worker]->ensure_arena(bytes) || grew;
  }
  void end_chunk(unsigned, uint64_t) override {}

  uint64_t finish() override {
    merged_.emplace(fold_, std::move(tables_), pool_, budget_);
    return merged_->size();
  }
  ResultBatch fetch(uint64_t first, uint64_t count) override { return merged_->fetch(first, count); }

 private:
  const GroupFold fold_;
  const uint64_t first_capacity_;
  MemoryBudget& budget_;
  WorkerPool& pool_;
  std::vector<std::unique_ptr<HostGroupTable>> tables_;  // [worker], each used by that thread only
  std::optional<MergedGroups> merged_;
};

}  // namespace

std::unique_ptr<HostSink> make_group_sink(const Program& program, uint64_t first_capacity, MemoryBudget& budget,
                                          WorkerPool& pool) {
  return std::make_unique<GroupSink>(program, first_capacity, budget, pool);
}

}  // namespace turbine
