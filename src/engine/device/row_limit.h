/*
 * row_limit.h - which of the rows that a PROJECT keeps may still be returned: all
 * others can go while the input comes.
 *
 * execution/ gives it to a query whose result plan has a limit; sinks ask it
 * between chunks. Any thread.
 */
#pragma once

#include <vector>

#include "engine/device/result_batch.h"
#include "engine/memory/host_memory.h"

namespace turbine {

class RowLimit {
 public:
  virtual ~RowLimit() = default;

  /* Where `kept` rows were left, how many make it worth looking again. */
  virtual uint64_t worth_pruning(uint64_t kept) const = 0;

  /* The numbers of the batch's rows that stay, ascending. Throws DeviceError. */
  virtual std::vector<uint32_t> rows_that_stay(const ResultBatch& batch, MemoryBudget& budget) const = 0;
};

}  // namespace turbine
