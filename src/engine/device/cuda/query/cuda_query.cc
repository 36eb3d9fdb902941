/*
 * cuda_query.cc - one query on a GPU: its worker thread, lanes and results.
 *
 * Called by execution/ through device.h. submit() only queues; the mutex is never held during
 * a driver call.
 */
#include "engine/device/cuda/query/cuda_query.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "engine/device/cuda/build/device_table_build.h"
#include "engine/device/cuda/exports/device_columns.h"
#include "engine/device/cuda/memory/bring_rows.h"
#include "engine/device/excluded_segments.h"
#include "engine/device/task_states.h"
#include "engine/profile/stopwatch.h"
#include "engine/threads/short_turns.h"

namespace turbine::cuda {

namespace {

/* How long a worker sleeps that has waited for so long: a step is noticed after an eighth more than it takes. */
std::chrono::nanoseconds sleep_after(std::chrono::nanoseconds waited) {
  constexpr std::chrono::nanoseconds kShortest = std::chrono::microseconds(15), kLongest = std::chrono::milliseconds(2);
  return std::clamp(waited / 8, kShortest, kLongest);
}

/* Whatever happened, as the DeviceError that execution/ expects. */
std::exception_ptr as_device_error(std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const DeviceError&) {
    return error;
  } catch (const std::bad_alloc&) {
    return std::make_exception_ptr(DeviceError(TB_FALLBACK_HOST_MEMORY, "out of memory"));
  } catch (const std::exception& other) {
    return std::make_exception_ptr(DeviceError(TB_FALLBACK_DEVICE_LOST, other.what()));
  }
}

/* A task crosses in a tenth of a millisecond. */
constexpr std::chrono::milliseconds kStagingPatience{5};

/* May outlive its query: columns of segments lie there. */
class PinnedColumns final : public StagedColumns {
 public:
  PinnedColumns(std::shared_ptr<CudaContext> context, Block block, uint64_t bytes, std::shared_ptr<StagingLimit> limit)
      : StagedColumns(block.host(), bytes),
        context_(std::move(context)),
        block_(std::move(block)),
        bytes_(bytes),
        limit_(std::move(limit)) {}
  ~PinnedColumns() override {
    block_.reset();
    limit_->give_back(bytes_);
  }

 private:
  const std::shared_ptr<CudaContext> context_;  // the block's
  Block block_;
  const uint64_t bytes_;
  const std::shared_ptr<StagingLimit> limit_;
};

bool has_no_rows(const SegmentMorsel& morsel) {
  return std::all_of(morsel.segments.begin(), morsel.segments.end(),
                     [](const TakenSegment& taken) { return taken.segment->rows_of_blocks(taken.blocks) == 0; });
}

bool is_empty(const Task& task) {
  return std::visit(EachKind{[](const PagesInput& input) { return input.npages == 0; },
                             [](const ColumnsInput& input) { return input.chunk().nrows == 0; },
                             [](const SegmentsInput& input) { return has_no_rows(*input.morsel); },
                             [](const UnmatchedInput& input) { return input.nrows == 0; }},
                    task.input);
}

}  // namespace

CudaQuery::CudaQuery(std::shared_ptr<CudaContext> context, std::shared_ptr<GpuCache> cache,
                     std::shared_ptr<EmbeddedKernels> kernels, std::shared_ptr<FaultInjector> faults,
                     std::shared_ptr<const Program> program, std::shared_ptr<const std::string> params,
                     std::shared_ptr<const CudaCode> code, JoinTables tables, double estimated_rows, uint64_t budget,
                     QueryProfile* profile)
    : context_(context),
      resources_(std::move(context), std::move(cache), std::move(kernels), std::move(faults), std::move(program),
                 std::move(params), std::move(code), std::move(tables), estimated_rows, budget, profile),
      key_sort_(*context_, resources_.kernels->sort, resources_.driver, resources_.account),
      window_(*context_, {resources_.kernels->sort, resources_.kernels->windows, resources_.kernels->keys},
              resources_.driver, resources_.account) {
  worker_stats_.bytes_to_device = stats_.bytes_to_device = resources_.tables_bytes();
  busy_.reserve(kMostLanes);
  lanes_.reserve(kMostLanes);
  worker_ = std::thread([this] {
    context_->numa().bind_thread();
    run();
  });
  context_->queries_running.fetch_add(1, std::memory_order_relaxed);
  context_->queries_total.fetch_add(1, std::memory_order_relaxed);
}

void CudaQuery::stop() {
  staging_->end();
  resources_.stop.set();
}

CudaQuery::~CudaQuery() {
  resources_.stop.set();
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    work_.notify_all();
  }
  worker_.join();
  context_->queries_running.fetch_sub(1, std::memory_order_relaxed);
  context_->enter_to_release();
  resources_.wait_to_release();
}

