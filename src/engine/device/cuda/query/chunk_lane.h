/*
 * chunk_lane.h - the device memory, events and launches of one chunk in flight.
 *
 * A query has a few lanes. A chunk occupies one from start() until its `done`. The query's worker
 * (cuda_query.cc) calls the lane's steps, each when the one before has been reached():
 *
 *   sink       start()                                                next step
 *   ROWS       copy, tb_decode, tb_rows, outcome to host              fetch_ids()
 *   grouped    copy, tb_decode, tb_reserve, outcome to host           apply(), or
 *              after the table grew: reserve_again()                  then fetch_ids()
 *   ungrouped  copy, tb_decode, tb_reduce, outcome to host            fetch_ids()
 *              with min or max of text as grouped, and tb_reduce applies
 *
 * A program with joins, or with sink PROJECT or BUILD, probes its rows first:
 *
 *   probing    copy, tb_decode, tb_probe, outcome to host             sink_tuples()
 *              the sink's kernel follows at once if no row makes
 *              two tuples
 *   sink       of the tuples: tb_reserve, tb_reduce or tb_project     as above, or
 *              PROJECT, BUILD                                         copy_rows(),
 *                                                                     take_rows()
 *   next_rows() probes the chunk's next rows, if not all were probed at first
 *
 * Only chunks of pages need tb_decode. Kernels read segments as they are stored
 * (segments/segment_batch.h), and rows that the backend sends are columns already. For rows of a
 * table that a FULL join has not matched nothing is copied: all columns are NULL.
 *
 * A query has three streams: `copy` for what goes to the device, `compute` for kernels and
 * outcomes, `out` for row ids and rows. tb_decode's row count reaches the pipeline's arguments by a
 * copy on the device, so the host is not in the loop. One chunk at a time uses a lane's memory, so
 * no stream ever waits for a lane to be free.
 */
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "engine/device/cuda/memory/device_rows.h"
#include "engine/device/cuda/cuda_code.h"
#include "engine/device/cuda/driver/stream.h"
#include "engine/device/cuda/embedded_kernels.h"
#include "engine/device/cuda/exports/export_kernels.h"
#include "engine/device/cuda/memory/device_entry_results.h"
#include "engine/device/cuda/memory/device_join_tables.h"
#include "engine/device/cuda/groups/group_table.h"
#include "engine/device/cuda/memory/lane_rows.h"
#include "engine/device/cuda/memory/matched_rows.h"
#include "engine/device/cuda/memory/stop_word.h"
#include "engine/device/cuda/query/row_range.h"
#include "engine/device/cuda/query/stream_profile.h"
#include "engine/device/cuda/segments/segment_batch.h"
#include "engine/device/cuda/sort/first_rows.h"
#include "engine/device/table_order.h"

namespace turbine::cuda {

/* What a query's lanes share. */
struct QueryResources {
  std::shared_ptr<CudaContext> context;
  std::shared_ptr<GpuCache> cache;
  std::shared_ptr<EmbeddedKernels> kernels;
  uint64_t segment_query = 0;  // begin_query() of the tier
  Driver driver;
  std::shared_ptr<const Program> program;
  std::shared_ptr<const std::string> params;
  std::shared_ptr<const CudaCode> code;
  MemoryAccount account;
  QueryProfile* const profile;         // null: nobody asks
  const StopWord stop;
  Block device_params;               // filled by the first thing on `copy`
  std::map<const ChunkLayout*, Block> layout_params;  // of those in use
  std::optional<DeviceJoinTables> tables;  // where there are joins
  std::optional<MatchedRows> matched;  // where there are FULL joins
  std::optional<DeviceEntryResults> entry_results;  // where texts have results by entry
  const bool one_tuple;                // no row makes more than one
  std::optional<GroupTable> groups;    // AGGREGATE
  std::vector<TaskStates> task_states;  // of `groups`, if it takes states
  std::optional<ProjectedRows> rows;   // PROJECT
  std::optional<FirstKey> first_key;   // of those, only the first are wanted
  std::optional<FirstRowsBound> first_bound;  // made by the first lane that has kernels for it
  std::optional<DeviceRows> parts;     // BUILD
  std::optional<DeviceRows> kept;      // PROJECT, if asked for; what finds no room here is in `rows`
  bool leaves_columns = false;         // besides: all rows must find room
  std::optional<TableOrder> order;       // and are wanted in the order of their table
  /* Last, so that they go first: their destructors wait for their work, before
   * the memory that it uses goes back to the pool. */
  UniqueStream copy, compute, out;
  std::optional<StreamProfile> stream_profile;  // with a profile

