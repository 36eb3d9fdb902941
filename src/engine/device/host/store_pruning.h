/*
 * store_pruning.h - a row store that is cut down whenever it has grown far beyond
 * what a query's limit leaves of it.
 */
#pragma once

#include <memory>

#include "engine/device/host/host_row_store.h"
#include "engine/device/row_limit.h"

namespace turbine {

/* Rows of a store as a batch. Valid until the store changes. */
ResultBatch store_batch(const KeptRowLayout& shape, const HostRowStore& store, uint64_t first, uint64_t count);

/* Of one store. Not thread-safe. */
class StorePruning {
 public:
  /* Between chunks. `limit` may be null. Throws DeviceError. */
  void prune(const RowLimit* limit, const KeptRowLayout& shape, HostRowStore& store, MemoryBudget& budget);

 private:
  uint64_t kept_ = 0;  // by the last time
};

}  // namespace turbine
