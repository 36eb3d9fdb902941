/*
 * query_snapshot.h - which transactions a query's snapshot takes for ended, by their 64-bit numbers.
 *
 * What a block of rows depends on is a range of transactions: those that inserted its rows, and those that deleted the
 * rows that were left out. All of them have ended. If none of a range is open to a snapshot, the snapshot sees the rows
 * as they were decoded.
 *
 * Immutable. Any thread.
 */
#pragma once

#include <cstdint>
#include <vector>

namespace turbine {

/* From the least to the greatest of the transactions that rows depend on; least > greatest: on none. */
struct XidRange {
  uint64_t least = UINT64_MAX, greatest = 0;
  bool empty() const { return least > greatest; }
};

struct QuerySnapshot {
  uint64_t xmin = 0;           // all before have ended
  uint64_t xmax = 0;           // none from here on had
  std::vector<uint64_t> open;  // of those between: the ones that had not, ascending
  bool overflowed = false;     // `open` lacks some subtransactions
  bool in_recovery = false;    // `open` is what a standby knows of
  bool writes = false;         // the query's own transaction may have changed rows: they are as it left them

  /* Whether all transactions of the range have ended for it. Where `open` may lack some, only those before xmin have.
   */
  bool has_ended(const XidRange& range) const;

  /* Whether every query under this one sees the rows that a query under the other sees: they take the same transactions
   * for ended, and neither has changed rows of its own. */
  bool sees_the_same(const QuerySnapshot& other) const;

  /* The number of a transaction of which the lower half is known. It is none that begins after the snapshot, or
   * a little after it: within 2^31 of xmax. */
  uint64_t whole_xid(uint32_t lower_half) const;
};

}  // namespace turbine
