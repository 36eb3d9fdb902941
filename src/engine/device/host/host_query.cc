/*
 * host_query.cc - one query on the host device.
 *
 * Owns a sink, the parameters and what each worker needs for itself. Called by execution/ from the
 * query's thread; chunks run on the pool's. Nothing that a chunk throws may leave its job: it
 * becomes the chunk's outcome.
 */
#include "engine/device/host/host_query.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/device/excluded_segments.h"
#include "engine/memory/alignment.h"
#include "engine/store/column_codes.h"
#include "rt/heap_page.h"
#include "turbine/mutant.h"

namespace turbine {
namespace {

/* Pages decoded at once: 512 kB, so that pages and columns stay in L2. */
constexpr uint32_t kBatchPages = TB_SEGMENT_BLOCKS;  // so that a batch may become a segment
constexpr uint32_t kBatchRows = kBatchPages * TB_MAX_TUPLES_PER_PAGE;

/* What a batch's arrays may take to be decoded ahead, if all pages are full of the
 * smallest rows: more are rows so wide that pages and columns leave L2 anyway. */
constexpr uint64_t kMostAheadBytes = 2 << 20;

/* Generated code reads the flag as a plain word. */
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);

/* How many rows of a decoded batch count: all. The mutant loses one in 100,000. */
uint32_t counted_rows(uint32_t nrows) {
  if (!TB_MUTANT(row_dropped)) return nrows;
  static std::atomic<uint64_t> seen{0};
  const uint64_t before = seen.fetch_add(nrows);
  return before / 100000 != (before + nrows) / 100000 ? nrows - 1 : nrows;
}

/* The line pointers that have a tuple, from 1. The page has been decoded, so its header is possible. */
void append_lines(const uint8_t* page, std::vector<uint16_t>& lines) {
  uint16_t lower;
  memcpy(&lower, page + kPageLowerOffset, sizeof lower);
  for (uint16_t at = kPageHeader, line = 1; at + kLinePointer <= lower; at += kLinePointer, line++) {
    uint32_t pointer;
    memcpy(&pointer, page + at, sizeof pointer);
    if ((pointer >> kFlagsShift & kFlagsMask) == kNormal) lines.push_back(line);
  }
}

/* What the header of a heap page says: its LSN, and whether it is all-visible. Both may
 * change beside a direct read; the map tells whether the rows have. Of a copy, what the backend says of its rows. */
DecodedPage page_header(const uint8_t* page) {
  constexpr uint16_t kAllVisible = 0x0004;
  TbFreshHeader header;
  memcpy(&header, page, sizeof header);
  return {.lsn = header.lsn << 32 | header.lsn >> 32,  // PostgreSQL's PageXLogRecPtr: the upper half first
          .row_end = 0,
          .all_visible = (header.flags & kAllVisible) != 0,
          .whole = true,
          .fresh = (header.flags & TB_PAGE_IS_FRESH) != 0,
          .least = uint32_t{header.least_high} << 16 | header.least_low,
          .greatest = header.greatest};
}

MemoryBudget& worker_budget() {
  static MemoryBudget unlimited(UINT64_MAX);
  return unlimited;
}

[[noreturn]] void throw_no_place() {
  throw DeviceError(TB_FALLBACK_VALUE, "rows that PostgreSQL has to send have no place in the order");
}

std::unique_ptr<HostSink> make_sink(const Program& program, uint64_t first_capacity, MemoryBudget& budget,
                                    WorkerPool& pool) {
  switch (program.sink()) {
    case TB_SINK_ROWS: return nullptr;
    case TB_SINK_AGGREGATE:
      return program.grouped() ? make_group_sink(program, first_capacity, budget, pool)
                               : make_ungrouped_sink(program, budget, pool);
    default: return make_row_sink(program, first_capacity, budget, pool);
  }
}

}  // namespace

WorkerMemory::WorkerMemory()
    : scratch_(worker_budget(), TB_SCRATCH_SIZE), pages_(worker_budget(), uint64_t{kBatchPages} * TB_PAGE_SIZE) {}

DecodedBatch& WorkerMemory::batch(uint64_t size) {
  batch_.clear();
  return batch_.add(size);
}

