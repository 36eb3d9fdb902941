/*
 * query_execution.h - one query of one connection, from QUERY to QUERY_DONE.
 *
 * Ties the connection's messages to a device: admission, compiled code, the join tables that are probed, the
 * slots, the sources of chunks, and the output: result rows, or the join table that is built. Owns all that the
 * query holds. The destructor waits for what is in flight and gives everything back.
 *
 * Threads: the session's thread calls everything here. Completions come from reader and device threads. These
 * touch slots under mutex_ and post messages. Long work (finish, output) is left to the session's thread, which
 * they wake. Lock order: mutex_, then the outbox's.
 */
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "engine/execution/connection_join_tables.h"
#include "engine/execution/continuation.h"
#include "engine/execution/kept_join_tables.h"
#include "engine/execution/engine.h"
#include "engine/execution/result_output.h"
#include "engine/execution/unmatched_rows.h"
#include "engine/result/order/row_pruning.h"
#include "engine/result/result_run.h"
#include "engine/slots/slot_table.h"
#include "engine/source/columns/columns_source.h"
#include "engine/source/files/file_source.h"
#include "engine/source/heap/heap_source.h"
#include "engine/source/segments/segment_source.h"
#include "engine/wire/message_sink.h"
#include "engine/wire/requests.h"
#include "turbine/wire.h"

namespace turbine {

class QueryExecution final : private FillObserver, private FileObserver {
 public:
  /* Compiles, waits for admission, and sends READY. Throws DeviceError (send
   * REFUSED), ProtocolError. `tables`: the connection's, where a BUILD leaves
   * its own. `last_slot_memory`: id of the one that the connection has mapped;
   * updated. `cancelled`: asked on the session's thread, later too. */
  QueryExecution(Engine& engine, MessageSink& sink, const QueryRequest& request, RelationFiles files,
                 ConnectionJoinTables& tables, uint64_t* last_slot_memory, const IsCancelled& cancelled);
  ~QueryExecution() override;
  QueryExecution(const QueryExecution&) = delete;

  /* Messages of the backend. Throw ProtocolError; ignored once failed. */
  void files(uint32_t first_file, const std::vector<int>& fds) { heap_->add_files(first_file, fds); }
  void layout(const LayoutRequest& request, const IsCancelled& cancelled);
  void segments(const SegmentsRequest& request);
  void file_part(const FilePartRequest& request);
  void chunk(const ChunkRequest& chunk);
  void chunk_release(const TbChunkRelease& release);
  void slot_free(const TbSlotFree& message);
  void input_end();

  /* Does what completions have made possible. */
  void advance();

  /* QUERY_DONE was sent. */
  bool done() const { return done_; }

  /* The session ends for a reason of ours: its backend may be reading slots. */
  void leave_slots_to_backend() { leave_slots_ = true; }

  /* Null if nobody asks how the time is spent. */
  QueryProfile* profile() const { return profile_.get(); }

  /* Done, and what it did was to build a table. */
  bool built() const { return done_ && program_->sink() == TB_SINK_BUILD; }

 private:
  /* What a chunk has to do with the column store. */
  struct CachedColumns {
    std::shared_ptr<SegmentFill> fill;            // takes what is decoded of it; or null
    std::shared_ptr<const SegmentMorsel> morsel;  // TB_CHUNK_SEGMENTS: what it reads
  };

  void start(const QueryRequest& request, uint32_t device, const JoinTables& probed, uint64_t* last_slot_memory,
             const IsCancelled& cancelled);
  void check_table_number(const TbQuery& query) const;
  Admission::Claim claim(uint32_t device, const QueryNeeds& needs, const TbQuery& query) const;
  void send_ready(uint64_t* last_slot_memory);
  ChunkSource& source_of(uint32_t kind);
  void waits_for_drive(uint32_t slot) override;
  void filled(uint32_t slot, const ChunkFill& fill) override;
  void pieces_wait(uint32_t count) override;
  std::shared_ptr<StagedColumns> stage_columns(uint64_t bytes) override { return device_query_->stage_columns(bytes); }
  void decoded(std::vector<Task> tasks) override;
  void piece_done(const BatchesRead& read, std::exception_ptr error) override;
  SegmentSource::StartTasks start_tasks();
  void tell(uint32_t slot, TbMessageType type, std::span<const uint8_t> payload);
  void chunk_done(uint32_t slot, const TaskOutcome& outcome, std::exception_ptr error);
  bool submit_unmatched();
  void submit_without_slot(const std::vector<Task>& tasks);
  void done_without_slot(const TaskOutcome& outcome, std::exception_ptr error);
  void add_to_totals(const TaskOutcome& outcome);
  void fail_locked(const TbFailure& failure);
  void finish();
  bool take_kept_table(const SegmentsRequest& request);
  void apply_plan();
  void take_continuation(const QueryRequest& request);
  void compile_continuation(const TbQuery& query, const IsCancelled& cancelled);
  void run_continuation();
  ResultBatch fetch(uint64_t first, uint64_t count);
  void send_rows();
  void keep_table();
  void send_done();

  Engine& engine_;
  MessageSink& sink_;
  ConnectionJoinTables& tables_;
  uint32_t table_number_ = 0;  // BUILD
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const std::string> params_;
  std::optional<ResultPlan> plan_;
  std::optional<Continuation> continuation_;
  uint64_t unread_columns_ = 0;  // as TbQuery says
  const IsCancelled cancelled_;
  CodeDemand demand_;
  uint32_t host_because_ = TB_FALLBACK_NONE;  // why not the GPU that was asked for
  TbReady ready_{};
  Admission::Grant grant_;
  std::unique_ptr<SlotMemory> slot_memory_;
  std::unique_ptr<QueryProfile> profile_;  // the device's query points to it
  std::optional<HeapSource> heap_;  // the device's chunks point to its layouts
  std::optional<ColumnsSource> columns_;
  std::optional<SegmentSource> segments_;
  std::optional<FileSource> files_;
  std::unique_ptr<DeviceQuery> device_query_;
  std::optional<JoinTableSource> kept_source_;  // BUILD: of the table, if it may be kept
  std::optional<KeptJoinTable> kept_;           // found: nothing is built
  std::optional<UnmatchedRows> unmatched_;  // where there are FULL joins
  std::optional<ResultOutput> output_;  // AGGREGATE, PROJECT
  std::optional<ResultRun> result_run_;    // with a plan, once the device has finished

  uint64_t nblocks_ = 0;  // as QUERY says: what device memory was claimed for
  std::mutex mutex_;  // the fields below
  std::condition_variable reads_finished_;
  SlotTable slots_;
  std::vector<CachedColumns> cached_columns_;  // by slot: of the chunk in it
  uint32_t running_ = 0;  // chunks that the device has, those without a slot included, and batches of files
  uint32_t busy_ = UINT32_MAX;  // see Device::ChunkShape
  uint64_t next_sequence_ = 0;  // greater than any chunk's
  bool input_ended_ = false;
  bool failed_ = false;
  TbQueryDone totals_{};

  // The session's thread only.
  bool leave_slots_ = false;
  bool finished_ = false;
  bool done_ = false;
  uint64_t rows_out_ = 0;  // to be sent in all
  uint64_t next_row_ = 0;
};

}  // namespace turbine
