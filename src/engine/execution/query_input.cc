/*
 * query_input.cc - see query_input.h.
 *
 * Owns a query's sources, and the states of its slots while there is input. Called by query_execution.cc for messages
 * of the backend, by sources' threads, and by device threads when a task has ended. It must never hold its mutex while
 * a source or a device may report at once.
 */
#include "engine/execution/query_input.h"

#include <utility>

#include "engine/wire/failure.h"
#include "engine/wire/message_bytes.h"
#include "engine/wire/protocol_error.h"

namespace turbine {
namespace {

/* Fails a query whose rows do not go back one by one, for a chunk's verdict. */
TbFailure verdict_failure(uint32_t verdict) {
  return make_failure(verdict_reason(verdict), verdict, "a row's values need PostgreSQL");
}

StoragePath storage_path(const TbQuery& query) {
  if (query.flags & TB_QUERY_PAST_CACHE) return StoragePath::kDirect;
  return query.flags & TB_QUERY_BY_PAGE_CACHE ? StoragePath::kPageCache : StoragePath::kAuto;
}

}  // namespace

QueryInput::QueryInput(const Query& query, RelationFiles files, const TbQuery& request)
    : engine_(query.engine),
      program_(query.program),
      table_(query.table),
      device_(query.device),
      report_(query.report),
      profile_(query.profile),
      path_(choose_read_path(storage_path(request), request.direct_share, request.nblocks * TB_PAGE_SIZE,
                             engine_.memory)),
      segments_(engine_.column_store, program_, query.params, query.probed),
      heap_(*program_, segments_, std::move(files),
            {engine_.storage, engine_.readers, path_, (request.flags & TB_QUERY_CHECKSUMS) != 0}, profile_),
      columns_(*program_),
      probed_(query.probed),
      sources_{&segments_, &heap_, &columns_} {
  const FileStorage storage{engine_.storage, storage_path(request), request.direct_share,
                            request.nblocks * TB_PAGE_SIZE, engine_.memory};
  const PartNeeds needs{engine_.column_store, *program_, segments_, engine_.workers, profile_, storage};
  for (const auto& [kind, make] : part_kinds()) sources_.push_back((parts_[kind] = make(needs)).get());
}

void QueryInput::begin(const ZoneOrder* order) {
  const TbStorageMethod method = engine_.storage.uses_ring() ? TB_STORAGE_IO_URING : TB_STORAGE_THREADS;
  report_.totals.change([method](TbQueryDone& totals) { totals.storage_method = method; });
  if (order) segments_.visit_by(*order);
  segments_.serve_lists_by([this](const auto& list) { return table_.find_by_list(list) && use_kept_table(); });
  if (program_->full_joins_end() > 0) {
    unmatched_.emplace(*program_, probed_, device_.slots().max_rows());
    sources_.push_back(&*unmatched_);
  }
  slots_.open(device_.slots(), device_.slot_memory().base(), profile_);
  for (Source* source : sources_) source->begin(*this);
}

void QueryInput::stream_to(RowStream& stream) {
  stream_ = &stream;
  stream.tell_of_room([this] {
    for (Source* source : sources_) source->resume();
  });
}

ChunkSource& QueryInput::source_of(uint32_t kind) {
  switch (kind) {
    case TB_CHUNK_PAGES: return heap_;
    case TB_CHUNK_COLUMNS: return columns_;
    case TB_CHUNK_SEGMENTS: return segments_;
    default: throw ProtocolError("unknown kind of chunk");
  }
}

void QueryInput::check_open(const char* message) {
  std::lock_guard lock(mutex_);
  if (ended_) throw ProtocolError(std::string(message) + " after the input's end");
}

void QueryInput::fail(std::exception_ptr error) { report_.fail(make_failure(error)); }

void QueryInput::layout(const LayoutRequest& request, const IsCancelled& cancelled) {
  if (report_.failed()) return;
  check_open("LAYOUT");
  try {
    heap_.layouts().add(*program_, request, device_.layout_code(), cancelled);
  } catch (const DeviceError&) {
    fail(std::current_exception());
  }
}

/* It is read and decoded beside what runs. */
void QueryInput::part(const PartRequest& request) {
  if (report_.failed()) return;
  check_open("PART");
  const auto source = parts_.find(request.kind);
  if (source == parts_.end()) throw ProtocolError("PART of an unknown kind");
  table_.is_not_kept();
  try {
    source->second->add(request.bytes, heap_.files().fd(0));
  } catch (const DeviceError&) {
    fail(std::current_exception());
  }
}

/* Of the table that was found: what its build would count. */
bool QueryInput::use_kept_table() {
  report_.totals.change([this](TbQueryDone& totals) {
    totals.rows_in = table_.found()->rows_in;
    totals.rows_passed = table_.found()->rows_passed;
    totals.table_kept = 1;
  });
  return true;
}

/* The same table of the same source was built before: as if all blocks were taken. */
bool QueryInput::take_kept_table(const SegmentsRequest& request) {
  const KeptJoinTable* kept = table_.find(request, segments_.snapshot());
  if (!kept) return false;
  TbSegmentsTaken head{};
  head.part = request.segments.part;
  head.flags = TB_SEGMENTS_TAKEN_ALL;
  head.blocks = request.segments.nblocks;
  head.rows = kept->rows_in;
  use_kept_table();
  {
    std::lock_guard lock(mutex_);
    ended_ = request.segments.flags & TB_SEGMENTS_ENDS;
  }
  report_.post(TB_MSG_SEGMENTS_TAKEN, bytes_of(head));
  return true;
}

void QueryInput::snapshot(const SnapshotRequest& request) {
  if (report_.failed()) return;
  segments_.see_by(request);
}

/* What the store has runs at once, beside the blocks that the backend sends. */
void QueryInput::segments(const SegmentsRequest& request) {
  if (report_.failed()) return;
  {
    std::lock_guard lock(mutex_);
    if (ended_ || chunks_began_) throw ProtocolError("SEGMENTS after CHUNK");
  }
  if (take_kept_table(request)) return;
  const SegmentSource::Taken taken = request.segments.flags & TB_SEGMENTS_CLEAN
                                         ? segments_.take_unchanged(request, heap_.files(), engine_.mapped_files,
                                                                    engine_.readers)
                                         : segments_.take(request, heap_.layouts());
  if (!table_.found()) table_.is_of_list(segments_.list_of(request.segments.part));
  const bool all = taken.blocks == request.segments.nblocks;
  if (all && request.segments.flags & TB_SEGMENTS_ENDS) {
    std::lock_guard lock(mutex_);
    ended_ = true;
  }
  report_.post(TB_MSG_SEGMENTS_TAKEN, taken.reply);
}

/* Memory that reads past the page cache go to is pinned for them once, and stays so in its pool. */
void QueryInput::prepare_slots(bool for_reads) {
  SlotMemory& memory = device_.slot_memory();
  memory.prepare_for_chunks();
  if (for_reads && path_ != ReadPath::kPageCache)
    memory.prepare_for_reads([this](uint8_t* base, uint64_t size) { return engine_.storage.pin(base, size); });
}

void QueryInput::chunk(const ChunkRequest& chunk) {
  if (chunk.kind != TB_CHUNK_SEGMENTS) prepare_slots(!chunk.runs.empty());
  std::unique_lock lock(mutex_);
  if (report_.failed()) return;
  if (ended_) throw ProtocolError("CHUNK after INPUT_END");
  if (table_.found()) throw ProtocolError("CHUNK for a table that is there");
  table_.has_chunks();
  slots_.check_state(chunk.slot, SlotState::kBackend);
  ChunkSource& source = source_of(chunk.kind);
  source.check(chunk, slots_.shape());
  chunks_began_ = true;
  const bool fills = source.fills(chunk);
  slots_.begin(chunk, source.input(chunk, slots_.base(chunk.slot)), fills);
  if (!fills) return;
  const Task task = slots_.task(chunk.slot);
  // The source may report at once, which takes the lock.
  lock.unlock();
  source.fill(chunk, task);
}

/* The backend hears of chunks that wait for threads now: those at a drive take long. */
void QueryInput::waits_for_drive(uint32_t slot) {
  std::lock_guard lock(mutex_);
  slots_.wait_for_drive(slot);
  report_.post_waiting();
}

void QueryInput::filled(uint32_t slot, const ChunkFill& fill) {
  std::lock_guard lock(mutex_);
  report_.totals.change([&](TbQueryDone& totals) {
    totals.read_us += fill.us;
    // The backend reads a chunk that failed again.
    if (!fill.ok) return;
    totals.bytes_read += fill.drive_bytes + fill.page_cache_bytes;
    totals.drive_bytes += fill.drive_bytes;
  });
  const TbReadOutcome outcome = slots_.filled(slot, fill.ok, fill.decoded);
  if (slots_.reading() == 0) reads_finished_.notify_all();
  if (!report_.failed()) tell(slot, TB_MSG_CHUNK_READ, bytes_of(TbChunkRead{slot, outcome}));
}

/* News of the slot's chunk; the lock is held. Where the device reads the chunks itself,
 * and has enough to do, one wake-up of the backend serves several such: what is still
 * in its hands will bring them along. What waits for other queries will not soon. Drives
 * want all that the backend can ask for. */
void QueryInput::tell(uint32_t slot, TbMessageType type, std::span<const uint8_t> payload) {
  const uint32_t in_flight = slots_.reading() + running_;
  if (slots_.ahead(slot) && slots_.at_drives() == 0 && in_flight > device_.busy() + device_.query().waiting())
    report_.post_later(type, payload);
  else
    report_.post(type, payload);
}

void QueryInput::chunk_release(const TbChunkRelease& release) {
  Task task{};
  {
    std::lock_guard lock(mutex_);
    if (report_.failed()) return;
    slots_.check_state(release.slot, SlotState::kHeld);
    source_of(slots_.kind(release.slot)).check_content(slots_.base(release.slot), slots_.shape());
    task = slots_.submit(release.slot, release.rewritten == 0);
    running_++;
  }
  device_.submit(task, [this, slot = release.slot](const TaskOutcome& outcome, std::exception_ptr error) {
    chunk_done(slot, outcome, error);
  });
}

void QueryInput::chunk_done(uint32_t slot, const TaskOutcome& outcome, std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  slots_.done(slot);
  running_--;
  if (report_.failed()) return;
  if (error) return fail(error);
  if (outcome.errors == 0) add_to_totals(outcome);
  TbChunkDone done{};
  done.slot = slot;
  done.verdict = outcome.errors;
  done.nrows = outcome.errors ? 0 : outcome.nrows;
  done.ndeferred = outcome.errors ? 0 : outcome.ndeferred;
  done.rows_in = outcome.rows_in;
  tell(slot, TB_MSG_CHUNK_DONE, bytes_of(done));
  if (outcome.errors != 0 && program_->sink() != TB_SINK_ROWS) report_.fail(verdict_failure(outcome.errors));
  if (ended_ && running_ == 0) report_.wake();
}

void QueryInput::add_to_totals(const TaskOutcome& outcome) {
  report_.totals.change([&](TbQueryDone& totals) {
    totals.rows_in += outcome.rows_in;
    totals.rows_passed += outcome.rows_passed;
    totals.cached_bytes += outcome.cached_bytes;
    totals.excluded_by_order += outcome.segments_excluded;
    totals.blocks_excluded_by_order += outcome.blocks_excluded;
    for (size_t i = 0; i < TB_MAX_JOINS; i++) {
      totals.join_rows[i] += outcome.join_rows[i];
      totals.join_candidates[i] += outcome.join_candidates[i];
    }
  });
}

void QueryInput::run(std::vector<Task> tasks) {
  {
    std::lock_guard lock(mutex_);
    running_ += static_cast<uint32_t>(tasks.size());
  }
  for (const Task& task : tasks)
    device_.query().submit(task,
                           [this](const TaskOutcome& outcome, std::exception_ptr error) { task_done(outcome, error); });
}

void QueryInput::task_done(const TaskOutcome& outcome, std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  running_--;
  if (report_.failed()) return;
  if (error)
    fail(error);
  else if (outcome.errors != 0)
    report_.fail(verdict_failure(outcome.errors));
  else
    add_to_totals(outcome);
  if (running_ == 0) report_.wake();
}

void QueryInput::pieces_wait(uint32_t count) {
  std::lock_guard lock(mutex_);
  running_ += count;
}

void QueryInput::piece_done(std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  running_--;
  if (error) fail(error);
  if (running_ == 0) report_.wake();
}

void QueryInput::end() {
  std::lock_guard lock(mutex_);
  if (report_.failed()) return;
  if (ended_) throw ProtocolError("INPUT_END twice");
  if (!slots_.nothing_held()) throw ProtocolError("INPUT_END with a chunk that was not released");
  ended_ = true;
}

bool QueryInput::is_through() {
  if (taken_over_) return true;
  {
    std::lock_guard lock(mutex_);
    if (!ended_ || running_ > 0) return false;
  }
  for (Source* source : sources_)
    if (source->run_rest()) return false;
  slots_.take_over();
  taken_over_ = true;
  return true;
}

void QueryInput::stop() {
  for (Source* source : sources_) source->stop();
  std::unique_lock lock(mutex_);
  reads_finished_.wait(lock, [this] { return slots_.reading() == 0; });
}

}  // namespace turbine
