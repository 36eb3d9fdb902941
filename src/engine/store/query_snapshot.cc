/*
 * query_snapshot.cc - see query_snapshot.h.
 *
 * Owns nothing. Called when cached blocks are looked for and filled. Must never call a range ended of which a
 * transaction may still be open to the snapshot.
 */
#include "engine/store/query_snapshot.h"

#include <algorithm>

#include "turbine/mutant.h"

namespace turbine {

bool QuerySnapshot::has_ended(const XidRange& range) const {
  if (range.empty() || range.greatest < xmin || TB_MUTANT(fresh_xids_ignored)) return true;
  if ((overflowed && !TB_MUTANT(fresh_overflow_ignored)) || in_recovery) return false;
  if (range.greatest >= xmax && !TB_MUTANT(fresh_future_ignored)) return false;
  if (TB_MUTANT(fresh_open_ignored)) return true;
  const auto first = std::lower_bound(open.begin(), open.end(),
                                      TB_MUTANT(fresh_least_ignored) ? range.greatest : range.least);
  return first == open.end() || *first > range.greatest;
}

bool QuerySnapshot::sees_the_same(const QuerySnapshot& other) const {
  if ((writes || other.writes) && !TB_MUTANT(own_changes_ignored)) return false;
  return xmin == other.xmin && xmax == other.xmax && overflowed == other.overflowed &&
         in_recovery == other.in_recovery && (open == other.open || TB_MUTANT(served_by_bounds));
}

uint64_t QuerySnapshot::whole_xid(uint32_t lower_half) const {
  return xmax +
         static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(lower_half - static_cast<uint32_t>(xmax))));
}

}  // namespace turbine
