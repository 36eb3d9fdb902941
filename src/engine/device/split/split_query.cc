/*
 * split_query.cc - see split_query.h.
 *
 * Owns the branches and what is merged of them. Called by execution/ through device.h. A task must never be divided,
 * nor run twice: what it has added to a branch's groups cannot be taken back.
 */
#include "engine/device/split/split_query.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "engine/device/split/segment_homes.h"
#include "engine/device/split/split_device.h"
#include "engine/device/task_states.h"

namespace turbine {
namespace {

/* Groups that are fetched of a branch at once. */
constexpr uint64_t kFetchedGroups = 1 << 16;
/* Below so many groups of all branches, threads cost more than they save. */
constexpr uint64_t kGroupsWorthThreads = 32 << 10;

/* The row of group_layout's form that a batch of groups has as columns. */
const uint8_t* row_of(const ResultBatch& batch, const GroupLayout& layout, uint64_t row) {
  const std::vector<GroupField>& fields = layout.keys.empty() ? layout.states : layout.keys;
  return batch.columns[0].at(row) - fields[0].value_offset;
}

/* All groups of a branch; no key occurs twice. */
std::unique_ptr<HostGroupTable> fetch_groups(DeviceQuery& query, uint64_t groups, const GroupFold& fold,
                                             MemoryBudget& budget) {
  auto table = std::make_unique<HostGroupTable>(fold.layout().row_size, groups, budget);
  for (uint64_t first = 0; first < groups;) {
    const ResultBatch batch = query.fetch(first, std::min(kFetchedGroups, groups - first));
    for (uint64_t i = 0; i < batch.nrows; i++) {
      bool fresh;
      uint8_t* const row = table->find_or_copy(fold, row_of(batch, fold.layout(), i), batch.bytes, &fresh);
      if (!fresh) throw_fold_errors(fold.fold(row, *table, row_of(batch, fold.layout(), i), batch.bytes));
    }
    first += batch.nrows;
  }
  return table;
}

}  // namespace

SplitQuery::SplitQuery(std::shared_ptr<const Program> program, std::vector<std::unique_ptr<DeviceQuery>> branches,
                       WorkerPool& workers)
    : program_(std::move(program)), workers_(workers) {
  for (auto& query : branches) {
    branches_.push_back(std::make_unique<Branch>());
    branches_.back()->query = std::move(query);
  }
}

void SplitQuery::stop() {
  for (const auto& branch : branches_) branch->query->stop();
}

void SplitQuery::cancelled_by(std::function<bool()> cancelled) {
  for (const auto& branch : branches_) branch->query->cancelled_by(cancelled);
}

void SplitQuery::limit_rows(std::shared_ptr<const RowLimit> limit) {
  for (const auto& branch : branches_) branch->query->limit_rows(limit);
}

/* The branch with the fewest tasks at this moment; of equal ones the first. */
size_t SplitQuery::idlest() const {
  size_t best = 0;
  uint32_t fewest = UINT32_MAX;
  for (size_t i = 0; i < branches_.size(); i++) {
    const uint32_t has = branches_[i]->in_flight.load(std::memory_order_relaxed);
    if (has < fewest) fewest = has, best = i;
  }
  return best;
}

size_t SplitQuery::branch_of(const Task& task) {
  if (task.as<UnmatchedInput>()) return 0;
  const auto* segments = task.as<SegmentsInput>();
  if (!segments) return idlest();
  if (segments->staged) {
    std::lock_guard lock(mutex_);
    const auto found = staged_on_.find(segments->staged.get());
    if (found != staged_on_.end()) {
      const size_t number = found->second;
      staged_on_.erase(found);
      return number;
    }
  }
  const uint32_t range = segments->morsel->range;
  if (range == SegmentMorsel::kNoRange) return idlest();
  return home_of_range(range, static_cast<uint32_t>(branches_.size()));
}

/* The layout with the code of the branch's device. Layouts of a query stay, and are added by its thread alone. */
const ChunkLayout* SplitQuery::layout_of(size_t number, const ChunkLayout* layout) {
  if (!layout) return nullptr;
  const auto code = std::dynamic_pointer_cast<const SplitCode>(layout->code);
  if (!code || number >= code->size()) throw DeviceError(TB_FALLBACK_COMPILE, "code of another device");
  ChunkLayout own = *layout;
  own.code = code->of(number);
  std::lock_guard lock(mutex_);
  return &branches_[number]->layouts.try_emplace(layout, std::move(own)).first->second;
}

/* Nothing is in flight: all input but the unmatched rows is through, and so are those of earlier joins. */
void SplitQuery::join_marks(uint32_t join) {
  std::vector<uint8_t> marks = branches_[0]->query->matched_rows(join);
  for (size_t i = 1; i < branches_.size(); i++) {
    const std::vector<uint8_t> others = branches_[i]->query->matched_rows(join);
    if (others.size() != marks.size())
      throw DeviceError(TB_FALLBACK_PROTOCOL, "two devices mark different rows of one table");
    std::transform(marks.begin(), marks.end(), others.begin(), marks.begin(), std::bit_or<>());
  }
  branches_[0]->query->set_matched_rows(join, marks);
  marked_join_ = join;
}

void SplitQuery::submit(const Task& task, Done done) {
  size_t number;
  Task own = task;
  try {
    if (const auto* unmatched = task.as<UnmatchedInput>(); unmatched && marked_join_ != unmatched->join)
      join_marks(unmatched->join);
    number = branch_of(task);
    if (auto* pages = own.as<PagesInput>()) pages->layout = layout_of(number, pages->layout);
  } catch (...) {
    return done({}, std::current_exception());
  }
  Branch& branch = *branches_[number];
  branch.in_flight.fetch_add(1, std::memory_order_relaxed);
  branch.query->submit(own, [&branch, done = std::move(done)](const TaskOutcome& outcome, std::exception_ptr error) {
    branch.in_flight.fetch_sub(1, std::memory_order_relaxed);
    done(outcome, std::move(error));
  });
}

/* They are pinned by one GPU, which runs their task; by the GPUs in turn, since threads stage before there are tasks.
 * They may outlive the query, as those of one GPU do. */
std::shared_ptr<StagedColumns> SplitQuery::stage_columns(uint64_t bytes) {
  size_t number;
  {
    std::lock_guard lock(mutex_);
    number = stagings_++ % branches_.size();
  }
  std::shared_ptr<StagedColumns> staged = branches_[number]->query->stage_columns(bytes);
  if (!staged) return nullptr;
  std::lock_guard lock(mutex_);
  staged_on_.insert_or_assign(staged.get(), number);
  return staged;
}

uint64_t SplitQuery::finish() {
  std::vector<uint64_t> rows;
  for (const auto& branch : branches_) rows.push_back(branch->query->finish());
  uint64_t all = 0;
  if (program_->sink() == TB_SINK_PROJECT) {
    for (size_t i = 0; i < branches_.size(); i++) all += branches_[i]->rows = rows[i];
    return all;
  }
  fold_.emplace(*program_);
  if (!program_->grouped()) {
    fold_totals();
    return 1;
  }
  merge_groups(rows);
  return groups_->size();
}

void SplitQuery::merge_groups(const std::vector<uint64_t>& rows) {
  std::vector<std::unique_ptr<HostGroupTable>> tables(branches_.size());
  const auto fetch = [&](uint64_t i) {
    if (rows[i] > 0) tables[i] = fetch_groups(*branches_[i]->query, rows[i], *fold_, host_memory());
  };
  if (std::accumulate(rows.begin(), rows.end(), uint64_t{0}) < kGroupsWorthThreads)
    for (size_t i = 0; i < branches_.size(); i++) fetch(i);
  else
    workers_.run_all(branches_.size(), fetch);
  groups_.emplace(*fold_, std::move(tables), workers_, host_memory());
}

/* The first branch's row, to which those of the others are added; or that of no row, to which all tasks' are. */
void SplitQuery::fold_totals() {
  std::vector<TaskStates> states;
  for (const auto& branch : branches_)
    for (TaskStates& some : branch->query->take_task_states()) states.push_back(std::move(some));
  total_.resize(fold_->layout().row_size);
  uint32_t errors = 0;
  for (size_t i = 0; i < branches_.size(); i++) {
    const ResultBatch batch = branches_[i]->query->fetch(0, 1);
    const uint8_t* const row = row_of(batch, fold_->layout(), 0);
    if (i == 0)
      fold_->copy(total_.data(), total_text_, row, batch.bytes);
    else
      errors |= fold_->fold(total_.data(), total_text_, row, batch.bytes);
  }
  throw_fold_errors(errors);
  if (!states.empty()) total_ = fold_task_states(*fold_, std::move(total_), std::move(states));
}

ResultBatch SplitQuery::fetch(uint64_t first, uint64_t count) {
  if (groups_) return groups_->fetch(first, count);
  if (fold_) return group_batch(fold_->layout(), total_.data(), total_text_.bytes(), 1);
  for (const auto& branch : branches_) {
    if (first < branch->rows) return branch->query->fetch(first, std::min(count, branch->rows - first));
    first -= branch->rows;
  }
  throw DeviceError(TB_FALLBACK_PROTOCOL, "rows out of range");
}

bool SplitQuery::rows_stay() const {
  return fold_ ||
         std::all_of(branches_.begin(), branches_.end(), [](const auto& branch) { return branch->query->rows_stay(); });
}

std::vector<DeviceQueryStats> SplitQuery::stats_by_device() const {
  std::vector<DeviceQueryStats> all;
  for (const auto& branch : branches_) all.push_back(branch->query->stats());
  return all;
}

DeviceQueryStats SplitQuery::stats() const {
  DeviceQueryStats sum;
  for (const DeviceQueryStats& some : stats_by_device()) {
    sum.bytes_to_device += some.bytes_to_device;
    sum.bytes_from_device += some.bytes_from_device;
    sum.transfer_us += some.transfer_us;
    sum.decode_us += some.decode_us;
    sum.compute_us += some.compute_us;
    sum.finish_us += some.finish_us;
    sum.table_grows += some.table_grows;
    sum.rows_in += some.rows_in;
    sum.cached_bytes += some.cached_bytes;
    sum.dictionaries = std::max(sum.dictionaries, some.dictionaries);
    sum.dictionary_entries = std::max(sum.dictionary_entries, some.dictionary_entries);
  }
  return sum;
}

}  // namespace turbine
