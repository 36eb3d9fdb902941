/*
 * device.h - what the engine asks of a device. Implemented by device/host (threads) and device/cuda (driver
 * API); execution/ knows only this interface.
 *
 * Lifetime: a Device lives as long as the engine. A DeviceQuery belongs to one query, and its destructor
 * waits for what is in flight.
 *
 * Threads: many queries may use a Device at once. The query's thread calls submit(), finish() and fetch() of
 * its DeviceQuery. Device threads call `done`.
 *
 * Errors: a DeviceError ends the query; execution/ turns it into FAILED. The verdict on one chunk's values is
 * in its TaskOutcome::errors.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device_window.h"
#include "engine/device/exported_memory.h"
#include "engine/device/join_table.h"
#include "engine/device/key_sort.h"
#include "engine/device/result_batch.h"
#include "engine/device/row_limit.h"
#include "engine/device/row_taker.h"
#include "engine/device/task.h"
#include "engine/memory/host_memory.h"
#include "engine/profile/query_profile.h"
#include "engine/program/program.h"
#include "engine/wire/device_error.h"
#include "turbine/compile.h"
#include "turbine/kernel.h"
#include "turbine/wire.h"

namespace turbine {

/* Compiled code, loaded on one device; shared by queries. */
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;

  /* Better code of the same program, for calls to come, those of running queries
   * too. Any thread. Throws DeviceError. */
  virtual void improve(std::span<const uint8_t>) {}
};

struct DeviceQueryStats {
  uint64_t bytes_to_device = 0, bytes_from_device = 0;
  uint64_t transfer_us = 0, decode_us = 0, compute_us = 0, finish_us = 0, table_grows = 0;
  uint64_t rows_in = 0, cached_bytes = 0;  // of complete tasks, as TaskOutcome has them
  uint64_t dictionaries = 0, dictionary_entries = 0;  // that have tables of results (entry_result_tables.h)
};

/* The states of an ungrouped AGGREGATE that one step of a task has come to, in group_layout form, without text. */
struct TaskStates {
  uint64_t sequence;  // of the task
  uint32_t step;
  std::vector<uint8_t> row;
};

class DeviceQuery {
 public:
  virtual ~DeviceQuery() = default;  // waits for what is in flight

  /* The query is over: what is in flight may end early. Any thread. */
  virtual void stop() {}

  /* finish() asks now and then while it waits, on its own thread: true once nobody wants the result, and finish()
   * throws. Before finish(). */
  virtual void cancelled_by(std::function<bool()> cancelled) { (void)cancelled; }

  using Done = std::function<void(const TaskOutcome&, std::exception_ptr)>;
  /* Starts a chunk; `done` is called exactly once, from any thread, maybe
   * before submit returns. At most TB_MAX_SLOTS chunks are in flight. */
  virtual void submit(const Task& task, Done done) = 0;

  /* Reads a chunk's pages and decodes them piece by piece, while the processor's
   * caches hold them, before the backend has confirmed them: what comes of it is
   * only used with a submit() of the same pages. `read` brings `count` pages from
   * `first` on to `pages`, which need not be the chunk's own memory; its last answer
   * is passed to `done`, with nothing decoded if it was not kDone. `done` is called exactly once, from any thread,
   * unless false was returned: the device does not, or not now. */
  using ReadPages = std::function<PagesRead(uint32_t first, uint32_t count, uint8_t* pages)>;
  using DecodedAhead = std::function<void(PagesRead, std::shared_ptr<DecodedPages>)>;
  virtual bool decode_ahead(const Task&, const ReadPages&, const DecodedAhead&) { return false; }

  /* For columns of a task to come, of so many bytes (StagedColumns::bytes_of): copies that the thread makes which has
   * decoded them reach the device sooner. Waits a little where too much is under way already. Null: there is no need of
   * it, or no memory. Any thread. */
  virtual std::shared_ptr<StagedColumns> stage_columns(uint64_t) { return nullptr; }

