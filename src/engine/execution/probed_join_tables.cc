/*
 * probed_join_tables.cc - finds and checks the join tables that a program probes.
 *
 * Called as a query starts, before any code runs on the tables. Generated code checks
 * nothing later, so a join table of another shape must be refused here.
 */
#include "engine/execution/probed_join_tables.h"

#include <string>

#include "engine/device/device.h"
#include "engine/device/join_table_layout.h"
#include "engine/wire/protocol_error.h"

namespace turbine {
namespace {

/* Code for a unique table looks at one match: SEMI and ANTI need no more anyway. */
bool relies_on_unique(const TbJoin& join) {
  return (join.flags & TB_JOIN_UNIQUE) && join.kind != TB_JOIN_SEMI && join.kind != TB_JOIN_ANTI;
}

/* Stands where a series has no table, so that tables keep the places of their joins. No code reads it. */
std::shared_ptr<const JoinTable> empty_table() {
  MemoryBudget budget{UINT64_MAX};
  const KeptRowLayout shape;
  const JoinTableLayout layout(shape, 0, 0, std::nullopt);
  HostBuffer block(budget, layout.header().total_size);
  layout.write_header(block.data());
  return std::make_shared<const JoinTable>(std::move(block), shape, 0);
}

}  // namespace

JoinTables probed_join_tables(const Program& program, const ConnectionJoinTables& tables) {
  JoinTables probed;
  for (size_t i = 0; i < program.joins().size(); i++) {
    const TbJoin& join = program.joins()[i];
    if (join.kind == TB_JOIN_SERIES) {
      probed.push_back(empty_table());
      continue;
    }
    const std::string name = "join " + std::to_string(i) + ", table " + std::to_string(join.join_table);
    std::shared_ptr<const JoinTable> table = tables.find(join.join_table);
    if (!table) throw ProtocolError(name + ": there is no such table");
    if (const std::string why = probe_mismatch(program, i, table->shape()); !why.empty())
      throw ProtocolError(name + ": " + why);
    if (relies_on_unique(join) && !table->unique())
      throw DeviceError(TB_FALLBACK_VALUE, name + ": rows with equal keys where the plan expects none");
    probed.push_back(std::move(table));
  }
  return probed;
}

}  // namespace turbine
