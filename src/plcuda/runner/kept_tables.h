/*
 * kept_tables.h - copies of tables that stay for calls to come (include/turbine/plcuda.h).
 *
 * One thread at a time.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "plcuda/runner/table_copy.h"

namespace turbine {

/* The number of a copy is not known here. */
class NoCopyError : public TableError {
 public:
  using TableError::TableError;
};

/* At most one for each table, and those of TB_PLCUDA_MOST_KEPT tables that were used last. */
class KeptTables {
 public:
  /* What an argument names: a kept copy, or a new one, which is kept if it has a number. It is in use until end_call().
   * Throws NoCopyError, TableError. */
  TableCopy& open(const char* store, size_t length);

  /* Nothing is in use any more. */
  void end_call();

  void drop(uint32_t relation);
  /* Those that are not in use. Whether there were any. */
  bool release();

 private:
  struct Kept {
    uint64_t serial;
    uint64_t used;  // the larger, the later
    std::shared_ptr<TableCopy> copy;
  };

  void keep(uint32_t relation, uint64_t serial, const std::shared_ptr<TableCopy>& copy);

  std::map<uint32_t, Kept> kept_;  // by relation
  struct InUse {
    uint64_t serial;
    std::shared_ptr<TableCopy> copy;
  };
  std::vector<InUse> in_use_;
  uint64_t uses_ = 0;
};

}  // namespace turbine
