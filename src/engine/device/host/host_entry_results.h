/*
 * host_entry_results.h - a query's results by entry of dictionaries, on the host.
 *
 * Threads of the query share them, and note bytes and aligned words that are the same whoever notes them. Thread-safe.
 * All of it lasts as long as the query.
 *
 * Their memory is a part of the query's grant that nothing else of the query uses: how much they take depends on
 * dictionaries, and a query that lacks memory for groups ends.
 */
#pragma once

#include <mutex>

#include "engine/device/device.h"
#include "engine/device/entry_result_tables.h"
#include "engine/memory/host_memory.h"
#include "turbine/kernel.h"

namespace turbine {

class HostEntryResults {
 public:
  HostEntryResults(const Program& program, uint64_t most_bytes);

  /* That the program's tables take at most, with those that were outgrown; 0: it has none. */
  static uint64_t most_bytes(const Program& program, size_t workers);

  bool empty() const { return tables_.layout().empty(); }

  /* Where results of this column of the source are, and numbers of the worker's groups. */
  void find(unsigned worker, uint32_t column, const StoredColumn& stored, TbEntryResults* found);

  void count(DeviceQueryStats* stats) const;

 private:
  mutable std::mutex mutex_;  // protects the tables, not what is noted there
  MemoryBudget budget_;
  EntryResultTables<HostBuffer> tables_;
};

}  // namespace turbine
