/*
 * query_input.h - the input of one query: its sources, the slots of its chunks, and the tasks that its device runs.
 *
 * The session's thread calls everything here. Completions come from reader and device threads: these touch slots under
 * mutex_ and post messages. Lock order: mutex_, then the report's.
 */
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/execution/built_table.h"
#include "engine/execution/engine.h"
#include "engine/execution/query_device.h"
#include "engine/execution/query_report.h"
#include "engine/execution/stream/row_stream.h"
#include "engine/slots/slot_table.h"
#include "engine/source/columns_source.h"
#include "engine/source/heap/heap_source.h"
#include "engine/source/part_kinds.h"
#include "engine/source/segments/segment_source.h"
#include "engine/source/unmatched_source.h"
#include "engine/wire/requests.h"

namespace turbine {

class QueryInput final : private TaskSink {
 public:
  /* What every source of a query needs. All of it outlives this. */
  struct Query {
    Engine& engine;
    const std::shared_ptr<const Program>& program;
    const std::shared_ptr<const std::string>& params;
    const JoinTables& probed;
    BuiltTable& table;
    QueryDevice& device;
    QueryReport& report;
    QueryProfile* profile;  // or null
  };
  QueryInput(const Query& query, RelationFiles files, const TbQuery& request);
  QueryInput(const QueryInput&) = delete;

  /* The device has started. `order`: of segments in which wanted rows are found soonest, or null. */
  void begin(const ZoneOrder* order);

  /* Before the first part: rows are taken in order, by this; it outlives what sources have begun. */
  void stream_to(RowStream& stream);

  /* Messages of the backend. Throw ProtocolError; ignored once failed. */
  void files(uint32_t first_file, const std::vector<int>& fds) { heap_.add_files(first_file, fds); }
  void layout(const LayoutRequest& request, const IsCancelled& cancelled);
  void snapshot(const SnapshotRequest& request);
  void segments(const SegmentsRequest& request);
  void part(const PartRequest& request);
  void chunk(const ChunkRequest& chunk);
  void chunk_release(const TbChunkRelease& release);
  void end();

  /* All of it has run, what sources had left for the end included: the slots are the output's then. */
  bool is_through();
  SlotTable& slots() { return slots_; }

  /* No source begins anything any more, nor fills a slot. After the device's query was told to stop. */
  void stop();

 private:
  Device::SegmentShape segment_shape(uint64_t nblocks) const override { return device_.segment_shape(nblocks); }
  std::shared_ptr<StagedColumns> stage_columns(uint64_t bytes) override { return device_.query().stage_columns(bytes); }
  bool decode_ahead(const Task& task, const DeviceQuery::ReadPages& read,
                    const DeviceQuery::DecodedAhead& done) override {
    return device_.query().decode_ahead(task, read, done);
  }
  QueryTotals& totals() override { return report_.totals; }
  void run(std::vector<Task> tasks) override;
  void pieces_wait(uint32_t count) override;
  void piece_done(std::exception_ptr error) override;
  bool wants_input() const override { return !stream_ || stream_->wants_input(); }
  void piece_ends(uint64_t piece, uint32_t steps) override {
    if (stream_) stream_->piece_ends(piece, steps);
  }
  RowsPlace begin_piece(uint64_t piece, uint64_t rows) override {
    return stream_ ? stream_->begin_piece(piece, rows) : RowsPlace{};
  }
  void waits_for_drive(uint32_t slot) override;
  void filled(uint32_t slot, const ChunkFill& fill) override;

  void prepare_slots(bool for_reads);
  void fail(std::exception_ptr error);
  void check_open(const char* message);
  ChunkSource& source_of(uint32_t kind);
  bool use_kept_table();
  bool take_kept_table(const SegmentsRequest& request);
  void tell(uint32_t slot, TbMessageType type, std::span<const uint8_t> payload);
  void chunk_done(uint32_t slot, const TaskOutcome& outcome, std::exception_ptr error);
  void task_done(const TaskOutcome& outcome, std::exception_ptr error);
  void add_to_totals(const TaskOutcome& outcome);

  Engine& engine_;
  const std::shared_ptr<const Program> program_;
  BuiltTable& table_;
  QueryDevice& device_;
  QueryReport& report_;
  QueryProfile* const profile_;

  const ReadPath path_;
  SegmentSource segments_;
  HeapSource heap_;  // the device's chunks point to its layouts
  ColumnsSource columns_;
  std::map<uint32_t, std::unique_ptr<PartSource>> parts_;  // by kind
  std::optional<UnmatchedSource> unmatched_;  // where there are FULL joins
  const JoinTables& probed_;
  RowStream* stream_ = nullptr;  // null: rows stay on the device
  std::vector<Source*> sources_;  // all of them

  std::mutex mutex_;  // the fields below
  std::condition_variable reads_finished_;
  SlotTable slots_;
  uint32_t running_ = 0;  // tasks that the device has, those without a slot included, and pieces that are to be read
  bool chunks_began_ = false;
  bool ended_ = false;
  bool taken_over_ = false;
};

}  // namespace turbine