std::shared_ptr<StagedColumns> CudaQuery::stage_columns(uint64_t bytes) {
  if (!staging_->take(bytes, kStagingPatience)) return nullptr;
  try {
    context_->enter(resources_.driver);
    Block block = context_->pinned_memory().allocate(resources_.driver, bytes, nullptr);
    return std::make_shared<PinnedColumns>(context_, std::move(block), bytes, staging_);
  } catch (const DeviceError& error) {
    staging_->give_back(bytes);
    if (error.reason != TB_FALLBACK_DEVICE_MEMORY) throw;
    return nullptr;
  }
}

void CudaQuery::submit(const Task& task, Done done) {
  std::lock_guard lock(mutex_);
  arrived_.push_back({task, std::move(done)});
  unfinished_++;
  work_.notify_one();
}

void CudaQuery::run() {
  using Clock = std::chrono::steady_clock;
  pthread_setname_np(pthread_self(), "gpu query");
  want_short_turns();
  context_->enter_to_release();  // a failure shows in the first checked call
  Clock::time_point last_step = Clock::now();
  for (;;) {
    std::deque<Pending> arrived;
    bool failed;
    {
      std::unique_lock lock(mutex_);
      auto something = [&] { return stop_ || !arrived_.empty(); };
      if (busy_.empty() && pending_.empty())
        work_.wait(lock, something);
      else
        work_.wait_for(lock, sleep_after(Clock::now() - last_step), something);
      arrived.swap(arrived_);
      failed = error_ != nullptr;
      if (stop_ && arrived.empty() && busy_.empty() && pending_.empty()) return;
      if (stop_ && !failed) {
        failed = true;
        error_ = std::make_exception_ptr(DeviceError(TB_FALLBACK_PROTOCOL, "the query was closed"));
      }
    }
    std::exception_ptr error;
    try {
      if (failed) {
        std::lock_guard lock(mutex_);
        error = error_;
      } else if (step(arrived)) {
        last_step = Clock::now();
      }
    } catch (...) {
      error = as_device_error(std::current_exception());
    }
    if (!error) continue;
    for (Pending& pending : arrived) pending_.push_back(std::move(pending));
    fail(error);
  }
}

/* Starts what has arrived, and what follows a step that was reached. False if there was neither. */
bool CudaQuery::step(std::deque<Pending>& arrived) {
  bool any = !arrived.empty();
  while (!arrived.empty()) {
    pending_.push_back(std::move(arrived.front()));
    arrived.pop_front();
  }
  start_pending();
  for (size_t i = 0; i < busy_.size();) {
    if (!busy_[i].lane->reached()) {
      i++;
      continue;
    }
    any = true;
    if (!advance(busy_[i])) {
      i++;
      continue;
    }
    // The slot is the backend's again as soon as `done` is called.
    ChunkLane& lane = *busy_[i].lane;
    TaskOutcome outcome = lane.finish(worker_stats_);
    outcome.segments_excluded = busy_[i].excluded.segments_excluded;
    outcome.blocks_excluded = busy_[i].excluded.blocks_excluded;
    lane.release();
    const Done done = std::move(busy_[i].done);
    busy_.erase(busy_.begin() + static_cast<std::ptrdiff_t>(i));
    complete(done, outcome, nullptr);
    start_pending();
  }
  return any;
}

/* What rows that have come by now leave to be read of a task. Counts add up where it is asked again, since no lane
 * had memory. */
void CudaQuery::exclude_segments(Pending& pending) const {
  auto* input = pending.task.as<SegmentsInput>();
  if (!input || !limit_) return;
  auto left = without_excluded(input->morsel, *limit_, pending.excluded);
  if (left != input->morsel) input->staged.reset();
  input->morsel = std::move(left);
}

/* Starts chunks while there are lanes. */
void CudaQuery::start_pending() {
  while (!pending_.empty()) {
    if (busy_.size() < lanes_for(pending_.front().task)) exclude_segments(pending_.front());
    const Task task = pending_.front().task;
    if (is_empty(task)) {
      const Pending done = std::move(pending_.front());
      pending_.pop_front();
      complete(done.done, done.excluded, nullptr);
      continue;
    }
    ChunkLane* lane = free_lane(task);
    if (!lane) return;
    busy_.push_back({lane, std::move(pending_.front().done), pending_.front().excluded});
    pending_.pop_front();
    const Span span(resources_.profile, TB_SPAN_LAUNCH, task.sequence);
    lane->start(task);
  }
}

/* A free lane with memory for the chunk, or null for now. Fewer lanes are slower
 * but right, so lack of memory for another one only limits their number. The first are taken first: what is large never
 * gets to more than kLanes of them. */
