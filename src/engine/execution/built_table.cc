/*
 * built_table.cc - see built_table.h.
 *
 * Called by query_input.cc for SEGMENTS, and by query_execution.cc when the device has finished. A kept table's memory
 * is the cache's, never the connection's.
 */
#include "engine/execution/built_table.h"

#include "engine/wire/protocol_error.h"

namespace turbine {

BuiltTable::BuiltTable(Engine& engine, const Program& program, const std::string& params, ConnectionJoinTables& tables,
                       uint32_t number)
    : engine_(engine), program_(program), params_(params), tables_(tables), number_(number) {
  if (program.sink() != TB_SINK_BUILD) {
    if (number != 0) throw ProtocolError("QUERY that builds no table names one");
  } else if (number >= TB_MAX_JOIN_TABLES || tables.find(number)) {
    throw ProtocolError("QUERY builds table " + std::to_string(number) + ", which is not free");
  }
}

const KeptJoinTable* BuiltTable::find(const SegmentsRequest& request, const QuerySnapshot* snapshot) {
  if (found_) throw ProtocolError("SEGMENTS of more than was wanted");
  // What is taken in answer to the second question is what the first one asked for.
  if (request.segments.flags & TB_SEGMENTS_CLEAN) return nullptr;
  source_.reset();
  if (!engine_.column_store.enabled()) return nullptr;
  source_ = join_table_source(program_, params_, request, snapshot);
  if (source_) found_ = engine_.kept_tables.find(*source_);
  return found();
}

bool BuiltTable::find_by_list(const std::shared_ptr<const SegmentList>& list) {
  if (!source_) return false;
  source_->list = list;
  found_ = engine_.kept_tables.find_by_list(*source_);
  return found_.has_value();
}

void BuiltTable::leave(QueryDevice& device, QueryTotals& totals) {
  const std::shared_ptr<const JoinTable> table = found_ ? found_->table : device.query().take_table();
  if (!table) throw DeviceError(TB_FALLBACK_COMPILE, "the device has built no table");
  TbQueryDone figures{};
  totals.change([&](TbQueryDone& done) {
    done.table_bytes = table->raw()->total_size;
    done.table_kind = table->raw()->kind;
    done.table_chained = table->raw()->next != 0;
    for (size_t key = 0; key < table->bounds().size(); key++) {
      const KeyBounds& bounds = table->bounds()[key];
      if (!bounds.empty()) done.key_bounds[key] = {bounds.min, bounds.max, 1};
    }
    figures = done;
  });
  tables_.keep(number_, table, device.grant_of_table(found_ ? 0 : table->charged_bytes()));
  if (source_ && !found_) engine_.kept_tables.add(*source_, {table, figures.rows_in, figures.rows_passed});
}

}  // namespace turbine
