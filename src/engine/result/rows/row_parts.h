/*
 * row_parts.h - rows 0 ... count - 1 cut into parts of equal size, a few for each
 * thread; one if they are few.
 */
#pragma once

#include <algorithm>
#include <cstdint>

namespace turbine {

class RowParts {
 public:
  RowParts(uint64_t count, unsigned threads) : count_(count) {
    constexpr uint64_t kLeast = 32 << 10, kPartsPerThread = 4;
    const uint64_t even = count / (threads * kPartsPerThread) + 1;
    // Below that much, waking threads costs more than they save.
    part_ = std::max(even, kLeast);
    size_ = (count + part_ - 1) / part_;
  }

  uint64_t size() const { return size_; }
  uint64_t first(uint64_t part) const { return part * part_; }
  uint64_t count(uint64_t part) const { return std::min(part_, count_ - first(part)); }

 private:
  uint64_t count_, part_, size_;
};

}  // namespace turbine