ChunkLane* CudaQuery::free_lane(const Task& task) {
  if (busy_.size() >= lanes_for(task)) return nullptr;
  try {
    auto free = std::find_if(lanes_.begin(), lanes_.end(),
                             [](const auto& lane) { return lane->state() == ChunkLane::State::FREE; });
    if (free == lanes_.end()) {
      lanes_.push_back(std::make_unique<ChunkLane>(resources_));
      free = lanes_.end() - 1;
    }
    (*free)->prepare(task);
    return free->get();
  } catch (const DeviceError& error) {
    if (error.reason != TB_FALLBACK_DEVICE_MEMORY || busy_.empty()) throw;
    lane_limit_ = static_cast<uint32_t>(busy_.size());
    return nullptr;
  }
}

/* The lane's step was reached: starts the next. True if the chunk is complete. */
bool CudaQuery::advance(Busy& busy) {
  using State = ChunkLane::State;
  ChunkLane& lane = *busy.lane;
  lane.account_times(worker_stats_);
  const Span span(resources_.profile, TB_SPAN_LAUNCH, lane.task().sequence);
  if (lane.state() == State::FETCHING) return true;
  if (lane.errors() == 0) {
    if (lane.state() == State::PROBING && lane.sink_tuples()) return false;
    if (lane.state() == State::SINKING && advance_sink(lane)) return false;
    if (lane.state() == State::COPYING) lane.take_rows();
    if (lane.next_rows()) return false;
  }
  return !lane.fetch_ids();
}

/* The sink's first kernel has run: starts what follows. False if nothing does. */
bool CudaQuery::advance_sink(ChunkLane& lane) {
  if (lane.table_full()) {
    grow_table();
    return true;
  }
  if (reserves_memory(*resources_.program)) {
    lane.apply();
    return true;
  }
  lane.note_states();
  return keeps_rows(*resources_.program) && lane.copy_rows();
}

/* Grows the group table, and reserves anew for every chunk not applied: their
 * group numbers are void. */
void CudaQuery::grow_table() {
  resources_.groups->grow(resources_.compute.get());
  worker_stats_.table_grows++;
  for (Busy& busy : busy_)
    if (busy.lane->reserved_only()) busy.lane->reserve_again();
}

void CudaQuery::complete(const Done& done, const TaskOutcome& outcome, std::exception_ptr error) {
  {
    std::lock_guard lock(mutex_);
    stats_ = worker_stats_;
    if (resources_.entry_results) resources_.entry_results->count(&stats_);
  }
  done(outcome, std::move(error));
  std::lock_guard lock(mutex_);
  if (--unfinished_ == 0) idle_.notify_all();
}

/* Ends the query: nothing of it reads a slot or writes ids after this. */
void CudaQuery::fail(std::exception_ptr error) {
  resources_.stop.set();
  resources_.wait_to_release();
  {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
  }
  std::vector<Done> undone;
  for (Busy& busy : busy_) {
    busy.lane->release();
    undone.push_back(std::move(busy.done));
  }
  for (Pending& pending : pending_) undone.push_back(std::move(pending.done));
  busy_.clear();
  pending_.clear();
  for (const Done& done : undone) complete(done, {}, error);
}

void CudaQuery::wait_until_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return unfinished_ == 0; });
  if (error_) std::rethrow_exception(error_);
}

void CudaQuery::keep_rows_on_device() {
  if (!resources_.rows) return;
  resources_.kept.emplace(*context_, resources_.driver, resources_.rows->shape(), resources_.account);
}

/* Where a filter or a join drops rows, the places of the others are not known before: no order is offered. */
void CudaQuery::leave_columns(bool in_order) {
  const Program& program = *resources_.program;
  if (!resources_.rows) throw DeviceError(TB_FALLBACK_PROTOCOL, "only a projection's rows become columns");
  if (in_order && (!program.joins().empty() || !program.filters().empty()))
    throw DeviceError(TB_FALLBACK_PROTOCOL, "rows of a filter or join have no order");
  resources_.leaves_columns = true;
  keep_rows_on_device();
  if (in_order) resources_.order.emplace(1);
}

std::vector<DeviceColumn> CudaQuery::take_columns(std::span<const TbColumnLeft> columns) {
  const Stopwatch stopwatch;
  try {
    context_->enter(resources_.driver);
    auto made = make_columns(*resources_.kept, resources_.order ? &*resources_.order : nullptr, columns,
                             {context_, resources_.driver, resources_.kernels->exports.kernels(resources_.driver),
                              resources_.account, resources_.compute.get()});
    resources_.kept->clear();
    std::lock_guard lock(mutex_);
    finish_us_ += stopwatch.microseconds();
    return made;
  } catch (...) {
    std::rethrow_exception(as_device_error(std::current_exception()));
  }
}