  /* Chunks to be decoded ahead that wait for those of other queries. */
  virtual size_t waiting() const { return 0; }

  /* PROJECT, before the first chunk: other rows than these need not be kept, nor segments without them read. */
  virtual void limit_rows(std::shared_ptr<const RowLimit>) {}

  /* After every chunk is done: combines partial results, builds the table.
   * Returns the number of rows: groups (ungrouped: 1), or rows kept; ROWS: 0.
   * Throws DeviceError. */
  virtual uint64_t finish() = 0;

  /* AGGREGATE and PROJECT, after finish(): rows from `first` on, at least one
   * and at most `count`; memory that stays valid until the next call. */
  virtual ResultBatch fetch(uint64_t first, uint64_t count) = 0;

  /* Does the memory of all that fetch() returned stay valid as long as this? */
  virtual bool rows_stay() const { return false; }

  /* What the query may use of the host's memory, its rows there included. */
  virtual MemoryBudget& host_memory() = 0;

  /* PROJECT, before the first chunk: fetch() returns rows in the order in which they lie in their table. Where that is
   * not known in the end, finish() throws. Throws DeviceError: the device never knows it. */
  virtual void keep_order() { throw DeviceError(TB_FALLBACK_NO_DEVICE, "the device does not keep the rows' order"); }

  /* PROJECT, before the first chunk: the taker gets the rows of each task as it ends, and finish() has none. It
   * outlives the query's tasks, and lets go of all rows before the query goes. Throws DeviceError: the device keeps its
   * rows. */
  virtual void stream_rows(RowTaker&) { throw DeviceError(TB_FALLBACK_NO_DEVICE, "the device does not stream rows"); }

  /* PROJECT, before the first chunk: rows may stay on the device, whose windows (below) want them. They come to the
   * host when fetch() asks for them. */
  virtual void keep_rows_on_device() {}

  /* PROJECT, before the first chunk: rows become columns that other processes may open; `in_order`: in the order of
   * their table. After finish(), once, take_columns() makes them: of each that is asked for, whose formats fit the
   * types of the result's. Both throw DeviceError: the device cannot, or a value has no such form. */
  virtual void leave_columns(bool in_order) {
    (void)in_order;
    throw DeviceError(TB_FALLBACK_NO_DEVICE, "the device has no memory for other processes");
  }
  virtual std::vector<DeviceColumn> take_columns(std::span<const TbColumnLeft>) { return {}; }

  /* After finish(): the device's own sort, as long as the query lives; or null. */
  virtual KeySort* key_sort() { return nullptr; }
  /* Likewise its own window functions. */
  virtual DeviceWindow* window() { return nullptr; }

  /* AGGREGATE, after finish(), instead of fetch(): what each task has come to, for whoever folds it with tasks of other
   * devices, in the order of all. Empty: the order does not matter, and fetch() has the states of all tasks. */
  virtual std::vector<TaskStates> take_task_states() { return {}; }

  /* Of a FULL join's table, a byte for each row, and maybe some more: 1 where a tuple has matched it. No task may be in
   * flight; the query's thread. Throws DeviceError. */
  virtual std::vector<uint8_t> matched_rows(uint32_t join) {
    (void)join;
    throw DeviceError(TB_FALLBACK_NO_DEVICE, "the device does not tell which rows have matched");
  }
  virtual void set_matched_rows(uint32_t join, std::span<const uint8_t> matched) {
    (void)join, (void)matched;
    throw DeviceError(TB_FALLBACK_NO_DEVICE, "the device does not take which rows have matched");
  }

  /* BUILD, after finish(): the table. */
  virtual std::shared_ptr<const JoinTable> take_table() { return nullptr; }

  virtual DeviceQueryStats stats() const = 0;

  /* By device, of a query that runs on several; stats() has their sums. */
  virtual std::vector<DeviceQueryStats> stats_by_device() const { return {}; }
};

/* Bytes of a GPU's memory for columns of tables: a share of what there is. */
inline constexpr uint64_t kUsualGpuCache = UINT64_MAX;

