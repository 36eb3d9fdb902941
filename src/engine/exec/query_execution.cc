/*
 * query_execution.cc - one query of one connection, from QUERY to QUERY_DONE.
 */
#include "engine/exec/query_execution.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "engine/device/query_fault.h"
#include "engine/exec/columns_chunk_check.h"
#include "engine/exec/device_choice.h"
#include "engine/exec/probed_tables.h"
#include "engine/storage/direct_reader.h"
#include "engine/wire/failure.h"
#include "engine/wire/message_bytes.h"

namespace turbine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kSlotAlignment = 4096;

/* A thread copies some 5-16 GB/s from the page cache, a GPU takes 55: several
 * read a large slot. 2 MB keep a drive busy as well. */
constexpr uint32_t kPagesPerRead = 256;

/* For a result plan: enough for the first rows of an order; and what sorting takes
 * of a row besides. */
constexpr uint64_t kPlanMemory = 1 << 20;
constexpr double kSortBytesPerRow = 48;

uint64_t us_since(Clock::time_point start) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count());
}

/* Fails a query whose rows do not go back one by one, for a chunk's verdict. */
TbFailure verdict_failure(uint32_t verdict) {
  constexpr uint32_t kRaised = TB_ERR_OVERFLOW | TB_ERR_DIVISION_BY_ZERO | TB_ERR_DOMAIN;
  return make_failure(verdict & kRaised ? TB_FALLBACK_RAISED : TB_FALLBACK_VALUE, verdict,
                      "a row's values need PostgreSQL");
}

PagesRead pages_read(CachedRead read) {
  switch (read) {
    case CachedRead::kDone: return PagesRead::kDone;
    case CachedRead::kNotCached: return PagesRead::kNotCached;
    default: return PagesRead::kFailed;
  }
}

/* Does the query's state on the device grow with its input? */
bool grows(const Program& program) {
  if (program.grouped() || program.sink() == TB_SINK_PROJECT || program.sink() == TB_SINK_BUILD) return true;
  return std::any_of(program.aggs().begin(), program.aggs().end(),
                     [](const TbAgg& agg) { return tb_type_is_text(tb_agg_state_type(&agg)); });
}

}  // namespace

QueryExecution::QueryExecution(Engine& engine, MessageSink& sink, const QueryRequest& request, RelationFiles files,
                               ConnectionTables& tables, uint64_t* last_segment, const IsCancelled& cancelled)
    : engine_(engine),
      sink_(sink),
      files_(std::make_shared<RelationFiles>(std::move(files))),
      tables_(tables),
      cancelled_(cancelled) {
  try {
    program_ = std::make_shared<const Program>(Program::parse(request.program));
    check_params(*program_, request.params);
    if (!request.result_plan.empty()) plan_ = ResultPlan::parse(request.result_plan, *program_);
  } catch (const ProgramError& e) {
    throw ProtocolError(e.what());
  }
  params_ = std::make_shared<const std::string>(reinterpret_cast<const char*>(request.params.data()),
                                                request.params.size());
  verify_checksums_ = request.query.flags & TB_QUERY_CHECKSUMS;
  if (request.query.flags & (TB_QUERY_PROFILE | TB_QUERY_TRACE))
    profile_ = std::make_unique<QueryProfile>((request.query.flags & TB_QUERY_TRACE) != 0);
  check_table_number(request.query);
  table_number_ = request.query.table;
  const JoinTables probed = probed_tables(*program_, tables_);

  const DeviceChoice choice = choose_device(engine_, *program_, request.query.device, request.query.flags);
  host_because_ = choice.host_because;
  try {
    start(request, choice.device, probed, last_segment, cancelled);
  } catch (const DeviceError& e) {
    if (choice.device == TB_DEVICE_HOST || !(request.query.flags & TB_QUERY_ALLOW_HOST) || e.reason == TB_FALLBACK_NONE) throw;
    host_because_ = e.reason;
    start(request, TB_DEVICE_HOST, probed, last_segment, cancelled);
  }
}

