/*
 * coarse_key.h - the first key of an order as 64 bits: rows whose bits are above
 * those of the last row that stays need no closer look.
 *
 * Of two rows the one that comes first has bits that are less or equal.
 */
#pragma once

#include <span>
#include <vector>

#include "engine/result/rows/result_rows.h"
#include "turbine/result.h"

namespace turbine {

class CoarseKey {
 public:
  CoarseKey(std::span<const TbSortKey> keys, const std::vector<ColumnShape>& columns);

  /* Of rows [first, first + n) of a batch. */
  void read(const ResultBatch& batch, uint64_t first, size_t n, uint64_t* codes) const;

 private:
  bool any_ = false;  // are there keys?
  uint32_t column_ = 0, type_ = 0;
  bool descending_ = false, nulls_first_ = false;
};

}  // namespace turbine
