/*
 * row_limit.h - which of the rows that a PROJECT keeps may still be returned: all
 * others can go while the input comes, and segments that have no such rows need not be read.
 *
 * execution/ gives it to a query whose result plan has a limit; sinks ask it
 * between chunks. Any thread.
 */
#pragma once

#include <optional>
#include <vector>

#include "engine/device/result_batch.h"
#include "engine/store/zone_order.h"
#include "engine/memory/host_memory.h"

namespace turbine {

/* What the first sort key says of rows that are kept: it is one of their columns, and its order that of integers. */
struct FirstKey {
  uint32_t column;  // of the kept rows
  uint32_t width;   // of its values, bytes
  bool descending, nulls_first;
  uint64_t limit;   // rows that are wanted; rows that are equal to the last of them by this key may be, too
};

class RowLimit {
 public:
  virtual ~RowLimit() = default;

  /* Where `kept` rows were left, how many make it worth looking again. */
  virtual uint64_t worth_pruning(uint64_t kept) const = 0;

  /* The numbers of the batch's rows that stay, ascending. Throws DeviceError. */
  virtual std::vector<uint32_t> rows_that_stay(const ResultBatch& batch, MemoryBudget& budget) const = 0;

  /* By what a device may leave out rows as it keeps them; nothing: it has to keep all. */
  virtual std::optional<FirstKey> first_key() const { return {}; }

  /* By what segments are best visited; null: they may not be left out. */
  virtual const ZoneOrder* zone_order() const { return nullptr; }

  /* Whether all rows of a segment come after those that stay, as far as rows have been seen. `columns`: as
   * SegmentMorsel has them. */
  virtual bool excludes(const Segment&, const std::vector<uint32_t>&) const { return false; }
};

}  // namespace turbine