HostQuery::BatchLayout HostQuery::batch_layout(const Program& program) {
  BatchLayout layout{};
  uint64_t at = 64;  // so that 0 can mean none
  auto take = [&at](uint64_t size) {
    const uint64_t offset = at;
    at += host_aligned(size);
    return offset;
  };
  for (const TbColumn& column : program.columns().first(program.source_columns())) {
    const uint64_t values = take(uint64_t{kBatchRows} * tb_type_width(column.type));
    layout.columns.push_back({values, column.flags & TB_COL_NULLABLE ? take(kBatchRows) : 0});
  }
  layout.rowids = take(kBatchRows * sizeof(uint32_t));
  layout.deferred = take(kBatchRows * sizeof(uint32_t));
  layout.page_ends = take(kBatchPages * sizeof(uint32_t));
  layout.size = at;
  return layout;
}

HostQuery::HostQuery(std::shared_ptr<const Program> program, std::shared_ptr<const std::string> params,
                     std::shared_ptr<HostCode> code, JoinTables tables, uint64_t first_capacity, uint64_t budget,
                     IdleMappings& idle_memory, WorkerPool& pool, std::vector<WorkerMemory>& workers,
                     DecodeQueue& decode_queue, QueryProfile* profile)
    : program_(std::move(program)),
      params_(std::move(params)),
      code_(std::move(code)),
      tables_(std::move(tables)),
      batch_(batch_layout(*program_)),
      entry_results_(*program_, HostEntryResults::most_bytes(*program_, pool.size())),
      budget_(budget - std::min(budget, HostEntryResults::most_bytes(*program_, pool.size())), &idle_memory),
      matched_(*program_, tables_, budget_),
      pool_(pool),
      workers_(workers),
      decode_queue_(decode_queue),
      profile_(profile),
      sink_(make_sink(*program_, first_capacity, budget_, pool_)) {
  for (const auto& table : tables_) raw_tables_.push_back(table->raw());
}

/* What waits to be decoded ends now: it may wait for chunks of other queries. */
void HostQuery::stop() {
  stop_ = 1;
  decode_queue_.drop(this);
}

HostQuery::~HostQuery() {
  stop();
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return in_flight_ == 0; });
}

void HostQuery::begin_job() {
  std::lock_guard lock(mutex_);
  in_flight_++;
}

/* Under the lock to the end: the destructor may run as soon as it is free. */
void HostQuery::end_job() {
  std::lock_guard lock(mutex_);
  if (--in_flight_ == 0) idle_.notify_all();
}

void HostQuery::submit(const Task& task, Done done) {
  begin_job();
  WorkerPool::Job job = [this, task, done = std::move(done)](unsigned worker) {
    TaskOutcome outcome;
    std::exception_ptr error;
    try {
      if (stop_) throw DeviceError(TB_FALLBACK_NONE, "query was closed");
      outcome = run_task(worker, task);
    } catch (...) {
      error = std::current_exception();
    }
    done(outcome, error);
    end_job();
  };
  decode_queue_.start_overdue();
  const auto* pages = task.as<PagesInput>();
  if (pages && pages->decoded)
    pool_.post_first(std::move(job));
  else
    pool_.post(std::move(job));
}

bool HostQuery::decode_ahead(const Task& task, const ReadPages& read, const DecodedAhead& done) {
  if (!task.as<PagesInput>() || batch_.size > kMostAheadBytes) return false;
  DecodeQueue::Job job = [this, task, read, done](unsigned worker, std::shared_ptr<DecodedChunk> chunk) {
    PagesRead result = PagesRead::kFailed;
    try {
      if (!stop_)
        result = chunk ? read_and_decode(worker, task, *task.as<PagesInput>(), read, *chunk) : PagesRead::kNotCached;
    } catch (...) {
      result = PagesRead::kNotCached;  // the chunk's own job will meet it again
    }
    if (result != PagesRead::kDone) chunk.reset();
    done(result, std::move(chunk));
    end_job();
  };
  begin_job();
  bool posted = false;
  try {
    posted = decode_queue_.post(this, std::move(job));
  } catch (...) {
    end_job();
    throw;
  }
  if (!posted) end_job();
  return posted;
}

