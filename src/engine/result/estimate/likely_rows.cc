/*
 * likely_rows.cc - the rows that may be among the first, as far as estimates tell.
 *
 * Of every row two places in the order are known: the earliest that it can have and the
 * latest, key by key, smaller ones first. If the latest places of `limit` rows that surely
 * pass all conditions are not behind the earliest one of another row, that row can go,
 * as long as these stay. Called by result_run.cc. It must never drop a row of which
 * PostgreSQL might raise an error.
 */
#include "engine/result/estimate/likely_rows.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "turbine/mutant.h"

namespace turbine {
namespace {

/* Places are compared by their numbers, one a key. */
using Place = std::array<double, TB_MAX_ESTIMATED_KEYS>;

struct Candidate {
  RowRef ref;
  bool doubtful;  // stays
  bool passes;    // for certain
  Place earliest, latest;
};

/* Candidates are cut down when there are twice as many as the limit, and some. */
constexpr uint64_t kSpareCandidates = 2048;
constexpr uint64_t kPartRows = 32 << 10;
/* Looking for the first rows pays only where they are a part of all. TB_NO_LIMIT is more than that. */
constexpr uint64_t kLimitShare = 2;

class Candidates {
 public:
  Candidates(MemoryBudget& budget, uint64_t limit)
      : limit_(limit), memory_(budget, kSpareCandidates * sizeof(Candidate)) {}

  /* One that comes behind the bound is not added. */
  void add(const Candidate& candidate) {
    if (bounded_ && !candidate.doubtful && candidate.earliest >= bound_) return;
    if ((size_ + 1) * sizeof(Candidate) > memory_.size()) memory_.grow(2 * memory_.size());
    data()[size_++] = candidate;
    if (size_ >= most_) reduce();
  }

  void reduce() {
    Candidate* const end = data() + size_;
    Candidate* const certain = std::partition(data(), end, [](const Candidate& c) { return c.passes && !c.doubtful; });
    if (static_cast<uint64_t>(certain - data()) >= limit_) {
      Candidate* const last = data() + limit_ - 1;
      std::nth_element(data(), last, certain,
                       [](const Candidate& a, const Candidate& b) { return a.latest < b.latest; });
      bound_ = last->latest;
      bounded_ = true;
      Candidate* const stay = std::remove_if(
          last + 1, end, [this](const Candidate& c) { return !c.doubtful && c.earliest >= bound_; });
      size_ = static_cast<uint64_t>(stay - data());
    }
    most_ = 2 * std::max(size_, limit_) + kSpareCandidates;
  }

  const Candidate* begin() const { return reinterpret_cast<const Candidate*>(memory_.data()); }
  const Candidate* end() const { return begin() + size_; }

 private:
  Candidate* data() { return reinterpret_cast<Candidate*>(memory_.data()); }

  const uint64_t limit_;
  HostBuffer memory_;
  uint64_t size_ = 0;
  uint64_t most_ = 2 * std::min(limit_, uint64_t{1} << 40) + kSpareCandidates;
  Place bound_{};
  bool bounded_ = false;
};

/* Narrows what is known of a candidate by an estimate. False: it does not pass. */
bool note_estimate(const TbEstimate& estimate, const Interval& value, size_t key, Candidate& candidate) {
  if (value.is_doubt()) {
    if (TB_MUTANT(doubt_dropped)) return false;
    candidate.doubtful = true;
    return true;
  }
  if (estimate.role == TB_ESTIMATE_OF_CONDITION) {
    if (value.is_null() || value.high == 0) return false;
    candidate.passes &= value.low == 1;
    return true;
  }
  if (estimate.role != TB_ESTIMATE_OF_KEY) return true;
  if (value.is_null()) {
    const double end = estimate.flags & TB_SORT_NULLS_FIRST ? -Interval::kInfinity : Interval::kInfinity;
    candidate.earliest[key] = candidate.latest[key] = end;
  } else if (estimate.flags & TB_SORT_DESCENDING) {
    candidate.earliest[key] = -value.high;
    candidate.latest[key] = -value.low;
  } else {
    candidate.earliest[key] = value.low;
    candidate.latest[key] = value.high;
  }
  return true;
}

class BlockEstimates {
 public:
  BlockEstimates(const ResultRows& rows, const ResultPlan& plan) : rows_(rows), plan_(plan) {}

