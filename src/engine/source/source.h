/*
 * source.h - where a query's input comes from: heap pages, columns of a backend, segments of the column store,
 * files of columns, rows that FULL joins have not matched.
 *
 * A source is told once, by begin(), whom it reports to: a TaskSink, which the query's input implements
 * (execution/query_input.h). Input takes one of two ways:
 *
 * - Tasks that need no slot: the source makes them, whenever it has some, and the sink runs them. Of some sources the
 *   backend says part by part what they are to read.
 * - Chunks, which the backend names and which go through slots. A source of chunks is asked three questions: may the
 *   chunk be as it is (check), does the source fill it (fills, then fill), and is the slot's content safe for
 *   generated code (check_content)? The kind of a chunk selects its source (include/turbine/wire.h).
 *
 * To add a source, make a folder beside heap/ and files/. A source of parts is made by part_kinds.h, all
 * others in execution/query_input.cc.
 *
 * The session's thread calls sources. Their own threads report to the sink.
 */
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "engine/device/device.h"
#include "engine/profile/query_totals.h"
#include "engine/slots/slot_table.h"
#include "engine/source/files/read_rows.h"
#include "engine/wire/requests.h"

namespace turbine {

/* How filling a chunk went. */
struct ChunkFill {
  bool ok;
  uint64_t drive_bytes = 0;       // read with O_DIRECT
  uint64_t page_cache_bytes = 0;  // read otherwise
  uint64_t us = 0;                // all reads' time
  std::shared_ptr<DecodedPages> decoded = nullptr;  // if the device has read the chunk ahead
};

/* What sources report to, and whom they ask about the query's device. Any thread. */
class TaskSink {
 public:
  virtual ~TaskSink() = default;

  /* How the device takes segments of a source of so many blocks; of one without blocks: UINT64_MAX. */
  virtual Device::SegmentShape segment_shape(uint64_t nblocks) const = 0;
  /* As the device query's. */
  virtual std::shared_ptr<StagedColumns> stage_columns(uint64_t bytes) = 0;
  virtual bool decode_ahead(const Task& task, const DeviceQuery::ReadPages& read,
                            const DeviceQuery::DecodedAhead& done) = 0;
  virtual QueryTotals& totals() = 0;

  /* Tasks without a slot: they run at once. */
  virtual void run(std::vector<Task> tasks) = 0;

  /* So many more pieces are to be read: the input has not ended before they are. */
  virtual void pieces_wait(uint32_t count) = 0;
  /* One has ended; `error` if it could not be read. The last act but one of whoever read it. */
  virtual void piece_done(std::exception_ptr error) = 0;

  /* Where rows are taken in order (device/row_taker.h): false where there are too many already. Sources that read ahead
   * of their tasks begin nothing then, until resume(). */
  virtual bool wants_input() const { return true; }
  /* All tasks of the piece were passed to run(): so many. Before its piece_done(). */
  virtual void piece_ends(uint64_t piece, uint32_t steps) { (void)piece, (void)steps; }
  /* Where so many rows of a piece of a file go that is begun now. */
  virtual RowsPlace begin_piece(uint64_t piece, uint64_t rows) {
    (void)piece, (void)rows;
    return {};
  }

  /* The slot's chunk is not in memory: threads begin to wait for a drive. */
  virtual void waits_for_drive(uint32_t slot) = 0;
  /* Once for every fill(), and its last act: the query may end at once. */
  virtual void filled(uint32_t slot, const ChunkFill& fill) = 0;
};

class Source {
 public:
  virtual ~Source() = default;

  /* Before anything else is asked of it. The sink outlives what the source has begun. */
  void begin(TaskSink& sink) { sink_ = &sink; }

  /* All input so far has been run: runs tasks for what only shows now, to be asked again when they are done.
   * False: there is nothing left. */
  virtual bool run_rest() { return false; }

  /* Input is wanted again. Any thread. */
  virtual void resume() {}

  /* No thread of its own reports any more after this, except of fills. */
  virtual void stop() {}

 protected:
  TaskSink& sink() const { return *sink_; }

 private:
  TaskSink* sink_ = nullptr;
};

/* A source whose input a backend names part by part (PART). */
class PartSource : public Source {
 public:
  /* `bytes`: of a PART of its kind. `fd`: file 0 of the FILES before, the caller's; -1: there is none. Throws
   * DeviceError, ProtocolError. */
  virtual void add(std::span<const uint8_t> bytes, int fd) = 0;
};

class ChunkSource : public Source {
 public:
  /* Throws ProtocolError for a chunk that this source cannot have. */
  virtual void check(const ChunkRequest& chunk, const SlotShape& shape) const = 0;

  /* What the task of a chunk that check() has passed reads; `slot`: the chunk's memory. Throws ProtocolError. */
  virtual TaskInput input(const ChunkRequest& chunk, uint8_t* slot) const = 0;

  /* False: the backend has written the whole chunk. */
  virtual bool fills(const ChunkRequest&) const { return false; }

  /* Begins to fill the slot that `task` describes. The sink hears of it, maybe before this returns, and whatever
   * goes wrong. */
  virtual void fill(const ChunkRequest& chunk, const Task&) { sink().filled(chunk.slot, {.ok = true}); }

  /* Throws ProtocolError if the slot holds what generated code must not read. */
  virtual void check_content(const uint8_t*, const SlotShape&) const {}
};

}  // namespace turbine
