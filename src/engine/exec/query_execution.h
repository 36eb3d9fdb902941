/*
 * query_execution.h - one query of one connection, from QUERY to QUERY_DONE.
 *
 * Ties the connection's messages to a device: admission, code, the tables that
 * it probes, the segment, the states of its slots, direct reads, and the output
 * of result rows, or the table that it builds. Owns all that the query holds;
 * the destructor waits for what is in flight and gives everything back.
 *
 * Threads: the session's thread calls everything here. Completions come from
 * reader and device threads; they touch slots under mutex_ and post messages,
 * and what takes long (finish, output) is left to the session's thread, which
 * they wake. Lock order: mutex_, then the outbox's.
 */
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "engine/exec/chunk_layouts.h"
#include "engine/exec/connection_tables.h"
#include "engine/exec/engine.h"
#include "engine/exec/result_output.h"
#include "engine/exec/unmatched_rows.h"
#include "engine/result/result_stage.h"
#include "engine/result/row_pruning.h"
#include "engine/storage/relation_files.h"
#include "engine/wire/message_sink.h"
#include "engine/wire/requests.h"
#include "turbine/wire.h"

namespace turbine {

class QueryExecution {
 public:
  /* Compiles, waits for admission, and sends READY. Throws DeviceError (send
   * REFUSED), ProtocolError. `tables`: the connection's, where a BUILD leaves
   * its own. `last_segment`: the segment that the connection has mapped;
   * updated. `cancelled`: asked on the session's thread, later too. */
  QueryExecution(Engine& engine, MessageSink& sink, const QueryRequest& request, RelationFiles files,
                 ConnectionTables& tables, uint64_t* last_segment, const IsCancelled& cancelled);
  ~QueryExecution();
  QueryExecution(const QueryExecution&) = delete;

  /* Messages of the backend. Throw ProtocolError; ignored once failed. */
  void files(uint32_t first_segment, const std::vector<int>& fds);
  void layout(const LayoutRequest& request, const IsCancelled& cancelled);
  void chunk(const ChunkRequest& chunk);
  void chunk_release(const TbChunkRelease& release);
  void slot_free(const TbSlotFree& message);
  void input_end();

  /* Does what completions have made possible. */
  void advance();

  /* QUERY_DONE was sent. */
  bool done() const { return done_; }

  /* The session ends for a reason of ours: its backend may be reading slots. */
  void leave_segment_to_backend() { leave_segment_ = true; }

  /* Null if nobody asks how the time is spent. */
  QueryProfile* profile() const { return profile_.get(); }

  /* Done, and what it did was to build a table. */
  bool built() const { return done_ && program_->sink() == TB_SINK_BUILD; }

 private:
  enum class SlotState {
    kBackend,  // the backend owns it: free, or being filled
    kReading,  // readers fill its runs
    kHeld,     // waits for CHUNK_RELEASE
    kRunning,  // on the device
    kOutput,   // holds result rows that the backend reads
    kOurs      // after INPUT_END, empty
  };
  struct Slot {
    SlotState state = SlotState::kBackend;
    uint32_t kind = 0;
    uint32_t npages = 0;
    uint32_t layout = 0;
    uint64_t sequence = 0;
    uint32_t parts_unread = 0;  // kReading
    bool read_failed = false;
    bool ahead = false;    // the device has read and decoded it before its release
    bool drives = false;   // kReading: by the readers
    std::shared_ptr<DecodedPages> decoded;  // kHeld: if the device has, as they were read
    uint64_t since_ns = 0;  // traced: when the state began
  };

  void start(const QueryRequest& request, uint32_t device, const JoinTables& probed, uint64_t* last_segment,
             const IsCancelled& cancelled);
  void check_table_number(const TbQuery& query) const;
  Admission::Claim claim(uint32_t device, const QueryNeeds& needs, const TbQuery& query) const;
  void lay_out_slots(uint32_t slot_pages, uint32_t nslots);
  void send_ready(uint64_t* last_segment);
  uint8_t* slot_base(uint32_t slot) const { return segment_->base() + ready_.first_slot_offset + slot * ready_.slot_size; }
  Slot& slot_in(uint32_t slot, SlotState state);
  void check_chunk(const ChunkRequest& chunk) const;
  ChunkTask task_of(uint32_t slot);
  bool decode_ahead(uint32_t slot, const ChunkTask& task, const std::vector<TbRun>& runs);
  void start_read(uint32_t slot, const std::shared_ptr<const RelationFiles>& from, std::vector<std::vector<TbRun>> parts);
  void part_read(uint32_t slot, bool ok, uint64_t bytes, uint64_t us);
  void trace_slot(uint32_t slot, TbSpanKind ended);
  void tell(const Slot& slot, TbMessageType type, std::span<const uint8_t> payload);
  void chunk_done(uint32_t slot, const ChunkOutcome& outcome, std::exception_ptr error);
  bool submit_unmatched();
  void unmatched_done(const ChunkOutcome& outcome, std::exception_ptr error);
  void add_to_totals(const ChunkOutcome& outcome);
  void fail_locked(const TbFailure& failure);
  void finish();
  void apply_plan();
  void send_rows();
  void keep_table();
  void send_done();

  Engine& engine_;
  MessageSink& sink_;
  std::shared_ptr<RelationFiles> files_;  // of chunks to come; those being read hold theirs
  bool files_in_use_ = false;             // some chunk reads from files_
  ConnectionTables& tables_;
  uint32_t table_number_ = 0;  // BUILD
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const std::string> params_;
  std::optional<ResultPlan> plan_;
  const IsCancelled cancelled_;
  bool verify_checksums_ = false;
  CodeDemand demand_;
  uint32_t host_because_ = TB_FALLBACK_NONE;  // why not the GPU that was asked for
  TbReady ready_{};
  Admission::Grant grant_;
  std::unique_ptr<SharedSegment> segment_;
  std::unique_ptr<QueryProfile> profile_;  // the device's query points to it
  ChunkLayouts layouts_;  // the device's chunks point to them
  std::unique_ptr<DeviceQuery> device_query_;
  std::optional<UnmatchedRows> unmatched_;  // where there are FULL joins
  std::optional<ResultOutput> output_;  // AGGREGATE, PROJECT
  std::optional<ResultStage> stage_;    // with a plan, once the device has finished

  std::mutex mutex_;  // the fields below
  std::condition_variable reads_finished_;
  std::vector<Slot> slots_;
  uint32_t reading_ = 0;
  uint32_t at_drives_ = 0;  // of reading_, those that the readers have
  uint32_t running_ = 0;
  uint32_t busy_ = UINT32_MAX;  // see Device::ChunkShape
  uint64_t next_sequence_ = 0;  // greater than any chunk's
  bool input_ended_ = false;
  bool failed_ = false;
  TbQueryDone totals_{};

  // The session's thread only.
  bool leave_segment_ = false;
  bool finished_ = false;
  bool done_ = false;
  uint64_t rows_out_ = 0;  // to be sent in all
  uint64_t next_row_ = 0;
};

}  // namespace turbine
