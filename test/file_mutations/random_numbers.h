/*
 * random_numbers.h - numbers that follow from a seed, the same on every machine (splitmix64).
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace turbine::file_mutations {

class RandomNumbers {
 public:
  explicit RandomNumbers(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /* Below `count`, which is not 0. */
  uint64_t below(uint64_t count) { return next() % count; }
  bool one_in(uint64_t count) { return below(count) == 0; }
  uint64_t pick(std::initializer_list<uint64_t> values) { return values.begin()[below(values.size())]; }

 private:
  uint64_t state_;
};

}  // namespace turbine::file_mutations
