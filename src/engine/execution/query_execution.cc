/*
 * query_execution.cc - one query of one connection, from QUERY to QUERY_DONE.
 *
 * Owns all that the query holds; see the header for threads and locks. Called by the session
 * for each message of its query, and by device and reader threads when something has finished.
 * No message may be posted once the query has failed or is going away.
 */
#include "engine/execution/query_execution.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/device/query_fault.h"
#include "engine/execution/device_choice.h"
#include "engine/execution/probed_join_tables.h"
#include "engine/profile/stopwatch.h"
#include "engine/result/window/device_window_pass.h"
#include "engine/wire/failure.h"
#include "engine/wire/message_bytes.h"

namespace turbine {
namespace {

/* For a result plan: enough for the first rows of an order; and what sorting takes
 * of a row besides. */
constexpr uint64_t kPlanMemory = 1 << 20;
constexpr double kSortBytesPerRow = 48;

/* Fails a query whose rows do not go back one by one, for a chunk's verdict. */
TbFailure verdict_failure(uint32_t verdict) {
  return make_failure(verdict_reason(verdict), verdict, "a row's values need PostgreSQL");
}

/* Does the query's state on the device grow with its input? */
bool grows(const Program& program) {
  if (program.grouped() || program.sink() == TB_SINK_PROJECT || program.sink() == TB_SINK_BUILD) return true;
  return std::any_of(program.aggs().begin(), program.aggs().end(),
                     [](const TbAgg& agg) { return tb_type_is_text(tb_agg_state_type(&agg)); });
}

}  // namespace

QueryExecution::QueryExecution(Engine& engine, MessageSink& sink, const QueryRequest& request, RelationFiles files,
                               ConnectionJoinTables& tables, uint64_t* last_slot_memory, const IsCancelled& cancelled)
    : engine_(engine), sink_(sink), tables_(tables), cancelled_(cancelled) {
  try {
    program_ = std::make_shared<const Program>(Program::parse(request.program));
    check_params(*program_, request.params);
    if (!request.result_plan.empty()) plan_ = ResultPlan::parse(request.result_plan, *program_);
  } catch (const ProgramError& e) {
    throw ProtocolError(e.what());
  }
  take_continuation(request);
  params_ = std::make_shared<const std::string>(reinterpret_cast<const char*>(request.params.data()),
                                                request.params.size());
  if (request.query.flags & (TB_QUERY_PROFILE | TB_QUERY_TRACE))
    profile_ = std::make_unique<QueryProfile>((request.query.flags & TB_QUERY_TRACE) != 0);
  heap_.emplace(*program_, std::move(files), (request.query.flags & TB_QUERY_CHECKSUMS) != 0, engine_.readers,
                profile_.get());
  columns_.emplace(*program_);
  check_table_number(request.query);
  table_number_ = request.query.join_table;
  unread_columns_ = request.query.unread_columns;
  const JoinTables probed = probed_join_tables(*program_, tables_);
  segments_.emplace(engine_.column_store, program_, params_, probed);
  files_.emplace(engine_.column_store, *program_, *segments_, engine_.workers, static_cast<FileObserver&>(*this),
                 profile_.get());

  const DeviceChoice choice = choose_device(engine_, *program_, request.query.device, request.query.flags);
  host_because_ = choice.host_because;
  try {
    start(request, choice.device, probed, last_slot_memory, cancelled);
  } catch (const DeviceError& e) {
    if (choice.device == TB_DEVICE_HOST || !(request.query.flags & TB_QUERY_ALLOW_HOST) || e.reason == TB_FALLBACK_NONE)
      throw;
    host_because_ = e.reason;
    start(request, TB_DEVICE_HOST, probed, last_slot_memory, cancelled);
  }
}

void QueryExecution::take_continuation(const QueryRequest& request) {
  if (request.continuation.empty()) return;
  if (program_->sink() != TB_SINK_AGGREGATE && program_->sink() != TB_SINK_PROJECT)
    throw ProtocolError("QUERY of another sink with a continuation");
  continuation_.emplace(parse_continuation(request.continuation), plan_ ? plan_->columns() : result_columns(*program_));
}

void QueryExecution::compile_continuation(const TbQuery& query, const IsCancelled& cancelled) {
  Device& host = *engine_.devices[TB_DEVICE_HOST];
  if (continuation_->compile(engine_.code, host, cancelled, {demand_.full, query.estimated_groups}))
    engine_.compile_ahead.improve(host, continuation_->program());
}

void QueryExecution::check_table_number(const TbQuery& query) const {
  if (program_->sink() != TB_SINK_BUILD) {
    if (query.join_table != 0) throw ProtocolError("QUERY that builds no table names one");
  } else if (query.join_table >= TB_MAX_JOIN_TABLES || tables_.find(query.join_table)) {
    throw ProtocolError("QUERY builds table " + std::to_string(query.join_table) + ", which is not free");
  }
}

/* What a result plan takes comes from the growth that is granted; of rows that are
 * to be sorted on the host's budget some is stated. */
Admission::Claim QueryExecution::claim(uint32_t device, const QueryNeeds& needs, const TbQuery& query) const {
  Admission::Claim claim{device, needs.device_bytes, ready_.memory_size, grows(*program_) || plan_, !tables_.empty()};
  if (!plan_ || device != TB_DEVICE_HOST) return claim;
  claim.device_bytes += kPlanMemory;
  const auto most = static_cast<double>(engine_.devices[device]->info().memory_budget / 8);
  if (!plan_->only_best() && query.estimated_groups > 0)
    claim.device_bytes += static_cast<uint64_t>(std::min(query.estimated_groups * kSortBytesPerRow, most));
  return claim;
}

/* Everything that can be refused; holds nothing if it throws. */
void QueryExecution::start(const QueryRequest& request, uint32_t index, const JoinTables& probed,
                           uint64_t* last_slot_memory, const IsCancelled& cancelled) {
  Device& device = *engine_.devices[index];
  const TbQuery& query = request.query;
  const bool prune = plan_ && plan_->only_best() && program_->sink() == TB_SINK_PROJECT;
  // What is pruned takes little, however many rows there are.
  const double estimated_rows = prune ? 0 : query.estimated_groups;
  nblocks_ = query.nblocks;
  const Device::ChunkShape shape = device.chunk_shape(nblocks_, query.flags & TB_QUERY_COPIED);
  const SlotShape slots(shape.slot_pages, std::clamp<uint32_t>(shape.nslots, 1, TB_MAX_SLOTS));
  ready_ = {};
  ready_.slot_pages = slots.pages;
  ready_.nslots = slots.nslots;
  ready_.ids_offset = slots.ids_offset;
  ready_.slot_size = slots.size;
  ready_.first_slot_offset = 0;
  ready_.memory_size = slots.total_bytes();
  busy_ = shape.busy;
  QueryNeeds needs = device.needs(*program_, estimated_rows, ready_.slot_pages, ready_.nslots);
  needs.device_bytes += device.table_bytes(*program_, probed);
  demand_ = {(query.flags & TB_QUERY_FULL_CODE) != 0, query.estimated_rows, {}};
  CodeDemand bounded = demand_;
  bounded.wait = std::chrono::milliseconds(query.compile_wait_ms);
  const CodeCache::Result code = [&] {
    const Span span(profile_.get(), TB_SPAN_COMPILE);
    return engine_.code.get(device, *program_, cancelled, bounded);
  }();
  if (code.improve) engine_.compile_ahead.improve(device, program_);
  if (continuation_) compile_continuation(query, cancelled);

  const Stopwatch queued;
  Admission::Grant grant = [&] {
    const Span span(profile_.get(), TB_SPAN_ADMISSION);
    return engine_.admission.admit(claim(index, needs, query), query.wait_ms, cancelled);
  }();
  ready_.queue_ms = static_cast<float>(queued.microseconds()) / 1000;
  const Span span(profile_.get(), TB_SPAN_START);

  std::unique_ptr<DeviceQuery> device_query;
  {
    QueryFaultScope fault(query.debug_fault);
    device_query = device.start(program_, params_, code.code, probed, estimated_rows, grant.device_bytes(),
                                profile_.get());
  }
  if (program_->full_joins_end() > 0) unmatched_.emplace(*program_, probed, slots.max_rows());
  if (prune) {
    const auto limit = std::make_shared<const RowPruning>(*plan_, *program_);
    if (limit->zone_order()) segments_->visit_by(*limit->zone_order());
    device_query->limit_rows(limit);
  }
  if (program_->sink() == TB_SINK_PROJECT && plan_ && wants_rows_on_device(*plan_)) device_query->keep_rows_on_device();
  if (continuation_)
    output_.emplace(*continuation_->program(), nullptr, unread_columns_);
  else if (program_->sink() == TB_SINK_AGGREGATE || program_->sink() == TB_SINK_PROJECT)
    output_.emplace(*program_, plan_ ? &*plan_ : nullptr, unread_columns_);
  slot_memory_ = engine_.slot_memory.take(slots.total_bytes(), device, *last_slot_memory);
  slots_.open(slots, slot_memory_->base() + ready_.first_slot_offset, profile_.get());
  cached_columns_.resize(slots.nslots);
  grant_ = std::move(grant);
  device_query_ = std::move(device_query);
  device_query_->cancelled_by(cancelled_);

  ready_.device = index;
  ready_.code_source = static_cast<uint32_t>(code.source);
  ready_.compile_ms = code.ms;
  ready_.host_because = host_because_;
  send_ready(last_slot_memory);
}

void QueryExecution::send_ready(uint64_t* last_slot_memory) {
  ready_.memory_id = slot_memory_->id();
  ready_.memory_size = slot_memory_->size();
  ready_.lease = engine_.leases.begin(*slot_memory_);
  ready_.has_fd = slot_memory_->id() != *last_slot_memory;
  *last_slot_memory = slot_memory_->id();
  if (profile_) profile_->begin();
  sink_.post(TB_MSG_READY, bytes_of(ready_), ready_.has_fd ? slot_memory_->fd() : -1);
}

QueryExecution::~QueryExecution() {
  {
    std::unique_lock lock(mutex_);
    failed_ = true;  // completions post nothing any more: the backend's next query would get it
    sink_.forget_waiting();
    lock.unlock();
    if (device_query_) device_query_->stop();  // reads may wait for a thread that joins
    if (files_) files_->stop();                // its jobs begin chunks
    lock.lock();
    reads_finished_.wait(lock, [this] { return slots_.reading() == 0; });
  }
  continuation_.reset();  // what they keep counts against the device query's budget
  result_run_.reset();
  device_query_.reset();  // waits for its chunks
  if (leave_slots_)
    engine_.leases.abandon(ready_.lease, std::move(slot_memory_));
  else
    engine_.leases.end(ready_.lease, std::move(slot_memory_));
  engine_.merger.wake();
}

ChunkSource& QueryExecution::source_of(uint32_t kind) {
  switch (kind) {
    case TB_CHUNK_PAGES: return *heap_;
    case TB_CHUNK_COLUMNS: return *columns_;
    case TB_CHUNK_SEGMENTS: return *segments_;
    default: throw ProtocolError("unknown kind of chunk");
  }
}

void QueryExecution::layout(const LayoutRequest& request, const IsCancelled& cancelled) {
  {
    std::lock_guard lock(mutex_);
    if (failed_) return;
    if (input_ended_) throw ProtocolError("LAYOUT after INPUT_END");
  }
  try {
    const LayoutCode code{engine_.code, engine_.compile_ahead, *engine_.devices[ready_.device], demand_};
    heap_->layouts().add(*program_, request, code, cancelled);
  } catch (const DeviceError&) {
    std::lock_guard lock(mutex_);
    fail_locked(make_failure(std::current_exception()));
  }
}

/* The same table of the same source was built before: as if all blocks were taken. */
bool QueryExecution::take_kept_table(const SegmentsRequest& request) {
  if (kept_) throw ProtocolError("SEGMENTS of more than was wanted");
  kept_source_.reset();
  if (!engine_.column_store.enabled()) return false;
  kept_source_ = join_table_source(*program_, *params_, request);
  if (kept_source_) kept_ = engine_.kept_tables.find(*kept_source_);
  if (!kept_) return false;
  TbSegmentsTaken head{};
  head.part = request.segments.part;
  head.flags = TB_SEGMENTS_TAKEN_ALL;
  head.blocks = request.segments.nblocks;
  head.rows = kept_->rows_in;
  std::lock_guard lock(mutex_);
  totals_.rows_in = kept_->rows_in;
  totals_.rows_passed = kept_->rows_passed;
  totals_.table_kept = 1;
  input_ended_ = request.segments.flags & TB_SEGMENTS_ENDS;
  if (!failed_) sink_.post(TB_MSG_SEGMENTS_TAKEN, bytes_of(head), -1);
  return true;
}

SegmentSource::StartTasks QueryExecution::start_tasks() {
  return [this](const std::vector<Task>& tasks) {
    {
      std::lock_guard lock(mutex_);
      running_ += static_cast<uint32_t>(tasks.size());
    }
    submit_without_slot(tasks);
  };
}

/* The file is read and decoded beside what runs. */
void QueryExecution::file_part(const FilePartRequest& request) {
  {
    std::lock_guard lock(mutex_);
    if (failed_) return;
    if (input_ended_) throw ProtocolError("FILE_PART after the input's end");
  }
  kept_source_.reset();
  FileSource::Added added;
  try {
    const Device::SegmentShape shape = engine_.devices[ready_.device]->segment_shape(*program_, nblocks_);
    added = files_->add(request, heap_->files().fd(0), shape, start_tasks());
  } catch (const DeviceError&) {
    std::lock_guard lock(mutex_);
    return fail_locked(make_failure(std::current_exception()));
  }
  std::lock_guard lock(mutex_);
  totals_.rows_in += added.rows_excluded;
  totals_.file_batches += added.batches;
  totals_.file_batches_excluded += added.batches_excluded;
  totals_.file_batches_cached += added.batches_cached;
}

void QueryExecution::pieces_wait(uint32_t count) {
  std::lock_guard lock(mutex_);
  running_ += count;
}

void QueryExecution::decoded(std::vector<Task> tasks) { start_tasks()(std::move(tasks)); }

void QueryExecution::piece_done(const BatchesRead& read, std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  totals_.bytes_read += read.bytes;
  totals_.decode_us += read.us;
  totals_.rows_in += read.rows_excluded;
  totals_.file_batches_excluded += read.excluded_by_bloom + read.excluded_by_pages;
  totals_.file_batches_excluded_by_bloom += read.excluded_by_bloom;
  totals_.file_batches_excluded_by_pages += read.excluded_by_pages;
  totals_.file_pages += read.left_out.of_pages;
  totals_.file_pages_excluded += read.left_out.pages;
  running_--;
  if (failed_) return;
  if (error) fail_locked(make_failure(error));
  if (running_ == 0) sink_.wake();
}

/* What the store has runs at once, beside the blocks that the backend sends. */
void QueryExecution::segments(const SegmentsRequest& request) {
  {
    std::lock_guard lock(mutex_);
    if (failed_) return;
    if (input_ended_ || next_sequence_ > 0) throw ProtocolError("SEGMENTS after CHUNK");
  }
  if (take_kept_table(request)) return;
  const Device::SegmentShape shape = engine_.devices[ready_.device]->segment_shape(
      *program_, std::min<uint64_t>(request.segments.nblocks, nblocks_));
  const SegmentSource::StartTasks start = start_tasks();
  const SegmentSource::Taken taken = request.segments.flags & TB_SEGMENTS_CLEAN
                                         ? segments_->take_unchanged(request, heap_->files(), engine_.mapped_files,
                                                                     shape, engine_.readers, start)
                                         : segments_->take(request, heap_->layouts(), shape, start);
  // Blocks that come otherwise may be of another state by then.
  if (taken.blocks != request.segments.nblocks) kept_source_.reset();
  std::lock_guard lock(mutex_);
  totals_.rows_in += taken.rows_excluded;
  if ((request.segments.flags & TB_SEGMENTS_ENDS) && taken.blocks == request.segments.nblocks) input_ended_ = true;
  if (!failed_) sink_.post(TB_MSG_SEGMENTS_TAKEN, taken.reply, -1);
}

void QueryExecution::chunk(const ChunkRequest& chunk) {
  if (slot_memory_ && chunk.kind != TB_CHUNK_SEGMENTS) slot_memory_->prepare_for_chunks();
  std::unique_lock lock(mutex_);
  if (failed_) return;
  if (input_ended_) throw ProtocolError("CHUNK after INPUT_END");
  if (kept_) throw ProtocolError("CHUNK for a table that is there");
  slots_.check_state(chunk.slot, SlotState::kBackend);
  ChunkSource& source = source_of(chunk.kind);
  source.check(chunk, slots_.shape());
  next_sequence_ = std::max(next_sequence_, chunk.sequence + 1);
  const bool fills = source.fills(chunk);
  cached_columns_[chunk.slot] = {chunk.kind == TB_CHUNK_PAGES ? segments_->fill_of(chunk) : nullptr,
                                 chunk.kind == TB_CHUNK_SEGMENTS ? segments_->morsel_of(chunk) : nullptr};
  slots_.begin(chunk, fills);
  if (!fills) return;
  const Task task = slots_.task(chunk.slot, source.layout(chunk.layout));
  // The source may report at once, which takes the lock.
  lock.unlock();
  source.fill(chunk, task, *device_query_, *this);
}

/* The backend hears of chunks that wait for threads now: those at a drive take long. */
void QueryExecution::waits_for_drive(uint32_t slot) {
  std::lock_guard lock(mutex_);
  slots_.wait_for_drive(slot);
  if (!failed_) sink_.post_waiting();
}

void QueryExecution::filled(uint32_t slot, const ChunkFill& fill) {
  std::lock_guard lock(mutex_);
  totals_.read_us += fill.us;
  totals_.bytes_read += fill.bytes;
  const TbReadOutcome outcome = slots_.filled(slot, fill.ok, fill.decoded);
  if (slots_.reading() == 0) reads_finished_.notify_all();
  if (!failed_) tell(slot, TB_MSG_CHUNK_READ, bytes_of(TbChunkRead{slot, outcome}));
}

/* News of the slot's chunk; the lock is held. Where the device reads the chunks itself,
 * and has enough to do, one wake-up of the backend serves several such: what is still
 * in its hands will bring them along. What waits for other queries will not soon. Drives
 * want all that the backend can ask for. */
void QueryExecution::tell(uint32_t slot, TbMessageType type, std::span<const uint8_t> payload) {
  const uint32_t in_flight = slots_.reading() + running_;
  if (slots_.ahead(slot) && slots_.at_drives() == 0 && in_flight > busy_ + device_query_->waiting())
    sink_.post_later(type, payload);
  else
    sink_.post(type, payload, -1);
}

void QueryExecution::chunk_release(const TbChunkRelease& release) {
  Task task{};
  {
    std::lock_guard lock(mutex_);
    if (failed_) return;
    slots_.check_state(release.slot, SlotState::kHeld);
    const ChunkSource& source = source_of(slots_.kind(release.slot));
    source.check_content(slots_.base(release.slot), slots_.shape());
    task = slots_.submit(release.slot, source.layout(slots_.layout(release.slot)), release.rewritten == 0);
    // Pages that the backend has replaced are not what its map page's LSN speaks of.
    CachedColumns cached = std::exchange(cached_columns_[release.slot], {});
    if (auto* pages = task.as<PagesInput>(); pages && release.rewritten == 0) pages->keep = std::move(cached.fill);
    if (cached.morsel) task.input = SegmentsInput{std::move(cached.morsel)};
    running_++;
  }
  device_query_->submit(task, [this, slot = release.slot](const TaskOutcome& outcome, std::exception_ptr error) {
    chunk_done(slot, outcome, error);
  });
}

void QueryExecution::chunk_done(uint32_t slot, const TaskOutcome& outcome, std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  slots_.done(slot);
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
  tell(slot, TB_MSG_CHUNK_DONE, bytes_of(done));
  if (outcome.errors != 0 && program_->sink() != TB_SINK_ROWS) fail_locked(verdict_failure(outcome.errors));
  if (input_ended_ && running_ == 0) sink_.wake();
}

void QueryExecution::add_to_totals(const TaskOutcome& outcome) {
  totals_.rows_in += outcome.rows_in;
  totals_.rows_passed += outcome.rows_passed;
  totals_.cached_bytes += outcome.cached_bytes;
  totals_.excluded_by_order += outcome.segments_excluded;
  totals_.blocks_excluded_by_order += outcome.blocks_excluded;
  for (size_t i = 0; i < TB_MAX_JOINS; i++) totals_.join_rows[i] += outcome.join_rows[i];
}

/* All that came before is done: the next rows that FULL joins have not matched. False
 * if there are none. */
bool QueryExecution::submit_unmatched() {
  if (!unmatched_) return false;
  std::vector<Task> tasks;
  {
    std::lock_guard lock(mutex_);
    tasks = unmatched_->next(&next_sequence_);
    running_ += static_cast<uint32_t>(tasks.size());
  }
  submit_without_slot(tasks);
  return !tasks.empty();
}

/* They are counted as running already. */
void QueryExecution::submit_without_slot(const std::vector<Task>& tasks) {
  for (const Task& task : tasks)
    device_query_->submit(
        task, [this](const TaskOutcome& outcome, std::exception_ptr error) { done_without_slot(outcome, error); });
}

void QueryExecution::done_without_slot(const TaskOutcome& outcome, std::exception_ptr error) {
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
  if (!slots_.nothing_held()) throw ProtocolError("INPUT_END with a chunk that was not released");
  input_ended_ = true;
}

void QueryExecution::slot_free(const TbSlotFree& message) {
  std::lock_guard lock(mutex_);
  if (failed_) return;
  slots_.check_state(message.slot, SlotState::kOutput);
  slots_.end_output(message.slot);
}

void QueryExecution::advance() {
  {
    std::lock_guard lock(mutex_);
    if (failed_ || done_ || !input_ended_ || running_ > 0) return;
    if (!finished_) slots_.take_over();
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
  // The slot memory is another query's after QUERY_DONE, so all of it must be read.
  if (next_row_ == rows_out_ && slots_.all_ours()) send_done();
}

void QueryExecution::finish() {
  const Stopwatch stopwatch;
  totals_.groups = kept_ ? kept_->table->rows() : device_query_->finish();
  if (plan_) apply_plan();
  if (continuation_) run_continuation();
  if (output_) rows_out_ = totals_.groups;
  if (program_->sink() == TB_SINK_BUILD) keep_table();
  totals_.finish_us += stopwatch.microseconds();
  finished_ = true;
}

/* The rows sent are those that the plan leaves. */
void QueryExecution::apply_plan() {
  const Span span(profile_.get(), TB_SPAN_SORT);
  const Stopwatch stopwatch;
  result_run_.emplace(*plan_, *device_query_, continuation_ ? continuation_->columns_unread() : unread_columns_,
                      continuation_ && continuation_->folds_rows(), engine_.workers, cancelled_);
  totals_.rows_sorted = totals_.groups;
  totals_.groups = result_run_->run(totals_.groups);
  totals_.rows_sorted_on_gpu = result_run_->sort_place().rows_on_device;
  totals_.windows_on_gpu = result_run_->sort_place().windows_on_device;
  totals_.sort_us = stopwatch.microseconds();
}

ResultBatch QueryExecution::fetch(uint64_t first, uint64_t count) {
  return result_run_ ? result_run_->fetch(first, count) : device_query_->fetch(first, count);
}

/* The rows sent are those of the second program. */
void QueryExecution::run_continuation() {
  const Span span(profile_.get(), TB_SPAN_SORT);
  const Stopwatch stopwatch;
  ResultOutput rows(*program_, plan_ ? &*plan_ : nullptr, continuation_->columns_unread());
  ParallelWork work(engine_.workers, cancelled_);
  totals_.rows_continued = totals_.groups;
  totals_.groups = continuation_->run({[this](uint64_t first, uint64_t count) { return fetch(first, count); }, &rows,
                                       totals_.groups, device_query_->host_memory()},
                                      *engine_.devices[TB_DEVICE_HOST], work, profile_.get());
  totals_.continuation_us = stopwatch.microseconds();
}

/* From here on the table is the connection's, with its part of the grant. A GPU's query has been granted nothing
 * of the host's memory, where its table lies as well. */
void QueryExecution::keep_table() {
  std::shared_ptr<const JoinTable> table = kept_ ? kept_->table : device_query_->take_table();
  if (!table) throw DeviceError(TB_FALLBACK_COMPILE, "the device has built no table");
  totals_.table_bytes = table->raw()->total_size;
  totals_.table_kind = table->raw()->kind;
  totals_.table_chained = table->raw()->next != 0;
  for (size_t key = 0; key < table->bounds().size(); key++) {
    const KeyBounds& bounds = table->bounds()[key];
    if (!bounds.empty()) totals_.key_bounds[key] = {bounds.min, bounds.max, 1};
  }
  // A kept table's memory is the cache's.
  const uint64_t bytes = kept_ ? 0 : table->charged_bytes();
  tables_.keep(
      table_number_, table,
      ready_.device == TB_DEVICE_HOST ? grant_.split(bytes) : engine_.admission.reserve(TB_DEVICE_HOST, bytes));
  if (kept_source_ && !kept_) engine_.kept_tables.add(*kept_source_, {table, totals_.rows_in, totals_.rows_passed});
}

/* Nothing is in flight any more: slots are the session's thread's alone. */
void QueryExecution::send_rows() {
  const Stopwatch stopwatch;
  const ResultOutput::Fetch fetch = [this](uint64_t first, uint64_t count) {
    return continuation_ ? continuation_->fetch(first, count) : this->fetch(first, count);
  };
  for (uint32_t i = 0; i < slots_.size() && next_row_ < rows_out_; i++) {
    if (slots_.state(i) != SlotState::kOurs) continue;
    const Span span(profile_.get(), TB_SPAN_WRITE_RESULT);
    std::vector<uint8_t> payload = output_->write(fetch, next_row_, rows_out_ - next_row_, slots_.base(i),
                                                  slots_.shape().ids_offset);
    TbResultBatch header;
    memcpy(&header, payload.data(), sizeof header);
    header.slot = i;
    memcpy(payload.data(), &header, sizeof header);
    next_row_ += header.nrows;
    slots_.begin_output(i);
    sink_.post(TB_MSG_RESULT_BATCH, payload, -1);
  }
  totals_.finish_us += stopwatch.microseconds();
}

void QueryExecution::send_done() {
  const DeviceQueryStats stats = device_query_->stats();
  totals_.bytes_to_device = stats.bytes_to_device;
  totals_.bytes_from_device = stats.bytes_from_device;
  totals_.transfer_us = stats.transfer_us;
  totals_.decode_us += stats.decode_us;
  totals_.compute_us = stats.compute_us;
  totals_.table_grows = stats.table_grows;
  if (totals_.cached_bytes > 0) totals_.cached_columns = static_cast<uint32_t>(program_->source_columns());
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
