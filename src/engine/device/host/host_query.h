/*
 * host_query.h - one query on the host device.
 *
 * A chunk is one job of the device's pool. The thread that runs it decodes a
 * batch of pages into its own column arrays, small enough to stay in L2, and
 * runs the pipeline over them; grouped aggregation goes into a table that only
 * this thread touches, ungrouped into one state row a chunk, folded in the
 * order of the chunks so that float sums do not depend on timing. finish()
 * merges.
 */
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

#include "engine/device/device.h"
#include "engine/device/host/group_merge.h"
#include "engine/device/host/host_code.h"

namespace turbine {

/* Memory of one thread of the pool, reused by all queries. Not charged to
 * them: its size follows from programs, not from data. */
class WorkerMemory {
 public:
  WorkerMemory();
  uint8_t* scratch() const { return scratch_.data(); }
  uint8_t* area(uint64_t size);  // contents are undefined

 private:
  HostBuffer scratch_;
  HostBuffer area_;
};

class HostQuery final : public DeviceQuery {
 public:
  HostQuery(std::shared_ptr<const Program> program, std::shared_ptr<const std::string> params,
            std::shared_ptr<HostCode> code, uint64_t first_capacity, uint64_t budget, WorkerPool& pool,
            std::vector<WorkerMemory>& workers);
  ~HostQuery() override;

  void submit(const ChunkTask& task, Done done) override;
  uint64_t finish() override;
  GroupRows fetch_groups(uint64_t first, uint64_t count) override;
  DeviceQueryStats stats() const override;

 private:
  /* Where a batch's arrays lie in a thread's memory. */
  struct BatchLayout {
    struct Column {
      uint64_t values, valid;  // valid 0: none
    };
    std::vector<Column> columns;
    uint64_t rowids, deferred, size;
  };
  /* What one chunk has produced so far. */
  struct Progress {
    const ChunkTask& task;
    ChunkOutcome outcome;
    std::vector<uint32_t> deferred;
    HostGroupTable* groups = nullptr;
  };
  struct Partial {
    std::vector<uint8_t> row;
    std::vector<uint8_t> arena;
  };

  static BatchLayout batch_layout(const Program& program);
  const TbParamBlock* params() const { return reinterpret_cast<const TbParamBlock*>(params_->data()); }
  bool rows_sink() const { return program_->sink() == TB_SINK_ROWS; }

  ChunkOutcome run_chunk(unsigned worker, const ChunkTask& task);
  HostGroupTable* worker_table(unsigned worker);
  void run_pages(unsigned worker, Progress& progress);
  bool run_batch(unsigned worker, Progress& progress, uint32_t first_page, uint32_t npages);
  void run_columns(unsigned worker, Progress& progress);
  bool run_pipeline(unsigned worker, Progress& progress, TbPipelineArgs args);
  void make_room(HostGroupTable& groups, TbPipelineArgs& args);
  void add_partial(uint64_t sequence, const HostGroupTable& groups);
  void fold_partial(const Partial& partial);

  const std::shared_ptr<const Program> program_;
  const std::shared_ptr<const std::string> params_;
  const std::shared_ptr<HostCode> code_;
  const uint64_t first_capacity_;
  const GroupFold fold_;
  const BatchLayout batch_;
  MemoryBudget budget_;
  WorkerPool& pool_;
  std::vector<WorkerMemory>& workers_;

  std::vector<std::unique_ptr<HostGroupTable>> tables_;  // [worker], each used by that thread only

  std::mutex mutex_;  // the fields up to total_
  std::condition_variable idle_;
  uint64_t in_flight_ = 0;
  std::map<uint64_t, Partial> partials_;  // ungrouped: not folded yet, by sequence
  uint64_t next_partial_ = 0;
  uint32_t fold_errors_ = 0;
  std::vector<uint8_t> total_;  // ungrouped: the one row
  VectorArena total_text_;

  std::atomic<bool> cancelled_{false};
  std::optional<MergedGroups> merged_;
  std::atomic<uint64_t> decode_ns_{0}, compute_ns_{0}, finish_ns_{0}, grows_{0};
};

}  // namespace turbine
