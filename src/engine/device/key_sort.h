/*
 * key_sort.h - a device's own sort of packed keys, for the results of a query that has
 * run there.
 *
 * Whoever wants rows sorted packs their keys into words, piece by piece on the host's
 * threads, and gets the rows' numbers back in order, likewise. Rows of equal keys keep
 * their order.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/threads/parallel_work.h"

namespace turbine {

/* Of 32 bits each, the first the most significant. */
inline constexpr unsigned kMostSortWords = 4;

struct KeySortInput {
  uint64_t count;  // of rows
  unsigned words;  // of a row's key
  /* Sets words[w][i] to word w of row first + i, i < n. Any thread, pieces in any order. */
  std::function<void(uint64_t first, uint64_t n, uint32_t* const* words)> pack;
  /* If it is wanted how many keys a row has in common with the one before: for each bit, the most
   * significant first, which key it is part of; and what rows with equal words have in common. */
  std::span<const uint8_t> key_of_bit = {};
  unsigned nkeys = 0;
};

/* Rows at places [first, first + n) of the order by their numbers; and, if wanted, how many
 * keys each has in common with the row before (row 0: 0). Any thread, pieces in any order. */
using TakeSortedRows = std::function<void(uint64_t first, uint64_t n, const uint32_t* rows, const uint8_t* agree)>;

class KeySort {
 public:
  virtual ~KeySort() = default;

  /* Is it faster than `threads` threads of the host are? */
  virtual bool pays(uint64_t count, unsigned words, unsigned threads) const = 0;

  /* One at a time, by the query's thread. Throws DeviceError: the device has failed, or has no
   * memory, and the host may sort instead, for which no state is left here; the query was closed;
   * or what `pack` and `take` throw. Some rows may have been taken by then. */
  virtual void sort(const KeySortInput& input, const TakeSortedRows& take, ParallelWork& work) = 0;
};

}  // namespace turbine
