/*
 * row_ranges.h - rows of a batch that are wanted, and a place that moves through them.
 */
#pragma once

#include <cstdint>
#include <vector>

namespace turbine {

struct RowRange {
  uint64_t first = 0, count = 0;
  uint64_t end() const { return first + count; }
};

/* Ascending and apart from each other, none is empty. */
using RowRanges = std::vector<RowRange>;

/* Adds rows behind all others. */
inline void append_rows(RowRanges& ranges, RowRange rows) {
  if (!ranges.empty() && ranges.back().end() == rows.first)
    ranges.back().count += rows.count;
  else
    ranges.push_back(rows);
}

/* Whether some row from `first` up to `end` is wanted. */
inline bool any_row(const RowRanges& ranges, uint64_t first, uint64_t end) {
  for (const RowRange& range : ranges)
    if (range.first < end && range.end() > first) return true;
  return false;
}

class RowCursor {
 public:
  explicit RowCursor(RowRanges ranges) : ranges_(std::move(ranges)) {}
  /* Takes the next wanted rows, which end in the range that they begin in; returns how many others come before them. */
  uint64_t take(uint32_t count) {
    uint64_t before = 0;
    if (range_ < ranges_.size() && row_ == ranges_[range_].end()) range_++;
    if (range_ < ranges_.size() && row_ < ranges_[range_].first) {
      before = ranges_[range_].first - row_;
      row_ = ranges_[range_].first;
    }
    row_ += count;
    return before;
  }
  uint64_t row() const { return row_; }

 private:
  const RowRanges ranges_;
  size_t range_ = 0;
  uint64_t row_ = 0;  // behind the last one that was taken
};

}  // namespace turbine