/* Row ids are the backend's to look up, and texts are views of their pages. */
bool HostQuery::wants_pages() const {
  const auto columns = program_->columns().first(program_->source_columns());
  return rows_sink() ||
         std::any_of(columns.begin(), columns.end(), [](const TbColumn& c) { return tb_type_is_text(c.type); });
}

PagesRead HostQuery::read_and_decode(unsigned worker, const Task& task, const PagesInput& input, const ReadPages& read,
                                     DecodedChunk& chunk) {
  const Decoder decoder = decoder_of(input);
  chunk.in_slot = wants_pages();
  for (uint32_t first = 0; first < input.npages; first += kBatchPages) {
    if (stop_) return PagesRead::kFailed;
    const uint32_t count = std::min(kBatchPages, input.npages - first);
    uint8_t* const own = input.pages + uint64_t{first} * TB_PAGE_SIZE;
    uint8_t* const pages = chunk.in_slot ? own : workers_[worker].pages();
    const PagesRead result = [&] {
      const Span span(profile_, TB_SPAN_READ, task.sequence);
      return read(first, count, pages);
    }();
    if (result != PagesRead::kDone) return result;
    DecodedBatch& batch = chunk.add(batch_.size);
    batch.first_page = first;
    batch.npages = count;
    decode_batch(task.sequence, decoder, input, pages, batch);
    note_pages(input, pages, batch);
    // The backend will look at the rows that are left to it.
    if (batch.ndeferred > 0 && pages != own) memcpy(own, pages, uint64_t{count} * TB_PAGE_SIZE);
  }
  return PagesRead::kDone;
}

TaskOutcome HostQuery::run_task(unsigned worker, const Task& task) {
  Progress progress{task, {}, {}};
  if (sink_) sink_->begin_chunk(worker);
  // Run what it brings.
  std::visit(EachKind{[&](const PagesInput& input) { run_pages(worker, progress, input); },
                      [&](const ColumnsInput& input) { run_columns(worker, progress, input); },
                      [&](const SegmentsInput& input) { run_segments(worker, progress, input); },
                      [&](const UnmatchedInput& input) { run_unmatched(worker, progress, input); }},
             task.input);

  TaskOutcome& outcome = progress.outcome;
  // A verdict: nothing counts.
  if (outcome.errors != 0) {
    outcome.nrows = 0;
    return outcome;
  }
  if (uint64_t{outcome.nrows} + progress.deferred.size() > task.ids_capacity) {
    outcome.errors = TB_ERR_CORRUPT;
    outcome.nrows = 0;
    return outcome;
  }
  // Deferred rows follow row ids.
  std::copy(progress.deferred.begin(), progress.deferred.end(), task.ids + outcome.nrows);
  outcome.ndeferred = static_cast<uint32_t>(progress.deferred.size());
  if (in_order_ && outcome.ndeferred > 0) throw_no_place();
  if (sink_) sink_->end_chunk(worker, task);
  return outcome;
}

/* The chunk's own layout, or the program's. */
HostQuery::Decoder HostQuery::decoder_of(const PagesInput& input) const {
  Decoder decoder{code_->entries().decode, params()};
  if (input.layout) {
    const auto* code = dynamic_cast<const HostCode*>(input.layout->code.get());
    if (!code) throw DeviceError(TB_FALLBACK_COMPILE, "code of another device");
    decoder = {code->entries().decode, reinterpret_cast<const TbParamBlock*>(input.layout->params->data())};
  }
  if (!decoder.decode) throw DeviceError(TB_FALLBACK_PROTOCOL, "pages for a program of rows");
  return decoder;
}

void HostQuery::run_pages(unsigned worker, Progress& progress, const PagesInput& input) {
  if (input.decoded) return run_decoded(worker, progress, input, static_cast<const DecodedChunk&>(*input.decoded));
  const Decoder decoder = decoder_of(input);
  DecodedBatch& batch = workers_[worker].batch(batch_.size);
  for (uint32_t first = 0; first < input.npages; first += kBatchPages) {
    if (stop_) throw DeviceError(TB_FALLBACK_NONE, "query was closed");
    batch.first_page = first;
    batch.npages = std::min(kBatchPages, input.npages - first);
    const uint8_t* pages = input.pages + uint64_t{first} * TB_PAGE_SIZE;
    decode_batch(progress.task.sequence, decoder, input, pages, batch);
    if (input.keep) {
      note_pages(input, pages, batch);
      keep_batch(input, batch);
    }
    if (!run_batch(worker, progress, input, batch)) return;
  }
}

