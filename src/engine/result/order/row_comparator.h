/*
 * row_comparator.h - two rows compared key by key, where they lie.
 *
 * The meaning of an order; sorting does most of its work on packed keys
 * (key_packing.h) and asks this where they do not tell.
 */
#pragma once

#include <span>
#include <vector>

#include "engine/device/result_batch.h"
#include "engine/result/plan/column_shape.h"
#include "turbine/result.h"

namespace turbine {

class RowComparator {
 public:
  RowComparator(std::span<const TbSortKey> keys, const std::vector<ColumnShape>& columns);

  size_t nkeys() const { return keys_.size(); }

  /* By keys from `first` on: below 0 if `a` comes first. */
  int compare(const ResultBatch& a, uint64_t row_a, const ResultBatch& b, uint64_t row_b, size_t first = 0) const;

  /* How many keys, from key 0 on, agree; the first `known` are known to. */
  size_t agree(const ResultBatch& a, uint64_t row_a, const ResultBatch& b, uint64_t row_b, size_t known = 0) const;

 private:
  struct Key {
    uint32_t column;
    uint32_t type;
    bool descending, nulls_first;
  };
  static int compare_key(const Key& key, const ResultBatch& a, uint64_t row_a, const ResultBatch& b, uint64_t row_b);

  std::vector<Key> keys_;
};

}  // namespace turbine