void QueryExecution::check_table_number(const TbQuery& query) const {
  if (program_->sink() != TB_SINK_BUILD) {
    if (query.table != 0) throw ProtocolError("QUERY that builds no table names one");
  } else if (query.table >= TB_MAX_TABLES || tables_.find(query.table)) {
    throw ProtocolError("QUERY builds table " + std::to_string(query.table) + ", which is not free");
  }
}

/* What a result plan takes comes from the growth that is granted; of rows that are
 * to be sorted on the host's budget some is stated. */
Admission::Claim QueryExecution::claim(uint32_t device, const QueryNeeds& needs, const TbQuery& query) const {
  Admission::Claim claim{device, needs.device_bytes, ready_.segment_size, grows(*program_) || plan_, !tables_.empty()};
  if (!plan_ || device != TB_DEVICE_HOST) return claim;
  claim.device_bytes += kPlanMemory;
  const auto most = static_cast<double>(engine_.devices[device]->info().memory_budget / 8);
  if (!plan_->only_best() && query.estimated_groups > 0)
    claim.device_bytes += static_cast<uint64_t>(std::min(query.estimated_groups * kSortBytesPerRow, most));
  return claim;
}

/* Everything that can be refused; holds nothing if it throws. */
void QueryExecution::start(const QueryRequest& request, uint32_t index, const JoinTables& probed,
                           uint64_t* last_segment, const IsCancelled& cancelled) {
  Device& device = *engine_.devices[index];
  const TbQuery& query = request.query;
  const bool prune = plan_ && plan_->only_best() && program_->sink() == TB_SINK_PROJECT;
  // What is pruned takes little, however many rows there are.
  const double estimated_rows = prune ? 0 : query.estimated_groups;
  const Device::ChunkShape shape = device.chunk_shape(query.nblocks, query.flags & TB_QUERY_COPIED);
  ready_ = {};
  lay_out_slots(shape.slot_pages, std::clamp<uint32_t>(shape.nslots, 1, TB_MAX_SLOTS));
  busy_ = shape.busy;
  QueryNeeds needs = device.needs(*program_, estimated_rows, ready_.slot_pages, ready_.nslots);
  needs.device_bytes += device.table_bytes(*program_, probed);
  demand_ = {(query.flags & TB_QUERY_FULL_CODE) != 0, query.estimated_rows};
  const CodeCache::Result code = [&] {
    const Span span(profile_.get(), TB_SPAN_COMPILE);
    return engine_.code.get(device, *program_, cancelled, demand_);
  }();
  if (code.improve) engine_.compile_ahead.improve(device, program_);

  const auto queued = Clock::now();
  Admission::Grant grant = [&] {
    const Span span(profile_.get(), TB_SPAN_ADMISSION);
    return engine_.admission.admit(claim(index, needs, query), query.wait_ms, cancelled);
  }();
  ready_.queue_ms = static_cast<float>(us_since(queued)) / 1000;
  const Span span(profile_.get(), TB_SPAN_START);

  std::unique_ptr<DeviceQuery> device_query;
  {
    QueryFaultScope fault(query.debug_fault);
    device_query =
        device.start(program_, params_, code.code, probed, estimated_rows, grant.device_bytes(), profile_.get());
  }
  if (program_->full_joins_end() > 0)
    unmatched_.emplace(*program_, probed, ready_.slot_pages * TB_MAX_TUPLES_PER_PAGE);
  if (prune) device_query->limit_rows(std::make_shared<const RowPruning>(*plan_));
  if (program_->sink() == TB_SINK_AGGREGATE || program_->sink() == TB_SINK_PROJECT) output_.emplace(*program_, plan_ ? &*plan_ : nullptr);
  slots_.resize(ready_.nslots);
  segment_ = engine_.segments.take(ready_.segment_size, device, *last_segment);
  grant_ = std::move(grant);
  device_query_ = std::move(device_query);

  ready_.device = index;
  ready_.code_source = static_cast<uint32_t>(code.source);
  ready_.compile_ms = code.ms;
  ready_.host_because = host_because_;
  send_ready(last_segment);
}

