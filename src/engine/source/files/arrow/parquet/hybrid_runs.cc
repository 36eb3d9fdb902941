/*
 * hybrid_runs.cc - see hybrid_runs.h.
 *
 * Owns nothing. The last packed run may say more than its bytes hold, as writers cut off what pads it; a value that is
 * not there is an error only when it is read.
 */
#include "engine/source/files/arrow/parquet/hybrid_runs.h"

#include <algorithm>
#include <cstring>

#include "engine/source/files/arrow/parquet/bit_unpacking.h"
#include "engine/source/files/table_file.h"

namespace turbine {

HybridRuns HybridRuns::packed(const uint8_t* bytes, const uint8_t* end, uint32_t width) {
  HybridRuns runs(end, end, width);
  runs.packed_ = bytes;
  runs.left_ = static_cast<uint64_t>(end - bytes) * 8 / width;
  return runs;
}

void HybridRuns::next_run() {
  uint64_t header = 0;
  for (uint32_t shift = 0;; shift += 7) {
    if (next_ == end_ || shift > 28) throw FileError("a run of levels or indexes ends in its header");
    header |= uint64_t{static_cast<uint8_t>(*next_ & 0x7f)} << shift;
    if ((*next_++ & 0x80) == 0) break;
  }
  if (header > UINT32_MAX) throw FileError("a run of levels or indexes of a length beyond 32 bits");
  const auto bytes_left = static_cast<uint64_t>(end_ - next_);
  if (header & 1) {
    const uint64_t groups = header >> 1;
    packed_ = next_;
    const uint64_t size = std::min(groups * width_, bytes_left);
    place_ = 0;
    left_ = std::min(groups * 8, size * 8 / width_);
    next_ += size;
  } else {
    const uint32_t bytes = (width_ + 7) / 8;
    if (bytes > bytes_left) throw FileError("a run of levels or indexes ends before its value");
    packed_ = nullptr;
    value_ = 0;
    memcpy(&value_, next_, bytes);
    next_ += bytes;
    left_ = header >> 1;
    if (width_ < 32 && value_ >> width_ != 0) throw FileError("a level or an index of too many bits");
  }
}

uint32_t HybridRuns::take(uint32_t count) {
  while (left_ == 0) next_run();
  const auto some = static_cast<uint32_t>(std::min<uint64_t>(count, left_));
  left_ -= some;
  return some;
}

bool HybridRuns::take_ones(uint32_t count) {
  while (left_ == 0 && next_ != end_) next_run();
  if (packed_ || value_ != 1 || left_ < count) return false;
  left_ -= count;
  return true;
}

void HybridRuns::read(uint32_t count, uint32_t* values) {
  // All are 0, and writers need not say how many there are.
  if (width_ == 0) {
    std::fill(values, values + count, 0);
    return;
  }
  while (count > 0) {
    const uint32_t some = take(count);
    if (packed_)
      unpack_bits(packed_, static_cast<uint64_t>(end_ - packed_), place_, some, width_, values);
    else
      std::fill(values, values + some, value_);
    place_ += some;
    values += some;
    count -= some;
  }
}

uint32_t HybridRuns::read_flags(uint32_t count, uint8_t* flags) {
  uint32_t ones = 0;
  while (count > 0) {
    const uint32_t some = take(count);
    if (packed_) {
      ones += unpack_flags(packed_, place_, some, flags);
    } else {
      memset(flags, static_cast<int>(value_), some);
      ones += value_ * some;
    }
    place_ += some;
    flags += some;
    count -= some;
  }
  return ones;
}

}  // namespace turbine
