/*
 * row_sink.cc - rows that are kept on the host: PROJECT gives them back as they are, BUILD
 * makes a join table of them.
 *
 * Owns a row store a thread. Called by host_query.cc: chunks append from the pool's threads,
 * finish() runs on the query's.
 */
#include <algorithm>

#include "engine/device/host/host_sink.h"
#include "engine/device/host/join_table_build.h"
#include "engine/device/host/store_pruning.h"

namespace turbine {
namespace {

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
    if (!stores_[worker])
      stores_[worker] = std::make_unique<HostRowStore>(shape_, shape_.nkeys > 0, first_capacity_, budget_);
  }
  void attach(unsigned worker, TbPipelineArgs& args) override { args.store = stores_[worker]->raw(); }
  bool make_room(unsigned worker, uint64_t rows, uint64_t bytes) override {
    const bool grew = stores_[worker]->ensure_rows(rows);
    return stores_[worker]->ensure_bytes(bytes) || grew;
  }
  void end_segment(unsigned worker) override { prune(worker); }
  void end_chunk(unsigned worker, uint64_t) override { prune(worker); }

  void limit_rows(std::shared_ptr<const RowLimit> limit) override { limit_ = std::move(limit); }

  uint64_t finish() override {
    std::erase_if(stores_, [](const auto& store) { return !store || store->size() == 0; });
    uint64_t rows = 0;
    for (const auto& store : stores_) rows += store->size();
    if (build_) table_ = build_join_table(shape_, std::move(stores_), pool_, budget_);
    return rows;
  }

  /* Rows of one worker: they need not move. */
  ResultBatch fetch(uint64_t first, uint64_t count) override {
    size_t i = 0;
    while (first >= stores_[i]->size()) first -= stores_[i++]->size();
    return store_batch(shape_, *stores_[i], first, count);
  }

  std::shared_ptr<const JoinTable> take_table() override { return std::move(table_); }

 private:
  void prune(unsigned worker) { prunings_[worker].prune(limit_.get(), shape_, *stores_[worker], budget_); }

  const KeptRowLayout shape_;
  const bool build_;
  const uint64_t first_capacity_;
  MemoryBudget& budget_;
  WorkerPool& pool_;
  std::vector<std::unique_ptr<HostRowStore>> stores_;  // [worker], each used by that thread only
  std::vector<StorePruning> prunings_;                 // [worker], of its store
  std::shared_ptr<const RowLimit> limit_;              // PROJECT; null: all rows are wanted
  std::shared_ptr<const JoinTable> table_;
};

}  // namespace

std::unique_ptr<HostSink> make_row_sink(const Program& program, uint64_t first_capacity, MemoryBudget& budget,
                                        WorkerPool& pool) {
  return std::make_unique<RowSink>(program, first_capacity, budget, pool);
}

}  // namespace turbine