void QueryExecution::lay_out_slots(uint32_t slot_pages, uint32_t nslots) {
  ready_.slot_pages = slot_pages;
  ready_.nslots = nslots;
  ready_.ids_offset = uint64_t{slot_pages} * TB_PAGE_SIZE;
  const uint64_t ids = uint64_t{slot_pages} * TB_MAX_TUPLES_PER_PAGE * sizeof(uint32_t);
  ready_.slot_size = (ready_.ids_offset + ids + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
  ready_.first_slot_offset = 0;
  ready_.segment_size = nslots * ready_.slot_size;
}

void QueryExecution::send_ready(uint64_t* last_segment) {
  ready_.segment_id = segment_->id();
  ready_.segment_size = segment_->size();
  ready_.lease = engine_.leases.begin(*segment_);
  ready_.has_fd = segment_->id() != *last_segment;
  *last_segment = segment_->id();
  if (profile_) profile_->begin();
  sink_.post(TB_MSG_READY, bytes_of(ready_), ready_.has_fd ? segment_->fd() : -1);
}

QueryExecution::~QueryExecution() {
  {
    std::unique_lock lock(mutex_);
    failed_ = true;  // completions post nothing any more: the backend's next query would get it
    sink_.forget_waiting();
    lock.unlock();
    if (device_query_) device_query_->stop();  // reads may wait for a thread that joins
    lock.lock();
    reads_finished_.wait(lock, [this] { return reading_ == 0; });
  }
  stage_.reset();         // what it keeps counts against the device query's budget
  device_query_.reset();  // waits for its chunks
  if (leave_segment_)
    engine_.leases.abandon(ready_.lease, std::move(segment_));
  else
    engine_.leases.end(ready_.lease, std::move(segment_));
}

QueryExecution::Slot& QueryExecution::slot_in(uint32_t slot, SlotState state) {
  if (slot >= slots_.size()) throw ProtocolError("no such slot");
  if (slots_[slot].state != state) throw ProtocolError("slot " + std::to_string(slot) + " is in another state");
  return slots_[slot];
}

void QueryExecution::check_chunk(const ChunkRequest& chunk) const {
  const std::vector<TbRun>& runs = chunk.runs;
  if (chunk.kind == TB_CHUNK_COLUMNS) {
    if (chunk.npages != 0 || !runs.empty() || chunk.layout != 0) throw ProtocolError("columns chunk with pages");
    return;
  }
  if (chunk.kind != TB_CHUNK_PAGES) throw ProtocolError("unknown kind of chunk");
  if (program_->source() != TB_SOURCE_HEAP) throw ProtocolError("pages for a program of rows");
  if (chunk.npages > ready_.slot_pages) throw ProtocolError("chunk is larger than a slot");
  if (!layouts_.has(chunk.layout)) throw ProtocolError("chunk of an unknown layout");
  uint32_t end = 0;
  for (const TbRun& run : runs) {
    if (run.count == 0 || uint64_t{run.page} + run.count > chunk.npages) throw ProtocolError("run leaves its chunk");
    // Else pages that nobody reads would count as read.
    if (run.page < end) throw ProtocolError("runs overlap");
    end = run.page + run.count;
    if (uint64_t{run.block} + run.count > UINT32_MAX) throw ProtocolError("run leaves its relation");
  }
}

/* Segment 0 begins another relation's files. Chunks being read keep those that
 * they began with, to which nothing is added behind their backs. */
void QueryExecution::files(uint32_t first_segment, const std::vector<int>& fds) {
  if (first_segment == 0) {
    files_ = std::make_shared<RelationFiles>();
    files_in_use_ = false;
  }
  const bool added = files_->add(files_in_use_ ? UINT32_MAX : first_segment, fds);
  if (!added) throw ProtocolError("FILES: bad segment numbers");
}

void QueryExecution::layout(const LayoutRequest& request, const IsCancelled& cancelled) {
  {
    std::lock_guard lock(mutex_);
    if (failed_) return;
    if (input_ended_) throw ProtocolError("LAYOUT after INPUT_END");
  }
  try {
    layouts_.add(*program_, request, engine_, *engine_.devices[ready_.device], demand_, cancelled);
  } catch (const DeviceError&) {
    std::lock_guard lock(mutex_);
    fail_locked(make_failure(std::current_exception()));
  }
}

void QueryExecution::chunk(const ChunkRequest& chunk) {
  const std::vector<TbRun>& runs = chunk.runs;
  std::unique_lock lock(mutex_);
  if (failed_) return;
  if (input_ended_) throw ProtocolError("CHUNK after INPUT_END");
  Slot& slot = slot_in(chunk.slot, SlotState::kBackend);
  check_chunk(chunk);
  slot.kind = chunk.kind;
  slot.npages = chunk.npages;
  slot.layout = chunk.layout;
  slot.sequence = chunk.sequence;
  next_sequence_ = std::max(next_sequence_, chunk.sequence + 1);
  auto parts = split_runs(runs, kPagesPerRead);
  slot.ahead = false;
  trace_slot(chunk.slot, TB_SPAN_KIND_COUNT);
  slot.state = parts.empty() ? SlotState::kHeld : SlotState::kReading;
  if (parts.empty()) return;
  slot.parts_unread = static_cast<uint32_t>(parts.size());
  slot.read_failed = false;
  reading_++;
  const ChunkTask task = task_of(chunk.slot);
  lock.unlock();
  files_in_use_ = true;
  bool ahead = false;
  try {
    ahead = decode_ahead(chunk.slot, task, runs);
  } catch (const std::bad_alloc&) {
    // Nothing has begun.
  }
  if (!ahead) start_read(chunk.slot, files_, std::move(parts));
}

/* The slot's chunk; the lock is held. */
ChunkTask QueryExecution::task_of(uint32_t index) {
  Slot& slot = slots_[index];
  uint8_t* base = slot_base(index);
  ChunkTask task{};
  task.sequence = slot.sequence;
  task.kind = slot.kind;
  task.data = base;
  task.npages = slot.npages;
  task.layout = layouts_.find(slot.layout);
  task.ids = reinterpret_cast<uint32_t*>(base + ready_.ids_offset);
  task.ids_capacity = ready_.slot_pages * TB_MAX_TUPLES_PER_PAGE;
  return task;
}

/* Has the device read the runs, if it will and the operating system has them in
 * memory; else readers do, which may wait for a drive. Not where the backend, or
 * its feeders, bring some of the pages: they may still be at it. */
bool QueryExecution::decode_ahead(uint32_t slot, const ChunkTask& task, const std::vector<TbRun>& runs) {
  uint64_t pages = 0;
  for (const TbRun& run : runs) pages += run.count;
  if (pages != task.npages) return false;
  struct Work {
    std::shared_ptr<const RelationFiles> files;
    std::vector<TbRun> runs;
    uint64_t us = 0;
  };
  auto work = std::make_shared<Work>(Work{files_, runs});
  auto read = [this, work](uint32_t first, uint32_t count, uint8_t* pages) {
    const auto start = Clock::now();
    const CachedRead read = read_cached(*work->files, work->runs, first, count, verify_checksums_, pages);
    work->us += us_since(start);
    return pages_read(read);
  };
  return device_query_->decode_ahead(task, read, [this, work, slot](PagesRead read, std::shared_ptr<DecodedPages> decoded) {
    if (read == PagesRead::kNotCached) {
      start_read(slot, work->files, split_runs(work->runs, kPagesPerRead));
      return;
    }
    uint64_t bytes = 0;
    for (const TbRun& run : work->runs) bytes += uint64_t{run.count} * TB_PAGE_SIZE;
    {
      std::lock_guard lock(mutex_);
      slots_[slot].decoded = std::move(decoded);
      slots_[slot].parts_unread = 1;
    }
    part_read(slot, read == PagesRead::kDone, bytes, work->us);
  });
}

void QueryExecution::start_read(uint32_t slot, const std::shared_ptr<const RelationFiles>& from,
                                std::vector<std::vector<TbRun>> parts) {
  {
    std::lock_guard lock(mutex_);
    slots_[slot].drives = true;
    at_drives_++;
    if (!failed_) sink_.post_waiting();  // for threads, not for a drive
  }
  for (std::vector<TbRun>& part : parts) {
    try {
      engine_.readers.post([this, slot, files = from, runs = std::move(part)](unsigned) {
        const auto start = Clock::now();
        uint64_t bytes = 0;
        for (const TbRun& run : runs) bytes += uint64_t{run.count} * TB_PAGE_SIZE;
        bool ok;
        {
          const Span span(profile_.get(), TB_SPAN_READ, slots_[slot].sequence);
          ok = read_runs(*files, runs, verify_checksums_, slot_base(slot));
        }
        // The query, and its profile, may be gone as soon as the last part is told of.
        part_read(slot, ok, bytes, us_since(start));
      });
    } catch (const std::bad_alloc&) {
      part_read(slot, false, 0, 0);
    }
  }
}

/* The chunk has been read when all its parts have been tried: the backend may
 * write to the slot then. */
void QueryExecution::part_read(uint32_t slot_index, bool ok, uint64_t bytes, uint64_t us) {
  std::lock_guard lock(mutex_);
  Slot& slot = slots_[slot_index];
  totals_.read_us += us;
  if (ok)
    totals_.bytes_read += bytes;
  else
    slot.read_failed = true;
  if (--slot.parts_unread > 0) return;
  if (std::exchange(slot.drives, false)) at_drives_--;
  trace_slot(slot_index, TB_SPAN_SLOT_TO_BE_READ);
  slot.state = SlotState::kHeld;
  const TbReadOutcome outcome = slot.read_failed                            ? TB_READ_FAILED
                                : slot.decoded && !slot.decoded->in_slot ? TB_READ_DECODED
                                                                         : TB_READ_DONE;
  if (--reading_ == 0) reads_finished_.notify_all();
  slot.ahead = slot.decoded != nullptr;
  if (!failed_) tell(slot, TB_MSG_CHUNK_READ, bytes_of(TbChunkRead{slot_index, outcome}));
}

/* A state of the slot begins, and the one that the span is named for ends; the lock is
 * held. */
void QueryExecution::trace_slot(uint32_t index, TbSpanKind ended) {
  if (!profile_ || !profile_->traced()) return;
  Slot& slot = slots_[index];
  const uint64_t now = monotonic_ns();
  try {
    if (ended != TB_SPAN_KIND_COUNT)
      profile_->add(ended, slot.sequence, slot.since_ns, now, profile_->track("slot " + std::to_string(index)));
  } catch (const std::bad_alloc&) {
    // The trace lacks it.
  }
  slot.since_ns = now;
}

/* News of the slot's chunk; the lock is held. Where the device reads the chunks itself,
 * and has enough to do, one wake-up of the backend serves several such: what is still
 * in its hands will bring them along. What waits for other queries will not soon. Drives
 * want all that the backend can ask for. */
void QueryExecution::tell(const Slot& slot, TbMessageType type, std::span<const uint8_t> payload) {
  if (slot.ahead && at_drives_ == 0 && reading_ + running_ > busy_ + device_query_->waiting())
    sink_.post_later(type, payload);
  else
    sink_.post(type, payload, -1);
}

void QueryExecution::chunk_release(const TbChunkRelease& release) {
  ChunkTask task{};
  {
    std::lock_guard lock(mutex_);
    if (failed_) return;
    Slot& slot = slot_in(release.slot, SlotState::kHeld);
    if (slot.kind == TB_CHUNK_COLUMNS)
      check_columns_chunk(*program_, {slot_base(release.slot), ready_.ids_offset},
                          ready_.slot_pages * TB_MAX_TUPLES_PER_PAGE);
    task = task_of(release.slot);
    if (release.rewritten == 0) task.decoded = slot.decoded;
    slot.decoded.reset();
    trace_slot(release.slot, TB_SPAN_SLOT_HELD);
    slot.state = SlotState::kRunning;
    running_++;
  }
  device_query_->submit(task, [this, slot = release.slot](const ChunkOutcome& outcome, std::exception_ptr error) {
    chunk_done(slot, outcome, error);
  });
}

void QueryExecution::chunk_done(uint32_t slot, const ChunkOutcome& outcome, std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  trace_slot(slot, TB_SPAN_SLOT_TO_BE_RUN);
  slots_[slot].state = SlotState::kBackend;
  running_--;
  if (failed_) return;
  if (error) {
    fail_locked(make_failure(error));
    return;
  }
  if (outcome.errors == 0) add_to_totals(outcome);
  TbChunkDone done{};
  done.slot = slot;
  done.verdict = outcome.errors;
  done.nrows = outcome.errors ? 0 : outcome.nrows;
  done.ndeferred = outcome.errors ? 0 : outcome.ndeferred;
  done.rows_in = outcome.rows_in;
  tell(slots_[slot], TB_MSG_CHUNK_DONE, bytes_of(done));
  if (outcome.errors != 0 && program_->sink() != TB_SINK_ROWS)
    fail_locked(verdict_failure(outcome.errors));
  if (input_ended_ && running_ == 0) sink_.wake();
}

void QueryExecution::add_to_totals(const ChunkOutcome& outcome) {
  totals_.rows_in += outcome.rows_in;
  totals_.rows_passed += outcome.rows_passed;
  for (size_t i = 0; i < TB_MAX_JOINS; i++) totals_.join_rows[i] += outcome.join_rows[i];
}

/* All that came before is done: the next rows that FULL joins have not matched. False
 * if there are none. */
bool QueryExecution::submit_unmatched() {
  if (!unmatched_) return false;
  std::vector<ChunkTask> tasks;
  {
    std::lock_guard lock(mutex_);
    tasks = unmatched_->next(&next_sequence_);
    running_ += static_cast<uint32_t>(tasks.size());
  }
  for (const ChunkTask& task : tasks)
    device_query_->submit(task, [this](const ChunkOutcome& outcome, std::exception_ptr error) {
      unmatched_done(outcome, error);
    });
  return !tasks.empty();
}

void QueryExecution::unmatched_done(const ChunkOutcome& outcome, std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  running_--;
  if (failed_) return;
  if (error)
    fail_locked(make_failure(error));
  else if (outcome.errors != 0)
    fail_locked(verdict_failure(outcome.errors));
  else
    add_to_totals(outcome);
  if (running_ == 0) sink_.wake();
}

void QueryExecution::input_end() {
  std::lock_guard lock(mutex_);
  if (failed_) return;
  if (input_ended_) throw ProtocolError("INPUT_END twice");
  for (const Slot& slot : slots_)
    if (slot.state != SlotState::kBackend && slot.state != SlotState::kRunning)
      throw ProtocolError("INPUT_END with a chunk that was not released");
  input_ended_ = true;
}

void QueryExecution::slot_free(const TbSlotFree& message) {
  std::lock_guard lock(mutex_);
  if (failed_) return;
  slot_in(message.slot, SlotState::kOutput).state = SlotState::kOurs;
}

void QueryExecution::advance() {
  {
    std::lock_guard lock(mutex_);
    if (failed_ || done_ || !input_ended_ || running_ > 0) return;
    if (!finished_)
      for (Slot& slot : slots_) slot.state = SlotState::kOurs;
  }
  try {
    if (!finished_) {
      if (submit_unmatched()) return;
      finish();
    }
    send_rows();
  } catch (...) {
    std::lock_guard lock(mutex_);
    fail_locked(make_failure(std::current_exception()));
    return;
  }
  const bool free = std::all_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.state == SlotState::kOurs; });
  // The segment is another query's after QUERY_DONE, so all of it must be read.
  if (next_row_ == rows_out_ && free) send_done();
}

