/*
 * entry_sort.h - sorting packed keys: radix passes over the bits in which entries
 * differ, from the first of these on.
 *
 * An entry is a row's packed key and its reference. `Less` decides between entries
 * whose keys are equal; it is not asked where keys are exact.
 */
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "engine/result/rows/result_rows.h"

namespace turbine {

template <unsigned kWords>
struct SortEntry {
  uint64_t words[kWords];
  RowRef row;
};

template <unsigned kWords>
int compare_words(const SortEntry<kWords>& a, const SortEntry<kWords>& b) {
  for (unsigned w = 0; w < kWords; w++)
    if (a.words[w] != b.words[w]) return a.words[w] < b.words[w] ? -1 : 1;
  return 0;
}

/* Sorts entries[0 .. n), with room for as many at `scratch`. */
template <unsigned kWords, class Less>
class EntrySort {
 public:
  using Entry = SortEntry<kWords>;

  EntrySort(bool exact, Less less) : exact_(exact), less_(less) {}

  void sort(Entry* entries, Entry* scratch, uint64_t n) const {
    if (n <= kFew) {
      compare_sort(entries, n);
      return;
    }
    uint64_t differ[kWords] = {};
    for (uint64_t i = 1; i < n; i++)
      for (unsigned w = 0; w < kWords; w++) differ[w] |= entries[i].words[w] ^ entries[0].words[w];
    unsigned word = 0;
    while (word < kWords && differ[word] == 0) word++;
    if (word == kWords) {
      if (!exact_) compare_sort(entries, n);
      return;
    }
    const auto top = static_cast<unsigned>(std::bit_width(differ[word]));
    const unsigned bits = std::min(top, n < kManyForTwoPasses ? 2 * kDigit : 3 * kDigit);
    const unsigned low = top - bits;
    radix(entries, scratch, n, word, low, bits);
    if (low == 0 && word + 1 == kWords && exact_) return;
    sort_runs(entries, scratch, n, word, low);
  }

 private:
  static constexpr uint64_t kFew = 40;
  static constexpr uint64_t kManyForTwoPasses = 2048;
  static constexpr unsigned kDigit = 8;
  static constexpr unsigned kBins = 1u << kDigit;

  void compare_sort(Entry* entries, uint64_t n) const {
    std::sort(entries, entries + n, [this](const Entry& a, const Entry& b) {
      const int order = compare_words(a, b);
      return order != 0 ? order < 0 : !exact_ && less_(a.row, b.row);
    });
  }

  /* By bits [low, low + bits) of one word; those above are equal. */
  void radix(Entry* entries, Entry* scratch, uint64_t n, unsigned word, unsigned low, unsigned bits) const {
    Entry *from = entries, *to = scratch;
    for (unsigned shift = low; shift < low + bits; shift += kDigit) {
      const uint64_t mask = (uint64_t{1} << std::min(kDigit, low + bits - shift)) - 1;
      uint64_t starts[kBins] = {};
      for (uint64_t i = 0; i < n; i++) starts[from[i].words[word] >> shift & mask]++;
      uint64_t at = 0;
      for (uint64_t& start : starts) at += std::exchange(start, at);
      for (uint64_t i = 0; i < n; i++) to[starts[from[i].words[word] >> shift & mask]++] = from[i];
      std::swap(from, to);
    }
    if (from != entries) memcpy(static_cast<void*>(entries), from, n * sizeof(Entry));
  }

  /* Runs that agree down to bit `low` are in no order yet. */
  void sort_runs(Entry* entries, Entry* scratch, uint64_t n, unsigned word, unsigned low) const {
    for (uint64_t first = 0; first < n;) {
      const uint64_t digits = entries[first].words[word] >> low;
      uint64_t end = first + 1;
      while (end < n && entries[end].words[word] >> low == digits) end++;
      if (end - first > 1) sort(entries + first, scratch, end - first);
      first = end;
    }
  }

  const bool exact_;
  const Less less_;
};

}  // namespace turbine