  /* Rows [first, first + n) of the batch. */
  template <class Rows>
  void add_to(Rows& candidates, uint64_t batch, uint64_t first, size_t n) {
    const std::span<const TbEstimate> estimates = plan_.estimates();
    for (size_t e = 0; e < estimates.size(); e++)
      estimate_rows(plan_.steps(estimates[e]), rows_.columns(), rows_.batch(batch), first, n, values_[e]);
    for (size_t i = 0; i < n; i++) {
      Candidate candidate{row_ref(batch, first + i), false, true, {}, {}};
      // A condition that drops a row hides no error of another.
      bool fails = false;
      size_t key = 0;
      for (size_t e = 0; e < estimates.size(); e++) {
        fails |= !note_estimate(estimates[e], values_[e][i], key, candidate) && !candidate.doubtful;
        key += estimates[e].role == TB_ESTIMATE_OF_KEY;
      }
      if (candidate.doubtful || !fails) candidates.add(candidate);
    }
  }

 private:
  const ResultRows& rows_;
  const ResultPlan& plan_;
  Interval values_[TB_MAX_ESTIMATES][kEstimateRows];
};

/* Without a limit nothing need be known of a row but whether it surely fails. */
class RowsThatMayPass {
 public:
  explicit RowsThatMayPass(MemoryBudget& budget) : list_(budget, 1) {}
  void add(const Candidate& candidate) { list_.push_back(candidate.ref); }
  const RowList& list() const { return list_; }

 private:
  RowList list_;
};

struct Part {
  uint64_t batch, first, count;
};

std::vector<Part> parts_of(const ResultRows& rows) {
  std::vector<Part> parts;
  for (uint64_t b = 0; b < rows.batches(); b++)
    for (uint64_t first = 0, count = rows.batch(b).nrows; first < count; first += kPartRows)
      parts.push_back({b, first, std::min(kPartRows, count - first)});
  return parts;
}

template <class Rows>
void add_part(Rows& to, const ResultRows& rows, const ResultPlan& plan, const Part& part, ParallelWork& work) {
  const auto estimates = std::make_unique<BlockEstimates>(rows, plan);
  for (uint64_t done = 0; done < part.count; done += kEstimateRows) {
    if (done % kBlockRows == 0) work.check();
    estimates->add_to(to, part.batch, part.first + done, std::min<uint64_t>(kEstimateRows, part.count - done));
  }
}

RowList rows_that_may_pass(const ResultRows& rows, const ResultPlan& plan, ParallelWork& work) {
  const std::vector<Part> parts = parts_of(rows);
  RowList all(rows.budget(), 1);
  std::mutex mutex;
  work.each(parts.size(), [&](uint64_t p) {
    RowsThatMayPass passing(rows.budget());
    add_part(passing, rows, plan, parts[p], work);
    std::lock_guard lock(mutex);
    const uint64_t before = all.size();
    all.resize(before + passing.list().size());
    std::copy_n(passing.list().data(), passing.list().size(), all.data() + before);
  });
  return all;
}

}  // namespace

RowList likely_rows(const ResultRows& rows, const ResultPlan& plan, ParallelWork& work) {
  const uint64_t limit = plan.limit();
  if (limit == 0 || limit > rows.size() / kLimitShare) return rows_that_may_pass(rows, plan, work);
  const std::vector<Part> parts = parts_of(rows);
  Candidates all(rows.budget(), limit);
  std::mutex mutex;
  work.each(parts.size(), [&](uint64_t p) {
    Candidates candidates(rows.budget(), limit);
    add_part(candidates, rows, plan, parts[p], work);
    candidates.reduce();
    std::lock_guard lock(mutex);
    for (const Candidate& candidate : candidates) all.add(candidate);
  });
  all.reduce();
  RowList list(rows.budget(), 1);
  for (const Candidate& candidate : all) list.push_back(candidate.ref);
  return list;
}

}  // namespace turbine