  QueryResources(std::shared_ptr<CudaContext> context, std::shared_ptr<GpuCache> cache,
                 std::shared_ptr<EmbeddedKernels> kernels, std::shared_ptr<FaultInjector> faults,
                 std::shared_ptr<const Program> program, std::shared_ptr<const std::string> params,
                 std::shared_ptr<const CudaCode> code, JoinTables join_tables, double estimated_rows, uint64_t budget,
                 QueryProfile* profile);

  /* Copies the layout's parameters to the device, on `copy`, unless they are
   * there. Throws DeviceError. */
  void prepare_layout(const ChunkLayout& layout);

  /* Waits for all streams where nothing may throw. */
  void wait_to_release() const noexcept {
    for (const UniqueStream* stream : {&copy, &compute, &out}) stream->wait_to_release();
  }
  bool rows_sink() const { return program->sink() == TB_SINK_ROWS; }
  uint64_t tables_bytes() const { return tables ? tables->bytes_copied() : 0; }
};

/* Does tb_project keep its rows? */
inline bool keeps_rows(const Program& program) {
  return program.sink() == TB_SINK_PROJECT || program.sink() == TB_SINK_BUILD;
}

/* Does the program run tb_probe? */
inline bool probes(const Program& program) { return !program.joins().empty() || keeps_rows(program); }

/* Does it note each row's group? Those that probe do so for tuples. */
inline bool groups_rows(const Program& program) { return program.grouped() && !probes(program); }

/* Where the arrays of a lane for chunks of `rows` rows lie in one block. */
struct LaneLayout {
  struct Column {
    uint64_t values;
    uint64_t valid;  // nullable columns only
  };
  std::vector<Column> columns;
  uint64_t rowids = 0, out_rowids = 0;  // ROWS
  uint64_t deferred = 0;
  uint64_t size = 0;
};
LaneLayout lane_layout(const Program& program, uint64_t rows);

/* Device bytes that a lane needs for each row of a task of segments. */
uint64_t lane_bytes_a_row(const Program& program);

/* Device bytes of a lane for chunks of `pages` pages, and for tasks of segments of so many rows, as
 * the pool rounds them. */
uint64_t lane_device_bytes(const Program& program, uint64_t pages, uint64_t segment_rows);

class ChunkLane {
 public:
  enum class State { FREE, PROBING, SINKING, APPLYING, COPYING, FETCHING };

  explicit ChunkLane(QueryResources& query);

  /* Device memory for the chunk; keeps what an earlier one had if it is enough.
   * Throws DeviceError, the lane then is as it was or without memory. */
  void prepare(const Task& task);

  void start(const Task& task);
  void reserve_again();
  void apply();
  /* PROBING was reached: starts the sink, or probes fewer rows where the tuples
   * had no room. False if there are no tuples: the rows are done with. */
  bool sink_tuples();
  /* PROJECT and BUILD, SINKING was reached: copies the rows, or projects again where
   * there was no room. False if there are none. */
  bool copy_rows();
  bool keep_on_device(const TbRowStore& store);
  void stage_rows(const TbRowStore& store);
  void take_rows();
  /* Ungrouped, SINKING was reached: notes the states that the kernel has come to, if they are taken. */
  void note_states();
  /* False if there are none. */
  bool next_rows();
  /* Returns false if there are no ids to wait for: the chunk is complete. */
  bool fetch_ids();

  State state() const { return state_; }
  bool reached() const;
  /* Is its chunk reserved, but not applied? (AGGREGATE that reserves_memory()) */
  bool reserved_only() const { return state_ == State::SINKING; }
  /* What is in flight has been waited for. */
  void release() {
    if (batch_) batch_->release();
    if (auto* input = task_.as<SegmentsInput>()) input->staged.reset();
    state_ = State::FREE;
  }

  /* Once reached: what the kernels left. */
  uint32_t errors() const;
  bool table_full() const;
  const Task& task() const { return task_; }

  /* After the last step; sorts the ids. Throws DeviceError if the device's
   * numbers make no sense. */
  TaskOutcome finish(DeviceQueryStats& stats);
  /* Adds the step's times; once a step is reached. */
  void account_times(DeviceQueryStats& stats);
  uint64_t bytes_to_device() const { return bytes_to_device_; }