void HostQuery::run_decoded(unsigned worker, Progress& progress, const PagesInput& input, const DecodedChunk& chunk) {
  for (const DecodedBatch& batch : chunk.batches()) {
    if (stop_) throw DeviceError(TB_FALLBACK_NONE, "query was closed");
    keep_batch(input, batch);
    if (!run_batch(worker, progress, input, batch)) return;
  }
}

/* The backend has confirmed the pages: queries to come need not decode them. */
void HostQuery::keep_batch(const PagesInput& input, const DecodedBatch& batch) const {
  if (!input.keep || batch.errors != 0) return;
  TbColumnData columns[TB_MAX_COLUMNS];
  columns_of(batch, columns);
  input.keep->add(batch.first_page, batch.pages, columns, input.pages + uint64_t{batch.first_page} * TB_PAGE_SIZE,
                  rowids_of(batch), batch.lines);
}

/* What the store asks of each page, once it is decoded. */
void HostQuery::note_pages(const PagesInput& input, const uint8_t* pages, DecodedBatch& batch) const {
  const auto* ends = reinterpret_cast<const uint32_t*>(batch.memory.data() + batch_.page_ends);
  batch.pages.clear();
  for (uint32_t i = 0; i < batch.npages; i++) {
    batch.pages.push_back(page_header(pages + uint64_t{i} * TB_PAGE_SIZE));
    batch.pages[i].row_end = ends[i];
  }
  const auto* deferred = reinterpret_cast<const uint32_t*>(batch.memory.data() + batch_.deferred);
  for (uint32_t i = 0; i < batch.ndeferred; i++) batch.pages[TB_ROWID_PAGE(deferred[i])].whole = false;
  batch.lines.clear();
  if (!input.keep || !input.keep->wants_lines()) return;
  for (uint32_t i = 0; i < batch.npages; i++) {
    append_lines(pages + uint64_t{i} * TB_PAGE_SIZE, batch.lines);
    // A page whose rows are not all decoded is not kept; the rows of others must stay where they are.
    batch.lines.resize(ends[i]);
  }
}

/* ROWS: of each row; else null. */
uint32_t* HostQuery::rowids_of(const DecodedBatch& batch) const {
  return rows_sink() ? reinterpret_cast<uint32_t*>(batch.memory.data() + batch_.rowids) : nullptr;
}

/* Where the batch's arrays are. */
void HostQuery::columns_of(const DecodedBatch& batch, TbColumnData* columns) const {
  for (size_t i = 0; i < batch_.columns.size(); i++) {
    const BatchLayout::Column& column = batch_.columns[i];
    columns[i] = {batch.memory.data() + column.values, column.valid ? batch.memory.data() + column.valid : nullptr,
                  nullptr};
  }
}

/* `pages`: of the batch, wherever they are. */
void HostQuery::decode_batch(uint64_t sequence, const Decoder& decoder, const PagesInput& input, const uint8_t* pages,
                             DecodedBatch& batch) {
  const Span span(profile_, TB_SPAN_DECODE, sequence);
  TbColumnData columns[TB_MAX_COLUMNS];
  columns_of(batch, columns);
  TbDecodeArgs decode{};
  decode.pages = pages;
  decode.npages = batch.npages;
  decode.capacity = kBatchRows;
  decode.columns = columns;
  decode.rowids = rowids_of(batch);
  decode.deferred = reinterpret_cast<uint32_t*>(batch.memory.data() + batch_.deferred);
  decode.params = decoder.params;
  if (input.blocks) decode.blocks = input.blocks->data() + batch.first_page;
  decode.page_ends = reinterpret_cast<uint32_t*>(batch.memory.data() + batch_.page_ends);
  const uint64_t start = monotonic_ns();
  decoder.decode(&decode);
  decode_ns_.fetch_add(monotonic_ns() - start, std::memory_order_relaxed);

  batch.nrows = decode.nrows;
  batch.ndeferred = decode.ndeferred;
  batch.errors = decode.errors;
  if (decode.nrows > kBatchRows || decode.ndeferred > kBatchRows) batch.errors |= TB_ERR_CORRUPT;
}

