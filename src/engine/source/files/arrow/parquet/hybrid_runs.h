/*
 * hybrid_runs.h - Parquet's hybrid of run lengths and packed bits: levels, and indexes of a dictionary.
 *
 * A run begins with a number in groups of 7 bits. Its lowest bit is 0: the rest is how often one value follows, which
 * takes whole bytes; 1: the rest is how many times eight packed values follow.
 */
#pragma once

#include <cstdint>

namespace turbine {

class HybridRuns {
 public:
  HybridRuns() = default;
  /* Borrows the bytes. Values have `width` bits, 0 to 32. */
  HybridRuns(const uint8_t* bytes, const uint8_t* end, uint32_t width) : next_(bytes), end_(end), width_(width) {}

  /* Of packed values alone, without a header. */
  static HybridRuns packed(const uint8_t* bytes, const uint8_t* end, uint32_t width);

  /* The next values. Throws FileError if the bytes hold fewer, or a value of more bits. */
  void read(uint32_t count, uint32_t* values);

  /* The same of values of one bit, as bytes. Returns how many are 1. */
  uint32_t read_flags(uint32_t count, uint8_t* flags);

  /* Whether the run at hand says that the next `count` values are 1: then they are taken. Throws the same. */
  bool take_ones(uint32_t count);

 private:
  /* So many of the run at hand, at most `count`. */
  uint32_t take(uint32_t count);
  void next_run();

  const uint8_t* next_ = nullptr;  // behind the run at hand
  const uint8_t* end_ = nullptr;
  uint32_t width_ = 0;
  // The run at hand.
  uint64_t left_ = 0;                // values
  const uint8_t* packed_ = nullptr;  // null: `value_` is repeated
  uint64_t place_ = 0;               // of the next value among those packed
  uint32_t value_ = 0;
};

}  // namespace turbine
