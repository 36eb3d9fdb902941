/*
 * window_partition.h - the rows that a window function sees together.
 *
 * Made by window_pass.cc for each partition of a pass; every kind of function reads it and
 * none changes it.
 */
#pragma once

#include "engine/result/order/sorted_rows.h"

namespace turbine {

/* Places [begin, end) of sorted rows whose partition keys agree. */
struct WindowPartition {
  const SortedRows& rows;
  size_t nkeys;  // rows that agree in so many are peers
  uint64_t begin, end;

  uint64_t size() const { return end - begin; }
  /* Rows of an order lie anywhere: f(row) for the one that is so many places behind, maybe in a partition to come, so
   * that it is on its way when its turn comes. */
  template <class F>
  void look_ahead(uint64_t place, F f) const {
    constexpr uint64_t kRowsAhead = 16;
    if (place + kRowsAhead < rows.size()) f(rows[place + kRowsAhead]);
  }
  bool starts_peers(uint64_t place) const { return place == begin || rows.agree()[place] < nkeys; }
  /* Where the peers of the row at `place` end. */
  uint64_t peers_end(uint64_t place) const {
    do place++;
    while (place < end && !starts_peers(place));
    return place;
  }
};

}  // namespace turbine
