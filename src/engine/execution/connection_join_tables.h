/*
 * connection_join_tables.h - the join tables that a connection has built and not
 * yet dropped, by number, with the memory that admission has granted for them.
 *
 * A session's thread only. Queries share the tables: dropping them here does
 * not pull one from under a query that still runs.
 */
#pragma once

#include <array>
#include <memory>

#include "engine/device/join_table.h"
#include "engine/execution/admission.h"
#include "turbine/wire.h"

namespace turbine {

class ConnectionJoinTables {
 public:
  /* `number` is free. The grant is given back with the table's memory; without one the table is the cache's
   * (kept_join_tables.h), and copies that GPUs have of it stay when this connection has done with it. */
  void keep(uint32_t number, std::shared_ptr<const JoinTable> table, Admission::Grant grant) {
    count_++;
    if (grant.device_bytes() == 0) {
      tables_[number] = std::move(table);
      return;
    }
    struct Kept {
      Admission::Grant grant;  // outlives the table
      std::shared_ptr<const JoinTable> table;
    };
    auto kept = std::make_shared<Kept>(Kept{std::move(grant), std::move(table)});
    tables_[number] = std::shared_ptr<const JoinTable>(kept, kept->table.get());
  }

  /* The table, or null; any number. */
  std::shared_ptr<const JoinTable> find(uint32_t number) const {
    return number < tables_.size() ? tables_[number] : nullptr;
  }
  bool empty() const { return count_ == 0; }
  void clear() {
    tables_ = {};
    count_ = 0;
  }

 private:
  std::array<std::shared_ptr<const JoinTable>, TB_MAX_JOIN_TABLES> tables_;
  size_t count_ = 0;
};

}  // namespace turbine
