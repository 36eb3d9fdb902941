/*
 * zone_bound.h - how late a row may come and still be among the first rows of an order, as far as rows have been
 * seen; and which segments have later rows only.
 *
 * Any thread. What is read may be older than what another thread has noted: then more is read than need be.
 */
#pragma once

#include <atomic>

#include "engine/device/zone_order.h"

namespace turbine {

class ZoneBound {
 public:
  explicit ZoneBound(const ZoneOrder& order) : order_(order) {}

  const ZoneOrder& order() const { return order_; }

  /* As many rows as stay have at most this rank: rows behind it never stay. */
  void note(int64_t rank) {
    int64_t before = rank_.load(std::memory_order_relaxed);
    while (rank < before && !rank_.compare_exchange_weak(before, rank, std::memory_order_relaxed)) {
    }
    noted_.store(true, std::memory_order_relaxed);
  }
  bool noted() const { return noted_.load(std::memory_order_relaxed); }

  /* Whether all rows of the segment's column come strictly later. Rows of the bound's own rank may stay: further
   * keys decide, or they are ties. */
  bool excludes(const StoredColumn& column) const;

 private:
  const ZoneOrder order_;
  std::atomic<int64_t> rank_{ZoneOrder::kLast};  // nothing comes after it
  std::atomic<bool> noted_{false};
};

}  // namespace turbine
