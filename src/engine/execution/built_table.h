/*
 * built_table.h - the join table that a BUILD leaves with its connection: built by the query, or kept since another
 * query built the same of the same blocks.
 *
 * The session's thread only.
 */
#pragma once

#include <optional>

#include "engine/execution/connection_join_tables.h"
#include "engine/execution/engine.h"
#include "engine/execution/kept_join_tables.h"
#include "engine/execution/query_device.h"
#include "engine/execution/query_report.h"
#include "engine/wire/requests.h"

namespace turbine {

class BuiltTable {
 public:
  /* `number`: as QUERY says. What is passed by reference outlives this. Throws ProtocolError: it is not free, or
   * nothing is built. */
  BuiltTable(Engine& engine, const Program& program, const std::string& params, ConnectionJoinTables& tables,
             uint32_t number);

  /* All segments of the input that these are: the table is there already? `snapshot`: null: not told. Throws
   * ProtocolError. */
  const KeptJoinTable* find(const SegmentsRequest& request, const QuerySnapshot* snapshot);
  /* The input is all that a kept list has: the table is there already? */
  bool find_by_list(const std::shared_ptr<const SegmentList>& list);
  /* The input was taken, and is kept, as this list; null: it is not. */
  void is_of_list(const std::shared_ptr<const SegmentList>& list) {
    if (source_) source_->list = list;
  }
  /* What was found. */
  const KeptJoinTable* found() const { return found_ ? &*found_ : nullptr; }

  /* The input has rows whose state nothing tells: the table is this query's alone. */
  void is_not_kept() { source_.reset(); }
  /* Some blocks come by chunks: they may be newer than the map was, but are what the snapshot sees. */
  void has_chunks() {
    if (!source_) return;
    source_->map_lsn.clear();
    source_->list.reset();
    if (!source_->snapshot) source_.reset();
  }

  /* From here on the table is the connection's, with its part of the grant. Throws DeviceError. */
  void leave(QueryDevice& device, QueryTotals& totals);

 private:
  Engine& engine_;
  const Program& program_;
  const std::string& params_;
  ConnectionJoinTables& tables_;
  const uint32_t number_;
  std::optional<JoinTableSource> source_;  // of the table, if it may be kept
  std::optional<KeptJoinTable> found_;
};

}  // namespace turbine