/* Returns whether to go on. */
bool HostQuery::run_batch(unsigned worker, Progress& progress, const PagesInput& input, const DecodedBatch& batch) {
  progress.outcome.errors |= batch.errors;
  if (progress.outcome.errors != 0) return false;
  progress.outcome.rows_in += batch.nrows;

  // Ids count from the batch's first page; the chunk's start from page 0.
  const uint32_t base = TB_ROWID(batch.first_page, 0);
  const auto* deferred = reinterpret_cast<const uint32_t*>(batch.memory.data() + batch_.deferred);
  for (uint32_t i = 0; i < batch.ndeferred; i++) progress.deferred.push_back(deferred[i] + base);

  TbColumnData columns[TB_MAX_COLUMNS];
  columns_of(batch, columns);
  PipelineCall call{};
  call.columns = columns;
  call.bytes = input.pages + uint64_t{batch.first_page} * TB_PAGE_SIZE;
  call.rowids = rowids_of(batch);
  call.nrows = counted_rows(batch.nrows);
  const uint32_t before = progress.outcome.nrows;
  if (!run_pipeline(worker, progress, call)) return false;
  for (uint32_t i = before; i < progress.outcome.nrows; i++) progress.task.ids[i] += base;
  return true;
}

/* Rows that the backend has made into columns: one call, ids are row numbers. */
void HostQuery::run_columns(unsigned worker, Progress& progress, const ColumnsInput& input) {
  if (in_order_) throw_no_place();
  const TbColumnsChunk* chunk = &input.chunk();
  TbColumnData columns[TB_MAX_COLUMNS];
  for (size_t i = 0; i < batch_.columns.size(); i++) {
    const auto& column = chunk->columns[i];
    columns[i].values = input.data + column.values;
    columns[i].valid = batch_.columns[i].valid ? input.data + column.valid : nullptr;
    columns[i].bytes = nullptr;
  }
  const uint32_t nrows = chunk->nrows;
  std::vector<uint32_t> numbers(rows_sink() ? nrows : 0);
  std::iota(numbers.begin(), numbers.end(), 0);
  progress.outcome.rows_in = nrows;

  PipelineCall call{};
  call.columns = columns;
  call.bytes = input.data + chunk->bytes_offset;
  call.rowids = rows_sink() ? numbers.data() : nullptr;
  call.nrows = nrows;
  run_pipeline(worker, progress, call);
}

/* Columns that earlier queries have decoded. What a limit leaves may get clear from one segment to the next. */
void HostQuery::run_segments(unsigned worker, Progress& progress, const SegmentsInput& input) {
  const SegmentMorsel& morsel = *input.morsel;
  const DecodedBatch& batch = workers_[worker].batch(batch_.size);
  SegmentColumns stored(morsel, batch_.columns.size());
  std::vector<TbEntryResults> results(entry_results_.empty() ? 0 : batch_.columns.size());
  for (const TakenSegment& taken : morsel.segments) {
    if (stop_) throw DeviceError(TB_FALLBACK_NONE, "query was closed");
    stored.advance();
    if (limit_ && limit_->excludes(*taken.segment, *morsel.columns)) {
      note_excluded(taken, progress.outcome);
      continue;
    }
    if (!run_segment(worker, progress, morsel, stored, taken, batch, results)) return;
    if (sink_) sink_->end_segment(worker, first_block(taken), last_block(taken));
  }
  // Two versions of one segment may have been taken, for different blocks.
  uint32_t* const ids = progress.task.ids;
  auto before = [](uint32_t a, uint32_t b) { return (a & ~TB_ROWID_UNDECIDED) < (b & ~TB_ROWID_UNDECIDED); };
  if (rows_sink() && !std::is_sorted(ids, ids + progress.outcome.nrows, before))
    std::sort(ids, ids + progress.outcome.nrows, before);
}