/* What a query will need; admission adds these up. */
struct QueryNeeds {
  uint64_t device_bytes;  // working memory on the device before growth
};

class Device {
 public:
  virtual ~Device() = default;

  virtual TbDeviceInfo info() const = 0;
  virtual TbTarget target() const = 0;
  virtual std::string cpu() const = 0;  // for TbCompileRequest
  virtual std::string features() const = 0;

  /* Whether it runs quick code until full code is there. */
  virtual bool runs_quick_code() const { return false; }

  /* How the program's queries take segments. */
  struct SegmentShape {
    uint64_t rows = 0;  // of a task, about; 0: they take none
    uint64_t decoded_rows = rows;  // of one whose rows are decoded only now: the device starts while others are
    uint32_t tasks = 1;  // at least so many, where there are blocks enough
    uint32_t threads = 0;  // of its own, that want processors beside those that decode
    uint32_t range_blocks = 0;  // as MorselShape has it
    /* Of a file that has no more rows, a task that comes again as it was costs less than what filters leave of it: to
     * learn where a segment's column is takes as long as to read `told_rows` rows. */
    uint64_t remembered_rows = 0, told_rows = 0;
  };
  /* Of a file of so many blocks. */
  virtual SegmentShape segment_shape(const Program&, uint64_t) const { return {}; }

  /* Best chunk size and number of slots for a query over `nblocks` pages. */
  struct ChunkShape {
    uint32_t slot_pages;
    uint32_t nslots;
    uint32_t busy = UINT32_MAX;  // more chunks than these in its hands: news of others can wait
  };
  /* `copied`: the backend writes most of the pages. */
  virtual ChunkShape chunk_shape(uint64_t nblocks, bool copied) const = 0;

  /* Memory for other processes. Null: the device has none of that kind, and the host's is as good. Throws
   * DeviceError. */
  virtual std::unique_ptr<ExportedMemory> export_memory(uint64_t) { return nullptr; }
  virtual ExportPlace export_place() const { return {}; }

  /* Whether the device has so many bytes free, whoever has taken the rest: other programs ask nobody. */
  virtual bool has_memory(uint64_t) const { return true; }

  /* If other programs have given memory back since the device was found, its budget in info() grows. Throws
   * DeviceError. */
  virtual void raise_budget() {}

  /* Columns or join tables of the host's were dropped: copies of them need not stay. */
  virtual void forget_dropped() {}

  /* Loads an artifact of the compiler (HOST: shared object; PTX: text, or a
   * cubin from machine_code()). Throws DeviceError. */
  virtual std::shared_ptr<LoadedCode> load(std::span<const uint8_t> artifact, const Program& program) = 0;

  /* The device's final form of an artifact, to keep in the disk cache: the
   * same bytes on the host, a cubin on a GPU. */
  virtual std::string machine_code(std::span<const uint8_t> artifact) = 0;

  /* Makes slot memory fast to copy from (pins it); undone by unregister. */
  virtual void register_slot_memory(void* base, uint64_t size) = 0;
  virtual void unregister_slot_memory(void* base) = 0;

  /* Throws DeviceError for a program that this device cannot run at all. */
  virtual QueryNeeds needs(const Program& program, double estimated_rows, uint32_t slot_pages,
                           uint32_t nslots) const = 0;

  /* Besides: memory for the device's own copies of the tables that a query probes,
   * and for which rows have been matched. */
  virtual uint64_t table_bytes(const Program&, const JoinTables&) const { return 0; }

  /* `tables`: one a join, each checked against the program. `budget`: device
   * bytes this query may use in all, growth included. `profile`: where what is done
   * is recorded, for as long as the query lives, or null. */
  virtual std::unique_ptr<DeviceQuery> start(std::shared_ptr<const Program> program,
                                             std::shared_ptr<const std::string> params,
                                             std::shared_ptr<LoadedCode> code, JoinTables tables, double estimated_rows,
                                             uint64_t budget, QueryProfile* profile) = 0;
};

}  // namespace turbine
