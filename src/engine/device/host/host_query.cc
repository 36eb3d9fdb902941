/*
 * host_query.cc - one query on the host device.
 */
#include "engine/device/host/host_query.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace turbine {
namespace {

/* Pages decoded at once: 512 kB, so that pages and columns stay in L2. */
constexpr uint32_t kBatchPages = 64;
constexpr uint32_t kBatchRows = kBatchPages * TB_MAX_TUPLES_PER_PAGE;

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

uint64_t aligned(uint64_t size) { return (size + 63) & ~uint64_t{63}; }

/* How many rows of a decoded batch count: all. The mutant loses one in 100,000. */
#ifdef TB_MUTANT_ROW_DROPPED
uint32_t counted_rows(uint32_t nrows) {
  static std::atomic<uint64_t> seen{0};
  const uint64_t before = seen.fetch_add(nrows);
  return before / 100000 != (before + nrows) / 100000 ? nrows - 1 : nrows;
}
#else
uint32_t counted_rows(uint32_t nrows) { return nrows; }
#endif

MemoryBudget& worker_budget() {
  static MemoryBudget unlimited(UINT64_MAX);
  return unlimited;
}

}  // namespace

WorkerMemory::WorkerMemory() : scratch_(worker_budget(), TB_SCRATCH_SIZE), area_(worker_budget(), 1) {}

uint8_t* WorkerMemory::area(uint64_t size) {
  area_.grow(size);
  return area_.data();
}

HostQuery::BatchLayout HostQuery::batch_layout(const Program& program) {
  BatchLayout layout{};
  uint64_t at = 64;  // so that 0 can mean none
  auto take = [&at](uint64_t size) {
    const uint64_t offset = at;
    at += aligned(size);
    return offset;
  };
  for (const TbColumn& column : program.columns()) {
    const uint64_t values = take(uint64_t{kBatchRows} * tb_type_width(column.type));
    layout.columns.push_back({values, column.flags & TB_COL_NULLABLE ? take(kBatchRows) : 0});
  }
  layout.rowids = take(kBatchRows * sizeof(uint32_t));
  layout.deferred = take(kBatchRows * sizeof(uint32_t));
  layout.size = at;
  return layout;
}

HostQuery::HostQuery(std::shared_ptr<const Program> program, std::shared_ptr<const std::string> params,
                     std::shared_ptr<HostCode> code, uint64_t first_capacity, uint64_t budget, WorkerPool& pool,
                     std::vector<WorkerMemory>& workers)
    : program_(std::move(program)),
      params_(std::move(params)),
      code_(std::move(code)),
      first_capacity_(first_capacity),
      fold_(*program_),
      batch_(batch_layout(*program_)),
      budget_(budget),
      pool_(pool),
      workers_(workers),
      tables_(pool.size()),
      total_(fold_.layout().row_size, 0) {}

HostQuery::~HostQuery() {
  cancelled_ = true;
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return in_flight_ == 0; });
}

void HostQuery::submit(const ChunkTask& task, Done done) {
  {
    std::lock_guard lock(mutex_);
    in_flight_++;
  }
  pool_.post([this, task, done = std::move(done)](unsigned worker) {
    ChunkOutcome outcome;
    std::exception_ptr error;
    try {
      if (cancelled_) throw DeviceError(TB_FALLBACK_NONE, "query was closed");
      outcome = run_chunk(worker, task);
    } catch (...) {
      error = std::current_exception();
    }
    done(outcome, error);
    // Under the lock to the end: the destructor may run as soon as it is free.
    std::lock_guard lock(mutex_);
    if (--in_flight_ == 0) idle_.notify_all();
  });
}

HostGroupTable* HostQuery::worker_table(unsigned worker) {
  std::unique_ptr<HostGroupTable>& table = tables_[worker];
  if (program_->grouped()) {
    if (!table) table = std::make_unique<HostGroupTable>(fold_.layout().row_size, first_capacity_, budget_);
    return table.get();
  }
  // Ungrouped: row 0, fresh for every chunk.
  if (!table) table = std::make_unique<HostGroupTable>(fold_.layout().row_size, 1, budget_);
  memset(table->row(0), 0, fold_.layout().row_size);
  table->raw()->ngroups = 1;
  table->raw()->arena_used = 0;
  return table.get();
}

