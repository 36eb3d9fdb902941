/*
 * result_rows.h - the rows that a result plan works on, where they lie: batches
 * that a device keeps, and copies of those that it does not.
 *
 * A row is named by its batch and its place there, so that finding it takes no
 * search; numbers count rows through all batches. Window functions add columns,
 * which lie in the order of the numbers. Memory is charged to the query's budget.
 */
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "engine/device/result_batch.h"
#include "engine/memory/host_memory.h"
#include "engine/result/plan/column_shape.h"

namespace turbine {

using RowRef = uint64_t;
constexpr unsigned kRefBatchShift = 40;
constexpr RowRef row_ref(uint64_t batch, uint64_t row) { return batch << kRefBatchShift | row; }
constexpr uint64_t ref_batch(RowRef ref) { return ref >> kRefBatchShift; }
constexpr uint64_t ref_row(RowRef ref) { return ref & ((RowRef{1} << kRefBatchShift) - 1); }

/* References that are charged to a budget. */
class RowList {
 public:
  RowList(MemoryBudget& budget, uint64_t capacity)
      : memory_(budget, capacity * sizeof(RowRef), HostContents::kAnything) {}
  /* `size` references with undefined values, in memory that is there. */
  RowList(HostBuffer memory, uint64_t size) : memory_(std::move(memory)), size_(size) {}

  uint64_t size() const { return size_; }
  RowRef* data() { return reinterpret_cast<RowRef*>(memory_.data()); }
  const RowRef* data() const { return reinterpret_cast<const RowRef*>(memory_.data()); }
  std::span<const RowRef> refs() const { return {data(), size_}; }
  RowRef operator[](uint64_t i) const { return data()[i]; }

  /* What is added has undefined values. */
  void resize(uint64_t size) {
    if (size * sizeof(RowRef) > memory_.size()) memory_.grow(std::max(size * sizeof(RowRef), memory_.size() * 2));
    size_ = size;
  }
  void push_back(RowRef ref) {
    resize(size_ + 1);
    data()[size_ - 1] = ref;
  }

 private:
  HostBuffer memory_;
  uint64_t size_ = 0;
};

class ResultRows {
 public:
  ResultRows(std::vector<ColumnShape> columns, MemoryBudget& budget) : columns_(std::move(columns)), budget_(budget) {}

  /* Rows whose memory stays as long as this. */
  void borrow(const ResultBatch& batch);
  /* Likewise, with the memory that they lie in. */
  void take(const ResultBatch& batch, std::vector<HostBuffer> memory) {
    borrow(batch);
    for (HostBuffer& buffer : memory) owned_.push_back(std::move(buffer));
  }
  /* Copies of the rows of a batch with these numbers in it; and of rows of another. */
  void copy(const ResultBatch& batch, std::span<const uint32_t> rows);
  void copy(const ResultRows& from, std::span<const RowRef> refs);

  /* A further column, for every row by its number. Not after it more rows. */
  void add_column(const ColumnShape& shape, HostBuffer values, HostBuffer valid);  // valid: if nullable

  uint64_t size() const { return size_; }
  const std::vector<ColumnShape>& columns() const { return columns_; }
  size_t batches() const { return batches_.size(); }
  const ResultBatch& batch(size_t i) const { return batches_[i]; }

  const ResultBatch& batch_of(RowRef ref) const { return batches_[ref_batch(ref)]; }
  uint64_t number(RowRef ref) const { return first_number_[ref_batch(ref)] + ref_row(ref); }
  RowRef ref(uint64_t number) const {
    const auto it = std::upper_bound(first_number_.begin(), first_number_.end(), number) - 1;
    return row_ref(static_cast<uint64_t>(it - first_number_.begin()), number - *it);
  }
  MemoryBudget& budget() const { return budget_; }

 private:
  std::vector<ColumnShape> columns_;
  MemoryBudget& budget_;
  std::vector<ResultBatch> batches_;  // none is empty
  std::vector<uint64_t> first_number_;
  std::vector<HostBuffer> owned_;
  uint64_t size_ = 0;
};

/*
 * Goes through rows of one batch at a time, a few at once: those that stand at
 * places [first, first + count) of `list`, or of all rows if it is null.
 * f(const ResultBatch &, const RowRef *refs, size_t n, uint64_t place): the refs are
 * of the batch.
 */
constexpr size_t kBlockRows = 1024;
template <class F>
void for_row_blocks(const ResultRows& rows, const RowRef* list, uint64_t first, uint64_t count, F&& f) {
  RowRef made[kBlockRows];
  for (uint64_t at = first, end = first + count; at < end;) {
    const RowRef* refs = list ? list + at : made;
    const RowRef head = list ? refs[0] : rows.ref(at);
    const uint64_t batch = ref_batch(head);
    size_t n = 1;
    if (list) {
      while (n < kBlockRows && at + n < end && ref_batch(refs[n]) == batch) n++;
    } else {
      n = std::min<uint64_t>({kBlockRows, end - at, rows.batch(batch).nrows - ref_row(head)});
      for (size_t i = 0; i < n; i++) made[i] = head + i;
    }
    f(rows.batch(batch), refs, n, at);
    at += n;
  }
}

}  // namespace turbine
