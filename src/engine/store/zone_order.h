/*
 * zone_order.h - the order of a query's rows, as far as zones tell it: by the first sort key, which is a column of
 * the source that is kept as integers.
 */
#pragma once

#include <cstdint>
#include <limits>

#include "engine/store/segment.h"

namespace turbine {

struct ZoneOrder {
  size_t column;  // of the source
  bool descending, nulls_first;
  bool operator==(const ZoneOrder&) const = default;

  /* Ranks ascend as rows come. */
  static constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  int64_t rank(int64_t value) const { return descending ? ~value : value; }
  int64_t null_rank() const { return nulls_first ? kFirst : kLast; }

  /* A rank that no row of the segment's column comes before. */
  int64_t first_rank(const StoredColumn& column) const {
    const StoredColumn::Zone& zone = column.shape().zone;
    if (!zone.known || (nulls_first && column.shape().nulls)) return kFirst;
    if (zone.least > zone.greatest) return null_rank();
    return rank(descending ? zone.greatest : zone.least);
  }
};

}  // namespace turbine
