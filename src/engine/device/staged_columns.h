/*
 * staged_columns.h - columns of a task of segments, in memory that a device fetches them from fast.
 *
 * Whoever makes the segments copies their columns as well, while the processor's cache still has them, or writes them
 * nowhere else: one copy then brings the whole task to the device. Segments come in the order that the task has them,
 * each with all of the task's columns.
 *
 * One thread at a time.
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "engine/store/segment.h"

namespace turbine {

class StagedColumns {
 public:
  StagedColumns(uint8_t* memory, uint64_t capacity) : memory_(memory), capacity_(capacity) {}
  virtual ~StagedColumns() = default;
  StagedColumns(const StagedColumns&) = delete;

  /* Of a column, where the next one begins on this alignment. */
  static constexpr uint64_t kAlignment = 64;
  static uint64_t bytes_of(const StoredColumn& column) { return aligned(column.bytes()); }

  /* Of these columns of a segment. */
  static uint64_t bytes_of(const Segment& segment, const std::vector<uint32_t>& columns) {
    uint64_t bytes = 0;
    for (const uint32_t number : columns) bytes += bytes_of(*segment.find(number)->data);
    return bytes;
  }

  /* Memory where a column of the segment that is added next, or several of them each behind the one before by its
   * bytes_of(), can be written, which are not copied then. Null: there is no room. */
  uint8_t* place(uint64_t bytes) {
    bytes = aligned(bytes);
    if (bytes > capacity_ - placed_) return nullptr;
    placed_ += bytes;
    return memory_ + placed_ - bytes;
  }

  /* False: there is no room, and the copies are of no use. */
  bool add(const Segment& segment, const std::vector<uint32_t>& columns) {
    for (const uint32_t number : columns) {
      const StoredColumn& column = *segment.find(number)->data;
      if (is_there(column)) {
        offsets_.push_back(offset_of(column));
        continue;
      }
      uint8_t* const copy = place(column.bytes());
      if (!copy) return false;
      memcpy(copy, column.values(), column.bytes());
      offsets_.push_back(static_cast<uint64_t>(copy - memory_));
    }
    size_ = placed_;
    return true;
  }

  /* Of each column of each segment, in the order that they were added in. */
  const std::vector<uint64_t>& offsets() const { return offsets_; }
  const uint8_t* memory() const { return memory_; }
  uint64_t size() const { return size_; }

 private:
  static uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
  /* In memory that place() has handed out. */
  bool is_there(const StoredColumn& column) const {
    const std::less<const uint8_t*> before;
    const auto* values = static_cast<const uint8_t*>(column.values());
    return !before(values, memory_ + size_) && before(values, memory_ + capacity_);
  }
  uint64_t offset_of(const StoredColumn& column) const {
    return static_cast<uint64_t>(static_cast<const uint8_t*>(column.values()) - memory_);
  }

  uint8_t* const memory_;
  const uint64_t capacity_;
  uint64_t size_ = 0, placed_ = 0;  // of segments that were added; and of the next one
  std::vector<uint64_t> offsets_;
};

}  // namespace turbine
