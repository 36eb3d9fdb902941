/*
 * row_order.cc - orders rows, all at once or as they come, and keeps the first.
 *
 * Called by result_run.cc and row_pruning.cc. All memory is charged to the query.
 */
#include "engine/result/order/row_order.h"

#include <mutex>

namespace turbine {
namespace {

/* Rows are cut down when there are twice as many as stay, and some. */
constexpr uint64_t kSpareRows = 4096;
/* A part is large beside what it leaves. */
constexpr uint64_t kLeastPart = 128 << 10;
constexpr uint64_t kPartPerLimit = 8;

/* Candidates of one part of the rows. One thread's. */
class PartCandidates {
 public:
  PartCandidates(const ResultRows& rows, const RowOrder& order)
      : rows_(rows), order_(order), bound_(order, rows.columns()), list_(rows.budget(), kSpareRows) {}

  void add(uint64_t batch, uint64_t first, size_t n) {
    uint32_t selected[kBlockRows];
    const size_t count = bound_.select(rows_.batch(batch), first, n, selected);
    for (size_t i = 0; i < count; i++) list_.push_back(row_ref(batch, first + selected[i]));
    if (list_.size() >= most_) reduce();
  }
  const RowList& list() const { return list_; }
  RowList take() {
    reduce();
    return std::move(list_);
  }

 private:
  int compare(RowRef a, RowRef b) const {
    return bound_.comparator().compare(rows_.batch_of(a), ref_row(a), rows_.batch_of(b), ref_row(b));
  }

  void reduce() {
    RowRef* begin = list_.data();
    RowRef* end = begin + list_.size();
    auto less = [this](RowRef a, RowRef b) { return compare(a, b) < 0; };
    if (order_.ndistinct > 0) {
      std::sort(begin, end, less);
      end = std::unique(begin, end, [this](RowRef a, RowRef b) {
        return bound_.comparator().agree(rows_.batch_of(a), ref_row(a), rows_.batch_of(b), ref_row(b)) >=
               order_.ndistinct;
      });
      if (static_cast<uint64_t>(end - begin) > order_.limit) end = begin + order_.limit;
    } else if (static_cast<uint64_t>(end - begin) > order_.limit) {
      RowRef* last = begin + order_.limit - 1;
      std::nth_element(begin, last, end, less);
      end = order_.ties ? std::partition(last + 1, end, [&](RowRef ref) { return compare(ref, *last) == 0; })
                        : last + 1;
    }
    list_.resize(static_cast<uint64_t>(end - begin));
    if (order_.limit > 0 && list_.size() >= order_.limit) bound_.set(rows_, list_[order_.limit - 1]);
    most_ = 2 * std::max(list_.size(), order_.limit) + kSpareRows;
  }

  const ResultRows& rows_;
  const RowOrder& order_;
  OrderBound bound_;
  RowList list_;
  uint64_t most_ = 2 * order_.limit + kSpareRows;
};

}  // namespace

void OrderBound::set(const ResultRows& rows, RowRef last) {
  rows_ = &rows;
  last_ = last;
  coarse_.read(rows.batch_of(last), ref_row(last), 1, &code_);
}

size_t OrderBound::select(const ResultBatch& batch, uint64_t first, size_t n, uint32_t* selected) const {
  size_t count = 0;
  if (rows_ == nullptr) {
    for (; count < n; count++) selected[count] = static_cast<uint32_t>(count);
    return count;
  }
  uint64_t codes[kBlockRows];
  coarse_.read(batch, first, n, codes);
  for (size_t i = 0; i < n; i++) {
    if (codes[i] > code_) continue;
    if (codes[i] == code_) {
      const int order = comparator_.compare(batch, first + i, rows_->batch_of(last_), ref_row(last_));
      if (order > 0 || (order == 0 && !ties_)) continue;
    }
    selected[count++] = static_cast<uint32_t>(i);
  }
  return count;
}

RowList best_candidates(const ResultRows& rows, const RowOrder& order, ParallelWork& work) {
  RowList all(rows.budget(), kSpareRows);
  if (order.limit == 0) return all;
  struct Part {
    uint64_t batch, first, count;
  };
  const uint64_t part_rows = std::max(kLeastPart, order.limit * kPartPerLimit);
  std::vector<Part> parts;
  for (uint64_t s = 0; s < rows.batches(); s++)
    for (uint64_t first = 0, count = rows.batch(s).nrows; first < count; first += part_rows)
      parts.push_back({s, first, std::min(part_rows, count - first)});

  std::mutex mutex;
  work.each(parts.size(), [&](uint64_t p) {
    const Part& part = parts[p];
    PartCandidates candidates(rows, order);
    for (uint64_t done = 0; done < part.count; done += kBlockRows) {
      work.check();
      candidates.add(part.batch, part.first + done, std::min<uint64_t>(kBlockRows, part.count - done));
    }
    std::lock_guard lock(mutex);
    const uint64_t before = all.size();
    all.resize(before + candidates.list().size());
    std::copy_n(candidates.list().data(), candidates.list().size(), all.data() + before);
  });
  return all;
}

/* In small steps, so that there is a bound before much has been copied. */
void BestRows::add(const ResultBatch& batch) {
  std::vector<uint32_t> selected;
  uint32_t block[kBlockRows];
  for (uint64_t first = 0; first < batch.nrows && order_.limit > 0; first += kBlockRows) {
    const size_t count = bound_.select(batch, first, std::min<uint64_t>(kBlockRows, batch.nrows - first), block);
    for (size_t i = 0; i < count; i++) selected.push_back(static_cast<uint32_t>(first) + block[i]);
    if (selected.size() < kSpareRows) continue;
    keep(batch, selected);
    selected.clear();
  }
  keep(batch, selected);
}

RowList best_candidates_here(const ResultRows& rows, const RowOrder& order) {
  PartCandidates candidates(rows, order);
  if (order.limit == 0) return RowList(rows.budget(), 1);
  for (uint64_t s = 0; s < rows.batches(); s++)
    for (uint64_t first = 0, count = rows.batch(s).nrows; first < count; first += kBlockRows)
      candidates.add(s, first, std::min<uint64_t>(kBlockRows, count - first));
  return candidates.take();
}

void BestRows::keep(const ResultBatch& batch, std::span<const uint32_t> selected) {
  rows_->copy(batch, selected);
  if (rows_->size() > std::max(2 * order_.limit, least_to_reduce_) + kSpareRows) reduce();
}

void BestRows::reduce() {
  SortedRows best = order_rows(*rows_, nullptr, rows_->size(), order_, work_, nullptr);
  auto kept = std::make_unique<ResultRows>(columns_, rows_->budget());
  kept->copy(*rows_, best.rows().refs());
  rows_ = std::move(kept);
  if (rows_->size() >= order_.limit) bound_.set(*rows_, rows_->ref(order_.limit - 1));
  least_to_reduce_ = 2 * rows_->size();
}

}  // namespace turbine
