/*
 * row_stream.h - a query's rows on their way into batches, while there is more input.
 *
 * Tasks end in any order. Their rows wait until all tasks before them have ended, so that the rows of a query come in
 * one order: that of its table. A run of rows is placed in the batch that is open, and the thread at hand writes it. A
 * batch whose rows are all written is posted.
 *
 * The backend allows so many batches ahead of it. If there are as many, rows wait, and sources begin nothing more
 * (wants_input) until the backend has taken one. No thread ever waits.
 *
 * Lock order: a file source's, mutex_, the report's. on_room is called with none of them.
 */
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/device/row_taker.h"
#include "engine/execution/query_report.h"
#include "engine/execution/stream/batch_memory.h"
#include "engine/execution/stream/batch_pool.h"
#include "engine/execution/stream/device_batch.h"
#include "engine/execution/stream/stream_columns.h"
#include "engine/execution/stream/streamed_batches.h"
#include "engine/source/files/read_rows.h"
#include "engine/threads/worker_pool.h"

namespace turbine {

class RowStream final : public RowTaker {
 public:
  /* All of it outlives this. */
  struct Needs {
    WorkerPool& workers;
    Admission& admission;
    StreamedBatches& streamed;
    QueryReport& report;
    Device* device = nullptr;  // the one that the request names; null: the host
  };
  RowStream(StreamRequest request, const Needs& needs);
  ~RowStream() override { end(); }

  /* Once, before the first task: whom to tell when input is wanted again. */
  void tell_of_room(std::function<void()> on_room) { on_room_ = std::move(on_room); }

  void take(const TaskPlace& place, TaskRows rows) override;
  /* A piece of a file that is begun now. Rows of a program that only names columns go into their batch as they are
   * read, if those of all pieces before have their places. Throws DeviceError. Any thread. */
  RowsPlace begin_piece(uint64_t piece, uint64_t rows);
  /* All steps of the piece were or will be taken: so many. Any thread. */
  void piece_ends(uint64_t piece, uint32_t steps);
  /* Any thread. */
  bool wants_input() const { return wants_input_; }

  // The session's thread:

  /* STREAM_TAKEN. Throws ProtocolError. */
  void batch_taken();
  /* The input is through. */
  void finish();
  /* After that: nothing is left, and the backend has all. */
  bool all_taken();
  uint64_t rows();  // that were posted

  /* Waits for writes. What is taken later is dropped. */
  void end();

 private:
  struct Step {
    TaskRows rows;
    std::vector<uint64_t> texts;  // by column: bytes of all rows
    uint64_t done = 0;            // rows that are placed
  };
  struct Piece {
    std::map<uint32_t, Step> steps;  // that wait
    std::optional<uint32_t> count;   // of steps, once it is known
    uint32_t next = 0;               // to be placed
  };
  struct Batch {
    Batch(const std::vector<StreamColumn>& columns, std::shared_ptr<BatchMemory> memory)
        : content(columns, std::move(memory)) {}
    StreamBatch content;
    std::shared_ptr<DeviceBatch> on_device;  // null: it is in the host's memory
    uint32_t writes = 0;     // under way
    bool is_closed = false;  // no row is placed any more
    bool is_complete = false;
  };
  using Batches = std::map<uint64_t, std::unique_ptr<Batch>>;
  struct Write {
    Batch* batch;
    StreamBatch::Run run;
  };
  using Writes = std::vector<Write>;

  // mutex_ held:
  Writes place_all();
  bool place_step(Step& step, Writes& writes);
  bool open_batch();
  void close_batch(Batch& batch);
  void post_complete();

  class PieceRows;
  void place_rows(uint64_t rows, Writes& writes);
  void run_ends(Batch& batch);

  void start(Writes writes, bool here);
  void run_write(const Write& write) noexcept;
  void complete(Batch& batch);
  void move_to_device(Batch& batch);
  void fail_stream() noexcept;
  const StreamRequest request_;
  const Needs needs_;
  const std::shared_ptr<BatchPool<BatchMemory>> pool_;
  const std::shared_ptr<BatchPool<DeviceBatch>> device_pool_;  // null: batches stay in the host's memory
  std::function<void()> on_room_;
  std::atomic<bool> wants_input_{true};

  std::mutex mutex_;  // protects what follows
  std::condition_variable idle_;
  std::map<uint64_t, Piece> pieces_;  // from next_piece_ on
  uint64_t next_piece_ = 0;
  uint64_t skip_;                     // rows that are left to be left out
  size_t waiting_ = 0;                // steps
  bool piece_waits_ = false;          // for the backend to take a batch
  Batches batches_;                   // by number, that are not posted
  uint64_t next_batch_ = 0;
  Batch* open_ = nullptr;
  std::vector<Batch*> to_complete_;   // closed, with nothing to write
  uint32_t ahead_ = 0;                // batches that the backend has not taken, the open one included
  uint64_t posted_rows_ = 0;
  std::vector<StreamId> posted_;      // in their order
  size_t taken_ = 0;                  // of these, by the backend
  uint32_t jobs_ = 0;                 // threads that are at work for this
  bool room_opened_ = false;          // sources are to be told
  bool input_ended_ = false, ended_ = false;
};

}  // namespace turbine