/* As many calls as there are gaps between the blocks that are taken. Returns whether to go on. */
bool HostQuery::run_segment(unsigned worker, Progress& progress, const SegmentMorsel& morsel,
                            const SegmentColumns& stored, const TakenSegment& taken, const DecodedBatch& batch,
                            std::span<TbEntryResults> results) {
  bool goes_on = true;
  each_row_range(*taken.segment, taken.blocks, [&](uint32_t first, uint32_t end) {
    if (!goes_on) return;
    TbColumnData columns[TB_MAX_COLUMNS];
    TbColumnCodes codes[TB_MAX_COLUMNS];
    decode_segment(worker, progress.task.sequence, stored, first, end, batch.memory.data(), columns, codes, results);
    progress.outcome.rows_in += end - first;
    PipelineCall call{};
    call.columns = columns;
    call.codes = codes;
    call.entry_results = results.empty() ? nullptr : results.data();
    call.first_row = first;
    call.nrows = first + counted_rows(end - first);
    if (rows_sink()) call.rowids = write_rowids(morsel, taken, first, end, batch);
    goes_on = run_pipeline(worker, progress, call);
  });
  for (size_t i = 0; i < batch_.columns.size(); i++) progress.outcome.cached_bytes += stored[i].bytes();
  if (rows_sink()) progress.outcome.cached_bytes += taken.segment->find(morsel.columns->back())->data->bytes();
  return goes_on;
}

/* Ids of rows [first, end) in the batch's array for them, by row of the segment. Nothing is deferred,
 * so line pointers are decoded to the array for that. */
const uint32_t* HostQuery::write_rowids(const SegmentMorsel& morsel, const TakenSegment& taken, uint32_t first,
                                        uint32_t end, const DecodedBatch& batch) const {
  const Segment& segment = *taken.segment;
  const StoredColumn& column = *segment.find(morsel.columns->back())->data;
  const TbColumnData data = decode_column(column, first, end, batch.memory.data() + batch_.deferred);
  const auto* lines = static_cast<const int16_t*>(data.values);
  uint32_t* const ids = rowids_of(batch);
  for (uint32_t block = 0; block < TB_SEGMENT_BLOCKS; block++) {
    const uint32_t start = segment.row_start[block];
    const uint32_t page = segment.first_block + block - morsel.first_block;
    for (uint32_t row = std::max(first, start); row < std::min(end, segment.row_start[block + 1]); row++)
      ids[row] = TB_ROWID(page, row - start + static_cast<uint32_t>(lines[row]));
  }
  return ids;
}

/* Rows [first, end) as the pipeline reads them: as codes, or decoded to the batch's arrays. Better
 * code, which may come between this and the call, calls the same columns late. */
void HostQuery::decode_segment(unsigned worker, uint64_t sequence, const SegmentColumns& stored, uint32_t first,
                               uint32_t end, uint8_t* room, TbColumnData* columns, TbColumnCodes* codes,
                               std::span<TbEntryResults> results) {
  const Span span(profile_, TB_SPAN_DECODE, sequence);
  const HostCode::Entries& code = code_->entries();
  const uint64_t start = monotonic_ns();
  for (size_t i = 0; i < batch_.columns.size(); i++) {
    const StoredColumn& column = stored[i];
    columns[i] = code.is_late(i) ? coded_column(column, &codes[i])
                                 : decode_column(column, first, end, room + batch_.columns[i].values);
    if (!results.empty()) entry_results_.find(worker, static_cast<uint32_t>(i), column, &results[i]);
  }
  decode_ns_.fetch_add(monotonic_ns() - start, std::memory_order_relaxed);
}