uint64_t CudaQuery::finish() {
  wait_until_idle();
  const Stopwatch stopwatch;
  try {
    const Span span(resources_.profile, TB_SPAN_FINISH);
    context_->enter(resources_.driver);
    if (resources_.tables) resources_.tables->keep_copies(resources_.driver, resources_.copy.get());
    const uint64_t ngroups = resources_.groups ? resources_.groups->finish(resources_.compute.get()) : 0;
    lanes_.clear();  // their memory is of use to other queries while results are fetched
    if (resources_.parts) return finish_table();
    if (resources_.kept) return finish_kept_rows();
    if (!resources_.groups) return resources_.rows ? resources_.rows->size() : 0;
    std::lock_guard lock(mutex_);
    finish_us_ += stopwatch.microseconds();
    return ngroups;
  } catch (...) {
    std::rethrow_exception(as_device_error(std::current_exception()));
  }
}

/* Where copies of tables may stay, whoever probes this one finds it on the device. */
uint64_t CudaQuery::finish_table() {
  const Stopwatch stopwatch;
  JoinTableCopies& copies = resources_.cache->join_tables;
  ParallelWork work(resources_.cache->threads(), cancelled_);
  BuiltTable built = build_table(*resources_.parts, {*context_, resources_.kernels->tables.kernels(resources_.driver),
                                                     resources_.driver, resources_.account, copies.capacity(),
                                                     host_memory_, resources_.compute.get(), resources_.stop, work});
  if (built.table->raw()->total_size <= copies.capacity()) copies.keep(built.table, std::move(built.copy));
  table_ = std::move(built.table);
  std::lock_guard lock(mutex_);
  finish_us_ += stopwatch.microseconds();
  bytes_fetched_ += built.bytes_copied;
  return table_->rows();
}

/* Where there was no room for all on the device, they are the host's. */
uint64_t CudaQuery::finish_kept_rows() {
  if (resources_.order) resources_.order->finish();
  if (resources_.leaves_columns) return resources_.kept->rows();
  if (resources_.rows->size() > 0) bring_kept_rows();
  window_.set_rows(&*resources_.kept);
  return resources_.rows->size() + resources_.kept->rows();
}

void CudaQuery::bring_kept_rows() {
  const Span span(resources_.profile, TB_SPAN_COPY_FROM_GPU);
  context_->enter(resources_.driver);
  const uint64_t bytes = bring_to_host(*resources_.kept, *resources_.rows,
                                       {*context_, resources_.driver, resources_.compute.get()});
  resources_.kept->clear();
  std::lock_guard lock(mutex_);
  bytes_fetched_ += bytes;
}

ResultBatch CudaQuery::fetch(uint64_t first, uint64_t count) {
  try {
    if (resources_.kept && resources_.kept->rows() > 0) bring_kept_rows();
  } catch (...) {
    std::rethrow_exception(as_device_error(std::current_exception()));
  }
  if (resources_.rows) return resources_.rows->fetch(first, count);
  if (resources_.groups->takes_states()) return fetch_folded();
  const Stopwatch stopwatch;
  try {
    const Span span(resources_.profile, TB_SPAN_COPY_FROM_GPU);
    context_->enter(resources_.driver);
    const GroupTable::Fetched groups = resources_.groups->fetch(first, count, resources_.compute.get());
    std::lock_guard lock(mutex_);
    finish_us_ += stopwatch.microseconds();
    bytes_fetched_ = resources_.groups->bytes_fetched();
    return group_batch(group_layout(*resources_.program), groups.rows, groups.arena, count);
  } catch (...) {
    std::rethrow_exception(as_device_error(std::current_exception()));
  }
}

/* Ungrouped states, in the order of the tasks. */
ResultBatch CudaQuery::fetch_folded() {
  const GroupFold fold(*resources_.program);
  if (folded_.empty()) folded_ = fold_task_states(fold, identity_row(*resources_.program), take_task_states());
  return group_batch(fold.layout(), folded_.data(), nullptr, 1);
}

std::vector<uint8_t> CudaQuery::matched_rows(uint32_t join) {
  try {
    context_->enter(resources_.driver);
    return resources_.matched->read(join, resources_.driver, resources_.copy.get());
  } catch (...) {
    std::rethrow_exception(as_device_error(std::current_exception()));
  }
}

void CudaQuery::set_matched_rows(uint32_t join, std::span<const uint8_t> matched) {
  try {
    context_->enter(resources_.driver);
    resources_.matched->write(join, matched, resources_.driver, resources_.copy.get());
  } catch (...) {
    std::rethrow_exception(as_device_error(std::current_exception()));
  }
}

DeviceQueryStats CudaQuery::stats() const {
  std::lock_guard lock(mutex_);
  DeviceQueryStats stats = stats_;
  stats.finish_us += finish_us_;
  stats.bytes_from_device += bytes_fetched_;
  return stats;
}

}  // namespace turbine::cuda