void QueryExecution::finish() {
  const auto start = Clock::now();
  totals_.groups = device_query_->finish();
  if (plan_) apply_plan();
  if (output_) rows_out_ = totals_.groups;
  if (program_->sink() == TB_SINK_BUILD) keep_table();
  totals_.finish_us += us_since(start);
  finished_ = true;
}

/* The rows sent are those that the plan leaves. */
void QueryExecution::apply_plan() {
  const Span span(profile_.get(), TB_SPAN_SORT);
  const auto start = Clock::now();
  stage_.emplace(*plan_, *device_query_, engine_.workers, cancelled_);
  totals_.rows_sorted = totals_.groups;
  totals_.groups = stage_->run(totals_.groups);
  totals_.sort_us = us_since(start);
}

/* From here on the table is the connection's, with its part of the grant. */
void QueryExecution::keep_table() {
  std::shared_ptr<const JoinTable> table = device_query_->take_table();
  if (!table) throw DeviceError(TB_FALLBACK_COMPILE, "the device has built no table");
  totals_.table_bytes = table->raw()->total_size;
  totals_.table_kind = table->raw()->kind;
  totals_.table_chained = table->raw()->next != 0;
  for (size_t key = 0; key < table->bounds().size(); key++) {
    const KeyBounds& bounds = table->bounds()[key];
    if (!bounds.empty()) totals_.key_bounds[key] = {bounds.min, bounds.max, 1};
  }
  tables_.keep(table_number_, table, grant_.split(table->charged_bytes()));
}

