/*
 * host_query.h - one query on the host device.
 *
 * A task is one job of the device's pool: a chunk, cached segments, or rows of a table that a FULL join has
 * not matched (their columns are NULL). The job decodes a batch of pages into its thread's own column arrays,
 * which stay in L2, and runs the pipeline over them. That leaves row ids in the chunk's slot, or groups or
 * rows in the sink (host_sink.h). finish() is the sink's.
 *
 * Pages that turbined reads itself may be read and decoded in an earlier job, batch by batch: decoding from
 * L2 takes a quarter of the time that it takes from memory. If nobody wants the pages afterwards, they are
 * read into memory of the thread that stays in its caches, so they never reach main memory. When the backend
 * has confirmed the pages, the chunk's own job runs before all jobs that wait.
 *
 * Generated code asks for room in the middle of its work. An exception that this throws is kept until the
 * code has returned: nothing unwinds through it.
 */
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "engine/device/device.h"
#include "engine/device/host/decode_queue.h"
#include "engine/device/host/host_code.h"
#include "engine/device/host/host_entry_results.h"
#include "engine/device/host/host_sink.h"
#include "engine/device/host/matched_rows.h"
#include "engine/device/host/segment_columns.h"

namespace turbine {

/* Memory of one thread of the pool, reused by all queries. Not charged to
 * them: its size follows from programs, not from data. */
class WorkerMemory {
 public:
  WorkerMemory();
  uint8_t* scratch() const { return scratch_.data(); }
  DecodedBatch& batch(uint64_t size);  // contents are undefined
  uint8_t* pages() const { return pages_.data(); }  // of one batch

 private:
  HostBuffer scratch_, pages_;
  DecodedChunk batch_;
};

class HostQuery final : public DeviceQuery {
 public:
  HostQuery(std::shared_ptr<const Program> program, std::shared_ptr<const std::string> params,
            std::shared_ptr<HostCode> code, JoinTables tables, uint64_t first_capacity, uint64_t budget,
            IdleMappings& idle_memory, WorkerPool& pool, std::vector<WorkerMemory>& workers, DecodeQueue& decode_queue,
            QueryProfile* profile);
  ~HostQuery() override;

  void stop() override;
  size_t waiting() const override { return decode_queue_.waiting(this); }

  void submit(const Task& task, Done done) override;
  bool decode_ahead(const Task& task, const ReadPages& read, const DecodedAhead& done) override;
  void limit_rows(std::shared_ptr<const RowLimit> limit) override {
    limit_ = limit;
    if (sink_) sink_->limit_rows(std::move(limit));
  }
  void keep_order() override {
    if (!sink_) return DeviceQuery::keep_order();
    sink_->keep_order();
    in_order_ = true;
  }
  void stream_rows(RowTaker& taker) override {
    if (!sink_) return DeviceQuery::stream_rows(taker);
    sink_->stream_rows(taker);
    in_order_ = true;
  }
  uint64_t finish() override;
  ResultBatch fetch(uint64_t first, uint64_t count) override { return sink_->fetch(first, count); }
  bool rows_stay() const override { return true; }
  MemoryBudget& host_memory() override { return budget_; }
  std::shared_ptr<const JoinTable> take_table() override { return sink_->take_table(); }
  DeviceQueryStats stats() const override;

 private:
  /* Where a batch's arrays lie in a thread's memory. */
  struct BatchLayout {
    struct Column {
      uint64_t values, valid;  // valid 0: none
    };
    std::vector<Column> columns;
    uint64_t rowids, deferred, page_ends, size;
  };
  /* What one chunk has produced so far. */
  struct Progress {
    const Task& task;
    TaskOutcome outcome;
    std::vector<uint32_t> deferred;
  };
  /* The arguments of a pipeline, and what its call for room needs. */
  struct PipelineCall : TbPipelineArgs {
    HostQuery* query;
    unsigned worker;
    std::exception_ptr error;
  };

  static BatchLayout batch_layout(const Program& program);
  const TbParamBlock* params() const { return reinterpret_cast<const TbParamBlock*>(params_->data()); }
  bool rows_sink() const { return !sink_; }
  bool wants_pages() const;

  struct Decoder {
    HostCode::Decode decode;
    const TbParamBlock* params;
  };
  Decoder decoder_of(const PagesInput& input) const;
  void columns_of(const DecodedBatch& batch, TbColumnData* columns) const;
  uint32_t* rowids_of(const DecodedBatch& batch) const;
  void begin_job();
  void end_job();
  PagesRead read_and_decode(unsigned worker, const Task& task, const PagesInput& input, const ReadPages& read,
                            DecodedChunk& chunk);
  void decode_batch(uint64_t sequence, const Decoder& decoder, const PagesInput& input, const uint8_t* pages,
                    DecodedBatch& batch);
  TaskOutcome run_task(unsigned worker, const Task& task);
  void run_pages(unsigned worker, Progress& progress, const PagesInput& input);
  void run_decoded(unsigned worker, Progress& progress, const PagesInput& input, const DecodedChunk& chunk);
  bool run_batch(unsigned worker, Progress& progress, const PagesInput& input, const DecodedBatch& batch);
  void note_pages(const PagesInput& input, const uint8_t* pages, DecodedBatch& batch) const;
  void keep_batch(const PagesInput& input, const DecodedBatch& batch) const;
  void run_columns(unsigned worker, Progress& progress, const ColumnsInput& input);
  void run_segments(unsigned worker, Progress& progress, const SegmentsInput& input);
  bool run_segment(unsigned worker, Progress& progress, const SegmentMorsel& morsel, const SegmentColumns& stored,
                   const TakenSegment& taken, const DecodedBatch& batch, std::span<TbEntryResults> results);
  void decode_segment(unsigned worker, uint64_t sequence, const SegmentColumns& stored, uint32_t first, uint32_t end,
                      uint8_t* room, TbColumnData* columns, TbColumnCodes* codes, std::span<TbEntryResults> results);
  const uint32_t* write_rowids(const SegmentMorsel& morsel, const TakenSegment& taken, uint32_t first, uint32_t end,
                               const DecodedBatch& batch) const;
  void run_unmatched(unsigned worker, Progress& progress, const UnmatchedInput& input);
  bool run_pipeline(unsigned worker, Progress& progress, PipelineCall& call);
  static uint32_t make_room(TbPipelineArgs* args, uint64_t rows, uint64_t bytes) noexcept;

  const std::shared_ptr<const Program> program_;
  const std::shared_ptr<const std::string> params_;
  const std::shared_ptr<HostCode> code_;
  const JoinTables tables_;
  std::vector<const TbJoinTable*> raw_tables_;
  const BatchLayout batch_;
  HostEntryResults entry_results_;
  MemoryBudget budget_;  // the grant without what results by entry take
  const MatchedRows matched_;
  WorkerPool& pool_;
  std::vector<WorkerMemory>& workers_;
  DecodeQueue& decode_queue_;
  QueryProfile* const profile_;  // null: nobody asks
  const std::unique_ptr<HostSink> sink_;  // null: ROWS
  bool in_order_ = false;
  std::shared_ptr<const RowLimit> limit_;  // null: all rows are wanted

  std::mutex mutex_;  // in_flight_
  std::condition_variable idle_;
  uint64_t in_flight_ = 0;

  std::atomic<uint32_t> stop_{0};  // generated code looks at it too
  std::atomic<uint64_t> decode_ns_{0}, compute_ns_{0}, finish_ns_{0}, grows_{0};
};

}  // namespace turbine