ChunkOutcome HostQuery::run_chunk(unsigned worker, const ChunkTask& task) {
  Progress progress{task, {}, {}, nullptr};
  if (!rows_sink()) progress.groups = worker_table(worker);
  if (task.kind == TB_CHUNK_COLUMNS)
    run_columns(worker, progress);
  else
    run_pages(worker, progress);

  ChunkOutcome& outcome = progress.outcome;
  if (outcome.errors != 0) {
    outcome.nrows = 0;
    return outcome;
  }
  if (uint64_t{outcome.nrows} + progress.deferred.size() > task.ids_capacity) {
    outcome.errors = TB_ERR_CORRUPT;
    outcome.nrows = 0;
    return outcome;
  }
  std::copy(progress.deferred.begin(), progress.deferred.end(), task.ids + outcome.nrows);
  outcome.ndeferred = static_cast<uint32_t>(progress.deferred.size());
  if (!rows_sink() && !program_->grouped()) add_partial(task.sequence, *progress.groups);
  return outcome;
}

void HostQuery::run_pages(unsigned worker, Progress& progress) {
  for (uint32_t first = 0; first < progress.task.npages; first += kBatchPages) {
    if (cancelled_) throw DeviceError(TB_FALLBACK_NONE, "query was closed");
    if (!run_batch(worker, progress, first, std::min(kBatchPages, progress.task.npages - first))) return;
  }
}

/* Returns whether to go on. */
bool HostQuery::run_batch(unsigned worker, Progress& progress, uint32_t first_page, uint32_t npages) {
  uint8_t* area = workers_[worker].area(batch_.size);
  TbColumnData columns[TB_MAX_COLUMNS];
  for (size_t i = 0; i < batch_.columns.size(); i++) {
    const BatchLayout::Column& column = batch_.columns[i];
    columns[i] = {area + column.values, column.valid ? area + column.valid : nullptr};
  }
  const uint8_t* pages = progress.task.data + uint64_t{first_page} * TB_PAGE_SIZE;

  TbDecodeArgs decode{};
  decode.pages = pages;
  decode.npages = npages;
  decode.capacity = kBatchRows;
  decode.columns = columns;
  decode.rowids = rows_sink() ? reinterpret_cast<uint32_t*>(area + batch_.rowids) : nullptr;
  decode.deferred = reinterpret_cast<uint32_t*>(area + batch_.deferred);
  decode.params = params();
  const uint64_t start = now_ns();
  code_->decode(&decode);
  decode_ns_.fetch_add(now_ns() - start, std::memory_order_relaxed);

  if (decode.nrows > kBatchRows || decode.ndeferred > kBatchRows) decode.errors |= TB_ERR_CORRUPT;
  progress.outcome.errors |= decode.errors;
  if (progress.outcome.errors != 0) return false;
  progress.outcome.rows_in += decode.nrows;

  // Ids count from the batch's first page; the chunk's start from page 0.
  const uint32_t base = TB_ROWID(first_page, 0);
  for (uint32_t i = 0; i < decode.ndeferred; i++) progress.deferred.push_back(decode.deferred[i] + base);

  TbPipelineArgs args{};
  args.columns = columns;
  args.bytes = pages;
  args.rowids = decode.rowids;
  args.nrows = counted_rows(decode.nrows);
  const uint32_t before = progress.outcome.nrows;
  if (!run_pipeline(worker, progress, args)) return false;
  for (uint32_t i = before; i < progress.outcome.nrows; i++) progress.task.ids[i] += base;
  return true;
}

/* Rows that the backend has made into columns: one call, ids are row numbers. */
void HostQuery::run_columns(unsigned worker, Progress& progress) {
  const auto* chunk = reinterpret_cast<const TbColumnsChunk*>(progress.task.data);
  TbColumnData columns[TB_MAX_COLUMNS];
  for (size_t i = 0; i < program_->columns().size(); i++) {
    const auto& column = chunk->columns[i];
    columns[i].values = const_cast<uint8_t*>(progress.task.data) + column.values;
    columns[i].valid = column.valid ? const_cast<uint8_t*>(progress.task.data) + column.valid : nullptr;
  }
  const uint32_t nrows = chunk->nrows;
  std::vector<uint32_t> numbers(rows_sink() ? nrows : 0);
  std::iota(numbers.begin(), numbers.end(), 0);
  progress.outcome.rows_in = nrows;

  TbPipelineArgs args{};
  args.columns = columns;
  args.bytes = progress.task.data + chunk->bytes_offset;
  args.rowids = rows_sink() ? numbers.data() : nullptr;
  args.nrows = nrows;
  run_pipeline(worker, progress, args);
}

