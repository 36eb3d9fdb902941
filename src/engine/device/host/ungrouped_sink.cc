/*
 * ungrouped_sink.cc - ungrouped aggregation on the host: a state row a chunk, folded in the order
 * of the chunks so that float sums do not depend on timing.
 *
 * Owns one row of states for every chunk. Called by host_query.cc from the pool's threads; the
 * fold happens in finish(), on the query's.
 */
#include <cstring>
#include <map>
#include <mutex>

#include "engine/device/host/group_merge.h"
#include "engine/device/host/host_sink.h"

namespace turbine {
namespace {

class UngroupedSink final : public HostSink {
 public:
  UngroupedSink(const Program& program, MemoryBudget& budget, WorkerPool& pool)
      : fold_(program), budget_(budget), tables_(pool.size()), total_(fold_.layout().row_size, 0) {}

  /* Row 0, fresh for every chunk. */
  void begin_chunk(unsigned worker) override {
    std::unique_ptr<HostGroupTable>& table = tables_[worker];
    if (!table) table = std::make_unique<HostGroupTable>(fold_.layout().row_size, 1, budget_);
    memset(table->row(0), 0, fold_.layout().row_size);
    table->raw()->ngroups = 1;
    table->raw()->arena_used = 0;
  }
  void attach(unsigned worker, TbPipelineArgs& args) override { args.groups = tables_[worker]->raw(); }
  bool make_room(unsigned worker, uint64_t, uint64_t bytes) override { return tables_[worker]->ensure_arena(bytes); }

  void end_chunk(unsigned worker, uint64_t sequence) override {
    const HostGroupTable& table = *tables_[worker];
    Partial partial{{table.row(0), table.row(0) + fold_.layout().row_size},
                    {table.arena(), table.arena() + table.arena_used()}};
    std::lock_guard lock(mutex_);
    if (!partials_.emplace(sequence, std::move(partial)).second)
      throw DeviceError(TB_FALLBACK_PROTOCOL, "two chunks have one sequence number");
    for (auto it = partials_.begin(); it != partials_.end() && it->first == next_; it = partials_.erase(it)) {
      fold(it->second);
      next_++;
    }
  }

  uint64_t finish() override {
    std::lock_guard lock(mutex_);
    for (const auto& [sequence, partial] : partials_) fold(partial);
    partials_.clear();
    throw_fold_errors(errors_);
    return 1;
  }
  ResultBatch fetch(uint64_t, uint64_t) override {
    return group_batch(fold_.layout(), total_.data(), text_.bytes(), 1);
  }

 private:
  struct Partial {
    std::vector<uint8_t> row;
    std::vector<uint8_t> arena;
  };
  void fold(const Partial& partial) {
    errors_ |= fold_.fold(total_.data(), text_, partial.row.data(), partial.arena.data());
  }

  const GroupFold fold_;
  MemoryBudget& budget_;
  std::vector<std::unique_ptr<HostGroupTable>> tables_;  // [worker], each used by that thread only

  std::mutex mutex_;  // what follows
  std::map<uint64_t, Partial> partials_;  // not folded yet, by sequence
  uint64_t next_ = 0;
  uint32_t errors_ = 0;
  std::vector<uint8_t> total_;
  VectorArena text_;
};

}  // namespace

std::unique_ptr<HostSink> make_ungrouped_sink(const Program& program, MemoryBudget& budget, WorkerPool& pool) {
  return std::make_unique<UngroupedSink>(program, budget, pool);
}

}  // namespace turbine
