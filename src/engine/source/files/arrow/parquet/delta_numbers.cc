/*
 * delta_numbers.cc - see delta_numbers.h.
 *
 * Owns nothing. As in hybrid_runs.cc, what a writer has cut off is an error only when it is read.
 */
#include "engine/source/files/arrow/parquet/delta_numbers.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "engine/source/files/arrow/parquet/bit_unpacking.h"
#include "engine/source/files/table_file.h"

namespace turbine {
namespace {

constexpr uint32_t kSome = 128;  // distances at a time

/* One of more than 32 bits; all of it lies before `end`. */
uint64_t unpack_wide(const uint8_t* bytes, const uint8_t* end, uint64_t place, uint32_t width) {
  const uint64_t bit = place * width;
  bytes += bit / 8;
  uint8_t some[16] = {};
  memcpy(some, bytes, static_cast<size_t>(std::min<ptrdiff_t>(9, end - bytes)));
  unsigned __int128 word;
  memcpy(&word, some, sizeof word);
  const auto value = static_cast<uint64_t>(word >> bit % 8);
  return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
}

}  // namespace

DeltaNumbers::DeltaNumbers(const uint8_t* bytes, const uint8_t* end) : next_(bytes), end_(end) {
  const uint64_t block_values = next_number();
  miniblocks_ = next_number();
  left_ = next_number();
  last_ = static_cast<uint64_t>(next_signed());
  is_first_ = true;
  if (miniblocks_ == 0 || block_values > UINT32_MAX || block_values % miniblocks_ != 0)
    throw FileError("distances in blocks of an unknown shape");
  miniblock_values_ = block_values / miniblocks_;
  if (miniblock_values_ == 0 || miniblock_values_ % 8 != 0) throw FileError("distances in blocks of an unknown shape");
  miniblock_ = miniblocks_;
}

uint64_t DeltaNumbers::next_number() {
  uint64_t number = 0;
  for (uint32_t shift = 0;; shift += 7) {
    if (next_ == end_ || shift > 63) throw FileError("a page ends in a number before its distances");
    number |= uint64_t{static_cast<uint8_t>(*next_ & 0x7f)} << shift;
    if ((*next_++ & 0x80) == 0) return number;
  }
}

/* The sign is the lowest bit. */
int64_t DeltaNumbers::next_signed() {
  const uint64_t number = next_number();
  return static_cast<int64_t>(number >> 1 ^ (~(number & 1) + 1));
}

void DeltaNumbers::next_miniblock() {
  if (miniblock_ == miniblocks_) {
    least_ = static_cast<uint64_t>(next_signed());
    if (miniblocks_ > static_cast<uint64_t>(end_ - next_)) throw FileError("a page ends before its distances");
    widths_ = next_;
    next_ += miniblocks_;
    miniblock_ = 0;
  }
  width_ = widths_[miniblock_++];
  if (width_ > 64) throw FileError("distances of " + std::to_string(width_) + " bits");
  const uint64_t size = std::min(miniblock_values_ / 8 * width_, static_cast<uint64_t>(end_ - next_));
  values_ = width_ == 0 ? miniblock_values_ : std::min(miniblock_values_, size * 8 / width_);
  packed_ = next_;
  next_ += size;
  place_ = 0;
  if (values_ == 0) throw FileError("a page ends before its distances");
}

uint32_t DeltaNumbers::unpack(uint32_t count, uint64_t* distances) {
  if (place_ == values_) {
    if (values_ < miniblock_values_ && packed_) throw FileError("a page ends before its distances");
    next_miniblock();
  }
  const auto some = static_cast<uint32_t>(std::min<uint64_t>({count, values_ - place_, kSome}));
  if (width_ == 0) {
    std::fill_n(distances, some, 0);
  } else if (width_ <= kMostPackedBits) {
    uint32_t narrow[kSome];
    unpack_bits(packed_, static_cast<uint64_t>(end_ - packed_), place_, some, width_, narrow);
    std::copy_n(narrow, some, distances);
  } else {
    for (uint32_t i = 0; i < some; i++) distances[i] = unpack_wide(packed_, end_, place_ + i, width_);
  }
  place_ += some;
  return some;
}

template <class Value>
void DeltaNumbers::read_as(uint32_t count, Value* values) {
  if (count > left_) throw FileError("a page holds fewer values than it says");
  left_ -= count;
  if (is_first_ && count > 0) {
    is_first_ = false;
    *values++ = static_cast<Value>(last_);
    count--;
  }
  uint64_t distances[kSome];
  while (count > 0) {
    const uint32_t some = unpack(count, distances);
    for (uint32_t i = 0; i < some; i++) values[i] = static_cast<Value>(last_ += least_ + distances[i]);
    values += some;
    count -= some;
  }
}

template void DeltaNumbers::read_as<int32_t>(uint32_t, int32_t*);
template void DeltaNumbers::read_as<int64_t>(uint32_t, int64_t*);

}  // namespace turbine