/* Runs all rows of `args` through the pipeline; returns whether to go on. */
bool HostQuery::run_pipeline(unsigned worker, Progress& progress, TbPipelineArgs args) {
  ChunkOutcome& outcome = progress.outcome;
  args.params = params();
  args.scratch = workers_[worker].scratch();
  args.scratch_size = TB_SCRATCH_SIZE;
  if (rows_sink()) {
    if (progress.task.ids_capacity - outcome.nrows < args.nrows) {
      outcome.errors |= TB_ERR_CORRUPT;
      return false;
    }
    args.out_rowids = progress.task.ids + outcome.nrows;
  } else {
    args.groups = progress.groups->raw();
  }

  const uint64_t start = now_ns();
  while (true) {
    args.status = TB_PIPELINE_DONE;
    code_->pipeline(&args);
    if (args.errors != 0 || args.status != TB_PIPELINE_GROW) break;
    make_room(*progress.groups, args);
  }
  compute_ns_.fetch_add(now_ns() - start, std::memory_order_relaxed);

  outcome.errors |= args.errors;
  if (outcome.errors != 0) return false;
  outcome.nrows += args.nout;
  outcome.rows_passed += args.rows_passed;
  return true;
}

void HostQuery::make_room(HostGroupTable& groups, TbPipelineArgs& args) {
  bool grew = program_->grouped() && groups.ensure_rows(TB_TILE_ROWS);
  grew |= groups.ensure_arena(args.arena_needed);
  // Code that asks for room it has would ask for ever.
  if (!grew) throw DeviceError(TB_FALLBACK_COMPILE, "compiled code asks for room that its table has");
  groups.raw()->full = 0;
  args.arena_needed = 0;
  grows_.fetch_add(1, std::memory_order_relaxed);
}

void HostQuery::add_partial(uint64_t sequence, const HostGroupTable& groups) {
  Partial partial{{groups.row(0), groups.row(0) + fold_.layout().row_size},
                  {groups.arena(), groups.arena() + groups.arena_used()}};
  std::lock_guard lock(mutex_);
  if (!partials_.emplace(sequence, std::move(partial)).second)
    throw DeviceError(TB_FALLBACK_PROTOCOL, "two chunks have one sequence number");
  for (auto it = partials_.begin(); it != partials_.end() && it->first == next_partial_; it = partials_.erase(it)) {
    fold_partial(it->second);
    next_partial_++;
  }
}

void HostQuery::fold_partial(const Partial& partial) {
  fold_errors_ |= fold_.fold(total_.data(), total_text_, partial.row.data(), partial.arena.data());
}

uint64_t HostQuery::finish() {
  const uint64_t start = now_ns();
  uint64_t groups = 1;
  if (program_->grouped()) {
    merged_.emplace(fold_, std::move(tables_), pool_, budget_);
    groups = merged_->size();
  } else {
    std::lock_guard lock(mutex_);
    for (const auto& [sequence, partial] : partials_) fold_partial(partial);
    partials_.clear();
    throw_fold_errors(fold_errors_);
  }
  finish_ns_.fetch_add(now_ns() - start, std::memory_order_relaxed);
  return groups;
}

DeviceQuery::GroupRows HostQuery::fetch_groups(uint64_t first, uint64_t count) {
  if (program_->grouped()) return merged_->fetch(first, count);
  return {total_.data(), total_text_.bytes(), total_text_.size()};
}

DeviceQueryStats HostQuery::stats() const {
  DeviceQueryStats stats;
  stats.decode_us = decode_ns_ / 1000;
  stats.compute_us = compute_ns_ / 1000;
  stats.finish_us = finish_ns_ / 1000;
  stats.table_grows = grows_;
  return stats;
}

}  // namespace turbine
