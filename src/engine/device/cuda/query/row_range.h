/*
 * row_range.h - which rows of a chunk are probed at a time.
 *
 * All of them at first; fewer where their tuples have no room; and then those
 * after, until the chunk is through.
 */
#pragma once

#include <algorithm>
#include <cstdint>

namespace turbine::cuda {

class RowRange {
 public:
  RowRange() = default;
  explicit RowRange(uint32_t nrows) : end_(nrows), total_(nrows) {}

  uint32_t first() const { return first_; }
  uint32_t end() const { return end_; }
  uint32_t total() const { return total_; }

  /* Fewer of its rows, given that all made `found` tuples and that there is room
   * for `room`: at most half of them. False if it is one row. */
  bool shrink(uint64_t found, uint64_t room) {
    const uint64_t rows = end_ - first_;
    if (rows <= 1) return false;
    // Somewhat fewer than would fit if all rows made the same number.
    const uint64_t fit = static_cast<uint64_t>(static_cast<double>(rows) * static_cast<double>(room) * 0.75 /
                                               static_cast<double>(std::max<uint64_t>(found, 1)));
    end_ = first_ + static_cast<uint32_t>(std::clamp<uint64_t>(fit, 1, rows / 2));
    return true;
  }

  /* The rows after, as many as there were before, or a little more: what did not
   * fit may have been an exception. False if there are none. */
  bool next() {
    if (end_ >= total_) return false;
    const uint64_t rows = end_ - first_;
    first_ = end_;
    end_ = static_cast<uint32_t>(std::min<uint64_t>(total_, first_ + rows + rows / 4 + 1));
    return true;
  }

 private:
  uint32_t first_ = 0, end_ = 0, total_ = 0;
};

}  // namespace turbine::cuda
