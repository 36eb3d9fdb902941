/*
 * chunk_lane.h - the device memory, events and launches of one chunk in flight.
 *
 * A query has a few lanes; a chunk occupies one from start() until its `done`.
 * The lane's steps are called by the query's worker (cuda_query.cc), each when
 * the one before has been reached():
 *
 *   sink       start()                                                next step
 *   ROWS       copy, tb_decode, tb_rows, outcome to host              fetch_ids()
 *   grouped    copy, tb_decode, tb_reserve, outcome to host           apply(), or
 *              after the table grew: reserve_again()                  then fetch_ids()
 *   ungrouped  copy, tb_decode, tb_reduce, outcome to host            fetch_ids()
 *
 * Four streams of the query are used: `copy` for what goes to the device,
 * `compute` for kernels and outcomes, `out` for row ids, and `signal` for waking
 * the worker, which must hold up none of the others. tb_decode's row count reaches the pipeline's arguments by a copy on
 * the device, so that the host is not in the loop. A lane's memory is used by
 * one chunk at a time, so no stream ever waits for a lane to be free.
 */
#pragma once

#include <optional>
#include <vector>

#include "engine/device/cuda/cuda_code.h"
#include "engine/device/cuda/group_table.h"
#include "engine/device/cuda/stream.h"

namespace turbine::cuda {

/* What a query's lanes share. */
struct QueryResources {
  std::shared_ptr<CudaContext> context;
  Driver driver;
  std::shared_ptr<const Program> program;
  std::shared_ptr<const std::string> params;
  std::shared_ptr<const CudaCode> code;
  MemoryAccount account;
  Block device_params;               // filled by the first thing on `copy`
  std::optional<GroupTable> groups;  // AGGREGATE
  /* Last, so that they go first: their destructors wait for their work, before
   * the memory that it uses goes back to the pool. */
  UniqueStream copy, compute, out, signal;

  QueryResources(std::shared_ptr<CudaContext> context, std::shared_ptr<FaultInjector> faults,
                 std::shared_ptr<const Program> program, std::shared_ptr<const std::string> params,
                 std::shared_ptr<const CudaCode> code, double estimated_groups, uint64_t budget);

  /* Waits for all streams where nothing may throw. */
  void wait_to_release() const noexcept {
    for (const UniqueStream* stream : {&copy, &compute, &out, &signal}) stream->wait_to_release();
  }
  bool rows_sink() const { return program->sink() == TB_SINK_ROWS; }
};

/* Where the arrays of a lane for `rows` rows lie in its one block. */
struct LaneLayout {
  struct Column {
    uint64_t values;
    uint64_t valid;  // nullable columns only
  };
  std::vector<Column> columns;
  uint64_t rowids = 0;      // ROWS
  uint64_t deferred = 0;
  uint64_t row_results = 0;  // ROWS: out_rowids; grouped: group_of_row
  uint64_t size = 0;
};
LaneLayout lane_layout(const Program& program, uint64_t rows);

/* Device bytes of a lane for chunks of `pages` pages, as the pool rounds them. */
uint64_t lane_device_bytes(const Program& program, uint64_t pages);

class ChunkLane {
 public:
  enum class State { FREE, SINKING, APPLYING, FETCHING };

  /* `wake(argument)` is called from a driver thread whenever a step may have
   * been reached. */
  ChunkLane(QueryResources& query, HostCallback wake, void* argument);

  /* Device memory for the chunk; keeps what an earlier one had if it is enough.
   * Throws DeviceError, the lane then is as it was or without memory. */
  void prepare(const ChunkTask& task);

  void start(const ChunkTask& task);
  void reserve_again();
  void apply();
  /* Returns false if there are no ids to wait for: the chunk is complete. */
  bool fetch_ids();

  State state() const { return state_; }
  bool reached() const;
  /* Is its chunk reserved, but not applied? (grouped) */
  bool reserved_only() const { return state_ == State::SINKING; }
  void release() { state_ = State::FREE; }

  /* Once reached: what the kernels left. */
  uint32_t errors() const;
  bool table_full() const;
  uint32_t nrows() const;  // that the sink saw
  const ChunkTask& task() const { return task_; }

  /* After the last step; sorts the ids. Throws DeviceError if the device's
   * numbers make no sense. */
  ChunkOutcome finish(DeviceQueryStats& stats);
  /* Adds the step's times; once a step is reached. */
  void account_times(DeviceQueryStats& stats) const;
  uint64_t bytes_to_device() const { return bytes_to_device_; }

 private:
  /* In pinned and in device memory: what goes to the device for a chunk,
   * followed by a TbColumnData for each column. */
  struct Arguments {
    TbDecodeArgs decode;
    TbPipelineArgs pipeline;
  };
  /* Pinned: what comes back. */
  struct Outcome {
    TbDecodeArgs decode;
    TbPipelineArgs pipeline;
    TbGroupTable groups;
  };

  void ensure_memory(uint64_t bytes, uint64_t rows);
  TbColumnData* column_arguments() const;
  void fill_arguments(uint32_t npages, uint64_t row_capacity);
  void copy_arguments(Stream stream);
  void upload(DevicePtr to, const void* from, uint64_t bytes);
  void upload_pages();
  void upload_columns();
  void run_decode();
  void run_sink(Function kernel);
  void launch(Function kernel, uint64_t threads, DevicePtr arguments) const;
  void read_outcome();
  void wake_after(const UniqueEvent& event) const;

  DevicePtr decode_arguments() const { return arguments_.device(); }
  DevicePtr pipeline_arguments() const { return arguments_.device() + offsetof(Arguments, pipeline); }
  Arguments& host_arguments() const { return *reinterpret_cast<Arguments*>(host_arguments_.host()); }
  const Outcome& outcome() const { return *reinterpret_cast<const Outcome*>(outcome_.host()); }

  QueryResources& query_;
  const HostCallback wake_;
  void* const wake_argument_;
  const bool rows_sink_, grouped_;

  UniqueEvent copy_begin_, copy_end_, decode_begin_, decode_end_, sink_begin_, sink_end_, ids_end_;
  Block data_;       // device: pages, or the bytes of a chunk of columns
  Block arrays_;     // device: lane_layout(row_capacity_)
  Block arguments_;  // device
  Block host_arguments_, outcome_;  // pinned
  uint64_t row_capacity_ = 0;
  LaneLayout layout_;

  State state_ = State::FREE;
  ChunkTask task_{};
  std::vector<uint32_t> row_numbers_;  // of a chunk of columns, while it is copied
  uint64_t bytes_to_device_ = 0;
};

}  // namespace turbine::cuda
