/*
 * delta_numbers.h - Parquet's DELTA_BINARY_PACKED: integers as packed distances from the one before.
 *
 * A page begins with the numbers of values of a block, of miniblocks of a block and of all values, and with the first
 * value. A block begins with its least distance and the bits of each miniblock's distances, which count from the least.
 */
#pragma once

#include <cstdint>

namespace turbine {

class DeltaNumbers {
 public:
  DeltaNumbers() = default;
  /* Borrows the bytes. Throws FileError. */
  DeltaNumbers(const uint8_t* bytes, const uint8_t* end);

  /* The next values, of 32 or 64 bits; those that do not fit wrap around. Throws FileError if the bytes hold fewer. */
  void read(uint32_t count, int32_t* values) { read_as(count, values); }
  void read(uint32_t count, int64_t* values) { read_as(count, values); }

 private:
  template <class Value>
  void read_as(uint32_t count, Value* values);
  uint64_t next_number();
  int64_t next_signed();
  void next_miniblock();
  /* Some of the miniblock's distances, at most `count`, at this place. */
  uint32_t unpack(uint32_t count, uint64_t* distances);

  const uint8_t* next_ = nullptr;
  const uint8_t* end_ = nullptr;
  uint64_t miniblock_values_ = 0, miniblocks_ = 0;  // of a miniblock, of a block
  uint64_t left_ = 0;  // of the page
  bool is_first_ = false;  // `last_` is to be returned itself
  uint64_t last_ = 0;
  // The block at hand.
  const uint8_t* widths_ = nullptr;
  uint64_t miniblock_ = 0;
  uint64_t least_ = 0;
  // The miniblock at hand.
  const uint8_t* packed_ = nullptr;
  uint64_t place_ = 0, values_ = 0;
  uint32_t width_ = 0;
};

}  // namespace turbine
