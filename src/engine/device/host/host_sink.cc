/*
 * host_sink.cc - the sinks of the host. Grouped aggregation has a table per worker, merged at the end. Ungrouped
 * aggregation has a row of states per chunk, folded in the order of the chunks, so that sums of floats do not depend
 * on timing. Rows that are kept are given back as they are (PROJECT), or become a join table (BUILD).
 *
 * Owns tables, states and row stores. Called by host_query.cc: chunks are added from the pool's threads, each with a
 * state of its own, and finish() runs on the query's thread.
 */
#include "engine/device/host/host_sink.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include "engine/device/host/group_merge.h"
#include "engine/device/host/join_table_build.h"
#include "engine/device/table_order.h"
#include "engine/device/host/store_pruning.h"

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
  void end_chunk(unsigned, const Task&) override {}

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
    table->clear_texts();
  }
  void attach(unsigned worker, TbPipelineArgs& args) override { args.groups = tables_[worker]->raw(); }
  bool make_room(unsigned worker, uint64_t, uint64_t bytes) override { return tables_[worker]->ensure_arena(bytes); }

  void end_chunk(unsigned worker, const Task& task) override {
    const uint64_t sequence = task.sequence;
    const HostGroupTable& table = *tables_[worker];
    Partial partial;
    partial.row.resize(fold_.layout().row_size);
    fold_.copy(partial.row.data(), partial.text, table.row(0), table.arena());
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
    for (auto& [sequence, partial] : partials_) fold(partial);
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
    VectorArena text;
  };
  void fold(Partial& partial) { errors_ |= fold_.fold(total_.data(), text_, partial.row.data(), partial.text.bytes()); }

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

namespace {

/* Stores whose rows have been taken. Any thread. */
class IdleStores {
 public:
  std::unique_ptr<HostRowStore> take() {
    std::lock_guard lock(mutex_);
    if (stores_.empty()) return nullptr;
    auto store = std::move(stores_.back());
    stores_.pop_back();
    return store;
  }
  void give_back(HostRowStore* store) {
    store->raw()->nrows = 0;
    store->raw()->arena_used = 0;
    std::lock_guard lock(mutex_);
    stores_.emplace_back(store);
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<HostRowStore>> stores_;
};

class RowSink final : public HostSink {
 public:
  RowSink(const Program& program, uint64_t first_capacity, MemoryBudget& budget, WorkerPool& pool)
      : shape_(kept_row_layout(program)),
        build_(program.sink() == TB_SINK_BUILD),
        first_capacity_(first_capacity),
        budget_(budget),
        pool_(pool),
        stores_(pool.size()),
        prunings_(pool.size()) {}

  void begin_chunk(unsigned worker) override {
    if (!stores_[worker] && idle_) stores_[worker] = idle_->take();
    if (!stores_[worker])
      stores_[worker] = std::make_unique<HostRowStore>(shape_, shape_.nkeys > 0, first_capacity_, budget_);
  }
  void attach(unsigned worker, TbPipelineArgs& args) override { args.store = stores_[worker]->raw(); }
  bool make_room(unsigned worker, uint64_t rows, uint64_t bytes) override {
    const bool grew = stores_[worker]->ensure_rows(rows);
    return stores_[worker]->ensure_bytes(bytes) || grew;
  }
  void end_segment(unsigned worker, uint32_t first, uint32_t last) override {
    prune(worker);
    if (order_) order_->end_segment(worker, first, last);
  }
  void end_chunk(unsigned worker, const Task& task) override {
    if (taker_) return hand_over(worker, task);
    prune(worker);
    if (order_) order_->end_chunk(worker, task.sequence, stores_[worker]->size());
  }

  void stream_rows(RowTaker& taker) override {
    taker_ = &taker;
    idle_ = std::make_shared<IdleStores>();
  }
  void keep_order() override { order_.emplace(stores_.size()); }
  void limit_rows(std::shared_ptr<const RowLimit> limit) override { limit_ = std::move(limit); }

  uint64_t finish() override {
    if (taker_) return 0;
    if (order_) return order_->finish();
    std::erase_if(stores_, [](const auto& store) { return !store || store->size() == 0; });
    uint64_t rows = 0;
    for (const auto& store : stores_) rows += store->size();
    if (build_) table_ = build_join_table(shape_, std::move(stores_), pool_, budget_);
    return rows;
  }

  /* Rows of one worker: they need not move. */
  ResultBatch fetch(uint64_t first, uint64_t count) override {
    if (order_) {
      const TableOrder::Part part = order_->find(first);
      return store_batch(shape_, *stores_[part.worker], part.first, std::min(count, part.count));
    }
    size_t i = 0;
    while (first >= stores_[i]->size()) first -= stores_[i++]->size();
    return store_batch(shape_, *stores_[i], first, count);
  }

  std::shared_ptr<const JoinTable> take_table() override { return std::move(table_); }

 private:
  /* The store comes back when the last of its rows is written. */
  void hand_over(unsigned worker, const Task& task) {
    std::shared_ptr<HostRowStore> store(stores_[worker].release(),
                                        [idle = idle_](HostRowStore* back) { idle->give_back(back); });
    ResultBatch rows = store_batch(shape_, *store, 0, store->size());
    taker_->take(task.place, {std::move(rows), std::move(store)});
  }
  void prune(unsigned worker) { prunings_[worker].prune(limit_.get(), shape_, *stores_[worker], budget_); }

  const KeptRowLayout shape_;
  const bool build_;
  const uint64_t first_capacity_;
  MemoryBudget& budget_;
  WorkerPool& pool_;
  std::vector<std::unique_ptr<HostRowStore>> stores_;  // [worker], each used by that thread only
  std::optional<TableOrder> order_;                      // of keep_order()
  std::vector<StorePruning> prunings_;                 // [worker], of its store
  std::shared_ptr<const RowLimit> limit_;              // PROJECT; null: all rows are wanted
  RowTaker* taker_ = nullptr;                          // PROJECT; null: rows stay here
  std::shared_ptr<IdleStores> idle_;                   // where there is a taker
  std::shared_ptr<const JoinTable> table_;
};

}  // namespace

std::unique_ptr<HostSink> make_row_sink(const Program& program, uint64_t first_capacity, MemoryBudget& budget,
                                        WorkerPool& pool) {
  return std::make_unique<RowSink>(program, first_capacity, budget, pool);
}

}  // namespace turbine
