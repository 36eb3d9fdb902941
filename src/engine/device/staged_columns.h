/*
 * staged_columns.h - columns of a task of segments, copied one behind the other to where a device fetches them fast.
 *
 * Whoever makes the segments copies their columns as well, while the processor's cache still has them: one copy then
 * brings the whole task to the device. Segments come in the order that the task has them, each with all of the task's
 * columns in their order.
 *
 * One thread at a time.
 */
#pragma once

#include <cstdint>
#include <cstring>

#include "engine/store/segment.h"

namespace turbine {

class StagedColumns {
 public:
  StagedColumns(uint8_t* memory, uint64_t capacity) : memory_(memory), capacity_(capacity) {}
  virtual ~StagedColumns() = default;
  StagedColumns(const StagedColumns&) = delete;

  /* Of a column, where the next one begins on this alignment. */
  static constexpr uint64_t kAlignment = 64;
  static uint64_t bytes_of(const StoredColumn& column) {
    return (column.bytes() + kAlignment - 1) / kAlignment * kAlignment;
  }

  /* Of these columns of a segment. */
  static uint64_t bytes_of(const Segment& segment, const std::vector<uint32_t>& columns) {
    uint64_t bytes = 0;
    for (const uint32_t number : columns) bytes += bytes_of(*segment.find(number)->data);
    return bytes;
  }

  /* False: there is no room, and the copies are of no use. */
  bool add(const Segment& segment, const std::vector<uint32_t>& columns) {
    for (const uint32_t number : columns) {
      const StoredColumn& column = *segment.find(number)->data;
      if (bytes_of(column) > capacity_ - size_) return false;
      memcpy(memory_ + size_, column.values(), column.bytes());
      size_ += bytes_of(column);
    }
    return true;
  }

  const uint8_t* memory() const { return memory_; }
  uint64_t size() const { return size_; }

 private:
  uint8_t* const memory_;
  const uint64_t capacity_;
  uint64_t size_ = 0;
};

}  // namespace turbine
