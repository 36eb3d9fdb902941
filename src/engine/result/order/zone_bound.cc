/*
 * zone_bound.cc - see zone_bound.h.
 *
 * Called before a segment is read. Must never exclude one that has a row which may be returned.
 */
#include "engine/result/order/zone_bound.h"

#include "turbine/mutant.h"

namespace turbine {

/* A NULL has the first or the last rank, which it shares with one integer: nothing strictly after or before that
 * one is mistaken. */
bool ZoneBound::excludes(const StoredColumn& column) const {
  const int64_t bound = rank_.load(std::memory_order_relaxed);
  if (TB_MUTANT(ties_excluded)) return bound != ZoneOrder::kLast && order_.first_rank(column) >= bound;
  if (TB_MUTANT(nulls_excluded)) {
    const StoredColumn::Zone zone = column.shape().zone;
    return zone.known && order_.rank(order_.descending ? zone.greatest : zone.least) > bound;
  }
  return order_.first_rank(column) > bound;
}

}  // namespace turbine