/* Nothing is in flight any more: slots are the session's thread's alone. */
void QueryExecution::send_rows() {
  const auto start = Clock::now();
  const ResultOutput::Fetch fetch = [this](uint64_t first, uint64_t count) {
    return stage_ ? stage_->fetch(first, count) : device_query_->fetch(first, count);
  };
  for (uint32_t i = 0; i < slots_.size() && next_row_ < rows_out_; i++) {
    if (slots_[i].state != SlotState::kOurs) continue;
    const Span span(profile_.get(), TB_SPAN_WRITE_RESULT);
    std::vector<uint8_t> payload =
        output_->write(fetch, next_row_, rows_out_ - next_row_, slot_base(i), ready_.ids_offset);
    TbGroups header;
    memcpy(&header, payload.data(), sizeof header);
    header.slot = i;
    memcpy(payload.data(), &header, sizeof header);
    next_row_ += header.nrows;
    slots_[i].state = SlotState::kOutput;
    sink_.post(TB_MSG_GROUPS, payload, -1);
  }
  totals_.finish_us += us_since(start);
}

void QueryExecution::send_done() {
  const DeviceQueryStats stats = device_query_->stats();
  totals_.bytes_to_device = stats.bytes_to_device;
  totals_.bytes_from_device = stats.bytes_from_device;
  totals_.transfer_us = stats.transfer_us;
  totals_.decode_us = stats.decode_us;
  totals_.compute_us = stats.compute_us;
  totals_.table_grows = stats.table_grows;
  if (profile_) {
    const auto phases = profile_->phases();
    std::copy(phases.begin(), phases.end(), totals_.phase_ns);
    for (const std::vector<uint8_t>& payload : profile_->take_trace()) sink_.post(TB_MSG_TRACE, payload, -1);
  }
  done_ = true;
  sink_.post(TB_MSG_QUERY_DONE, bytes_of(totals_), -1);
}

void QueryExecution::fail_locked(const TbFailure& failure) {
  if (failed_) return;
  failed_ = true;
  sink_.post(TB_MSG_FAILED, bytes_of(failure), -1);
}

}  // namespace turbine