/* What a thread has for row ids holds the numbers of the rows. */
void HostQuery::run_unmatched(unsigned worker, Progress& progress, const UnmatchedInput& input) {
  const DecodedBatch& batch = workers_[worker].batch(batch_.size);
  uint8_t* area = batch.memory.data();
  TbColumnData columns[TB_MAX_COLUMNS];
  columns_of(batch, columns);
  const std::span<uint32_t> numbers(reinterpret_cast<uint32_t*>(area + batch_.rowids), kBatchRows);
  uint64_t next = input.first_row;
  const uint64_t end = next + input.nrows;
  while (next < end) {
    if (stop_) throw DeviceError(TB_FALLBACK_NONE, "query was closed");
    const size_t found = matched_.take_unmatched(input.join, &next, end, numbers);
    for (const BatchLayout::Column& column : batch_.columns) memset(area + column.valid, 0, found);
    PipelineCall call{};
    call.columns = columns;
    call.bytes = area;
    call.nrows = static_cast<uint32_t>(found);
    call.unmatched = numbers.data();
    call.full_join = input.join + 1;
    if (found > 0 && !run_pipeline(worker, progress, call)) return;
  }
}

/* Runs all rows of the call through the pipeline; returns whether to go on. */
bool HostQuery::run_pipeline(unsigned worker, Progress& progress, PipelineCall& call) {
  TaskOutcome& outcome = progress.outcome;
  // Fill in the arguments.
  call.params = params();
  call.tables = raw_tables_.empty() ? nullptr : raw_tables_.data();
  call.matched = matched_.arrays();
  call.scratch = workers_[worker].scratch();
  call.scratch_size = TB_SCRATCH_SIZE;
  call.make_room = make_room;
  call.stop = reinterpret_cast<const uint32_t*>(&stop_);
  call.query = this;
  call.worker = worker;
  // Where do results go?
  if (sink_) {
    sink_->attach(worker, call);
  } else {
    if (progress.task.ids_capacity - outcome.nrows < call.nrows - call.first_row) {
      outcome.errors |= TB_ERR_CORRUPT;
      return false;
    }
    call.out_rowids = progress.task.ids + outcome.nrows;
  }

  // Run the generated code.
  const Span span(profile_, TB_SPAN_PIPELINE, progress.task.sequence);
  const uint64_t start = monotonic_ns();
  code_->entries().pipeline(&call);
  compute_ns_.fetch_add(monotonic_ns() - start, std::memory_order_relaxed);

  // Did it get through?
  outcome.errors |= call.errors;
  if (outcome.errors != 0) return false;
  if (call.error) std::rethrow_exception(call.error);
  if (call.status != TB_PIPELINE_DONE) {
    if (stop_) throw DeviceError(TB_FALLBACK_NONE, "query was closed");
    throw DeviceError(TB_FALLBACK_COMPILE, "compiled code stopped by itself");
  }
  // Add up its counts.
  outcome.nrows += call.nout;
  outcome.rows_passed += call.rows_passed;
  for (size_t i = 0; i < TB_MAX_JOINS; i++) {
    outcome.join_rows[i] += call.join_rows[i];
    outcome.join_candidates[i] += call.join_candidates[i];
  }
  return true;
}

uint32_t HostQuery::make_room(TbPipelineArgs* args, uint64_t rows, uint64_t bytes) noexcept {
  auto* call = static_cast<PipelineCall*>(args);
  HostQuery& query = *call->query;
  try {
    // A join may make much of few rows: this is where its query can be stopped.
    if (query.stop_) throw DeviceError(TB_FALLBACK_NONE, "query was closed");
    if (!query.sink_) throw DeviceError(TB_FALLBACK_COMPILE, "compiled code asks for room that its sink does not need");
    if (query.sink_->make_room(call->worker, rows, bytes)) query.grows_.fetch_add(1, std::memory_order_relaxed);
    return 1;
  } catch (...) {
    call->error = std::current_exception();
    return 0;
  }
}

uint64_t HostQuery::finish() {
  if (!sink_) return 0;
  const Span span(profile_, TB_SPAN_FINISH);
  const uint64_t start = monotonic_ns();
  const uint64_t rows = sink_->finish();
  finish_ns_.fetch_add(monotonic_ns() - start, std::memory_order_relaxed);
  return rows;
}

DeviceQueryStats HostQuery::stats() const {
  DeviceQueryStats stats;
  stats.decode_us = decode_ns_ / 1000;
  stats.compute_us = compute_ns_ / 1000;
  stats.finish_us = finish_ns_ / 1000;
  stats.table_grows = grows_;
  entry_results_.count(&stats);
  return stats;
}

}  // namespace turbine
