/*
 * cuda_query.h - one query on a GPU: takes its chunks through its lanes.
 *
 * A worker thread makes all driver calls of the query while chunks are in flight, except
 * allocations of stage_columns(). It starts pending chunks in free lanes, advances lanes whose step
 * was reached, grows the group table, and calls `done`. submit() only queues. Between two looks at
 * its lanes the worker sleeps, longer the longer it has waited: callbacks of the driver cost more
 * than the looks.
 *
 * Errors: the first one ends the query. Its kernels are told to end, and its streams are waited
 * for. Then every chunk in flight or submitted later is done with that DeviceError, and finish()
 * throws it.
 *
 * Lock protocol: mutex_ protects what is marked so. It is never held during a driver call or a
 * `done`. The lanes and resources_ belong to the worker until the query is idle, then to the
 * query's thread in finish().
 */
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/device/cuda/embedded_kernels.h"
#include "engine/device/cuda/query/chunk_lane.h"
#include "engine/device/cuda/sort/device_key_sort.h"
#include "engine/device/cuda/memory/staging_limit.h"
#include "engine/device/cuda/window/cuda_window.h"

namespace turbine::cuda {

class CudaQuery : public DeviceQuery {
 public:
  /* Most chunks on the device at once: copy, decode and sink of three overlap. */
  static constexpr uint32_t kLanes = 3;
  /* Where all but those have columns that were staged: such tasks are small, so that each step takes no longer than it
   * takes to notice its end. */
  static constexpr uint32_t kMostLanes = 8;

  /* The context must be current. Throws DeviceError. */
  CudaQuery(std::shared_ptr<CudaContext> context, std::shared_ptr<GpuCache> cache,
            std::shared_ptr<EmbeddedKernels> kernels, std::shared_ptr<FaultInjector> faults,
            std::shared_ptr<const Program> program, std::shared_ptr<const std::string> params,
            std::shared_ptr<const CudaCode> code, JoinTables tables, double estimated_rows, uint64_t budget,
            QueryProfile* profile);
  ~CudaQuery() override;

  void stop() override;
  void cancelled_by(std::function<bool()> cancelled) override { cancelled_ = std::move(cancelled); }
  void submit(const Task& task, Done done) override;
  void limit_rows(std::shared_ptr<const RowLimit> limit) override {
    limit_ = limit;
    if (const auto key = limit->first_key(); key && resources_.rows && FirstRowsBound::suits(*key))
      resources_.first_key = key;
    if (resources_.rows) resources_.rows->limit_rows(std::move(limit));
  }
  std::shared_ptr<StagedColumns> stage_columns(uint64_t bytes) override;
  void keep_rows_on_device() override;
  void leave_columns(bool in_order) override;
  std::vector<DeviceColumn> take_columns(std::span<const TbColumnLeft> columns) override;
  uint64_t finish() override;
  ResultBatch fetch(uint64_t first, uint64_t count) override;
  bool rows_stay() const override { return resources_.rows.has_value(); }
  MemoryBudget& host_memory() override { return resources_.rows ? resources_.rows->budget() : host_memory_; }
  KeySort* key_sort() override { return &key_sort_; }
  DeviceWindow* window() override { return &window_; }
  std::shared_ptr<const JoinTable> take_table() override { return std::move(table_); }
  std::vector<TaskStates> take_task_states() override { return std::move(resources_.task_states); }
  std::vector<uint8_t> matched_rows(uint32_t join) override;
  void set_matched_rows(uint32_t join, std::span<const uint8_t> matched) override;
  DeviceQueryStats stats() const override;

 private:
  struct Pending {
    Task task;
    Done done;
    TaskOutcome excluded = {};  // of its segments, by the limit
  };
  struct Busy {
    ChunkLane* lane;
    Done done;
    TaskOutcome excluded;
  };

  void run();
  uint64_t finish_table();
  uint64_t finish_kept_rows();
  void bring_kept_rows();
  ResultBatch fetch_folded();
  bool step(std::deque<Pending>& arrived);
  void start_pending();
  void exclude_segments(Pending& pending) const;
  /* Are its columns in pinned memory already? */
  static bool is_staged(const Task& task) {
    const auto* input = task.as<SegmentsInput>();
    return input && input->staged;
  }
  uint32_t lanes_for(const Task& task) const { return std::min(lane_limit_, is_staged(task) ? kMostLanes : kLanes); }
  ChunkLane* free_lane(const Task& task);
  bool advance(Busy& busy);
  bool advance_sink(ChunkLane& lane);
  void grow_table();
  void complete(const Done& done, const TaskOutcome& outcome, std::exception_ptr error);
  void fail(std::exception_ptr error);
  void wait_until_idle();

  std::shared_ptr<CudaContext> context_;
  QueryResources resources_;
  MemoryBudget host_memory_{projected_rows_limit()};  // of groups that are sorted there, and a table
  DeviceKeySort key_sort_;  // the query's thread's
  CudaWindow window_;  // likewise
  std::shared_ptr<const JoinTable> table_;  // BUILD, likewise
  std::vector<uint8_t> folded_;  // AGGREGATE whose states are taken: the row of all, once it was fetched

  /* Some for every thread that decodes, no more than the pool keeps. */
  static constexpr uint64_t kMostStagedBytes = uint64_t{128} << 20;
  /* Of columns that are not on the device yet. */
  const std::shared_ptr<StagingLimit> staging_ = std::make_shared<StagingLimit>(kMostStagedBytes);

  std::function<bool()> cancelled_;  // asked by finish(); empty: never
  std::shared_ptr<const RowLimit> limit_;  // PROJECT, before the first chunk; null: all rows are wanted

  // The worker's.
  std::vector<std::unique_ptr<ChunkLane>> lanes_;
  uint32_t lane_limit_ = kMostLanes;  // falls where memory for more is lacking
  std::deque<Pending> pending_;
  std::vector<Busy> busy_;  // in order of start
  DeviceQueryStats worker_stats_;

  mutable std::mutex mutex_;  // protects what follows
  std::condition_variable work_, idle_;
  std::deque<Pending> arrived_;
  uint64_t unfinished_ = 0;  // submitted, `done` has not returned
  bool stop_ = false;
  std::exception_ptr error_;
  DeviceQueryStats stats_;  // of complete chunks
  uint64_t finish_us_ = 0, bytes_fetched_ = 0;

  std::thread worker_;  // last: starts when all else is there
};

}  // namespace turbine::cuda