 private:
  /* In pinned and in device memory: what goes to the device for a chunk, followed by a TbColumnData for each column,
   * and a TbEntryResults for each if the program has any. */
  struct Arguments {
    TbDecodeArgs decode;
    TbPipelineArgs pipeline;
    TbExportOrder order;  // where rows are wanted in their order
  };
  /* Pinned: what comes back. */
  struct Outcome {
    TbDecodeArgs decode;
    TbPipelineArgs pipeline;
    TbGroupTable groups;
    TbRowStore rows;
  };

  void ensure_memory(uint64_t bytes, uint64_t rows);
  void ensure_arrays(uint64_t rows);
  void ensure_results(uint64_t rows);
  void ensure_tuples(uint64_t capacity);
  void make_room_for_tuples(uint64_t found);
  void prepare_segments(const SegmentsInput& input);
  TbColumnData* column_arguments() const;
  std::span<TbEntryResults> entry_results() const;
  void fill_arguments();
  void fill_arrays(uint32_t npages, uint64_t row_capacity, const ChunkLayout* layout);
  void point_to_tuples();
  void upload(DevicePtr to, const void* from, uint64_t bytes);
  void upload_arguments();
  void upload_pages(const PagesInput& input);
  void upload_columns(const ColumnsInput& input);
  void upload_unmatched(const UnmatchedInput& input);
  void upload_segments();
  Function decode_kernel(const PagesInput& input) const;
  void run_decode();
  Function sink_kernel() const;
  uint64_t most_rows() const;
  uint64_t row_threads() const;
  uint64_t tuple_threads(uint64_t tuples) const;
  void run_sink(Function kernel, uint64_t threads);
  void run_last(Function kernel, uint64_t threads);
  void drop_late_rows(uint64_t threads);
  void prepare_tuple_sink();
  void run_probe();
  void run_probe_kernel();
  void note_order();
  void probe_again();
  void write_pipeline_arguments();
  void note_rows();
  void launch(Function kernel, uint64_t threads, DevicePtr arguments) const;
  void read_outcome();
  void record_spans();

  DevicePtr decode_arguments() const { return arguments_.device(); }
  DevicePtr pipeline_arguments() const { return arguments_.device() + offsetof(Arguments, pipeline); }
  Arguments& host_arguments() const { return *reinterpret_cast<Arguments*>(host_arguments_.host()); }
  const Outcome& outcome() const { return *reinterpret_cast<const Outcome*>(outcome_.host()); }

  QueryResources& query_;
  const bool rows_sink_, grouped_, reserves_, probes_;
  const size_t ncolumns_;  // of the source

  UniqueEvent copy_begin_, copy_end_, decode_begin_, decode_end_, sink_begin_, sink_end_, ids_begin_, ids_end_;
  Block data_;       // device: pages, or the bytes of a chunk of columns
  Block arrays_;     // device: lane_layout(row_capacity_)
  Block places_, host_places_;  // device, pinned: of those arrays
  bool places_sent_ = false;
  Block group_of_row_;  // device: 4 bytes for each of group_row_capacity_ rows
  uint64_t group_row_capacity_ = 0;
  Block arguments_;  // device
  Block host_arguments_, outcome_;  // pinned
  Block states_;     // pinned: a row of states, if they are taken
  Block tuples_;     // device: 1 + njoins arrays; grouped: and group_of_row
  uint64_t tuple_capacity_ = 0;
  std::optional<LaneRows> rows_;  // PROJECT, BUILD
  std::optional<FirstRows> first_rows_;  // if only the first rows of an order are wanted
  bool drops_rows_ = false;  // in this task
  std::optional<SegmentBatch> batch_;  // of a task of segments
  uint64_t row_capacity_ = 0;
  LaneLayout layout_;

  bool staged_ = false;           // PROJECT: the rows are on their way to the host
  State state_ = State::FREE;
  Task task_{};
  bool input_accounted_ = false;
  bool rows_known_ = false;  // an outcome was read: decoded_, and where it probes range_
  uint32_t decoded_ = 0;
  RowRange range_;
  uint32_t steps_ = 0;  // whose states were noted
  TbPipelineArgs probed_{};  // counters of the ranges before this one
  std::vector<uint32_t> row_numbers_;  // of a chunk of columns, while it is copied
  uint64_t bytes_to_device_ = 0, bytes_from_device_ = 0;
};

}  // namespace turbine::cuda
