/*
 * join_zone_filter.cc - see join_zone_filter.h.
 *
 * Owns ranges of keys, and holds the tables that they are of. Called before a part's segments become tasks. Must
 * never exclude a segment if a row of it leaves a trace in the answer, or an error.
 */
#include "engine/source/segments/join_zone_filter.h"

#include <algorithm>
#include <optional>

#include "turbine/functions.h"
#include "turbine/mutant.h"

namespace turbine {
namespace {

bool raises(const Program& program, uint32_t expr) {
  return expr != TB_NONE && (program.expr(expr).flags & TB_EX_RAISES) != 0;
}

/* May a row raise an error whether it has matches or not? Outputs, grouping keys and aggregates are of rows that
 * have them. */
bool raises_before_sink(const Program& program) {
  const auto any = [&](std::span<const uint32_t> exprs) {
    return std::any_of(exprs.begin(), exprs.end(), [&](uint32_t expr) { return raises(program, expr); });
  };
  return any(program.filters()) || std::any_of(program.joins().begin(), program.joins().end(), [&](const TbJoin& join) {
           return any(program.join_keys(join)) || raises(program, join.residual);
         });
}

bool loses_rows_without_match(const TbJoin& join) {
  if (TB_MUTANT(unmatched_segment_excluded)) return join.kind != TB_JOIN_ANTI;
  return join.kind == TB_JOIN_INNER || join.kind == TB_JOIN_SEMI;
}

/* Widening changes no integer. */
bool widens(const TbExpr& expr) {
  return expr.op == TB_EXPR_CALL &&
         (expr.index == TB_FN_INT2_TO_INT4 || expr.index == TB_FN_INT2_TO_INT8 || expr.index == TB_FN_INT4_TO_INT8);
}

/* The column of the source whose values the expression has. */
std::optional<size_t> source_column(const Program& program, uint32_t index) {
  const TbExpr* expr = &program.expr(index);
  while (widens(*expr)) expr = &program.expr(program.args(*expr)[0]);
  if (expr->op != TB_EXPR_COLUMN || expr->index >= program.source_columns()) return {};
  return expr->index;
}

}  // namespace

JoinZoneFilter::JoinZoneFilter(const Program& program, const JoinTables& tables) {
  if (raises_before_sink(program)) return;
  for (size_t i = 0; i < program.joins().size(); i++) {
    const TbJoin& join = program.joins()[i];
    if (join.kind == TB_JOIN_FULL) return;
    if (loses_rows_without_match(join)) add(program, join, tables[i]);
  }
}

void JoinZoneFilter::add(const Program& program, const TbJoin& join, const std::shared_ptr<const JoinTable>& table) {
  if (table->rows() == 0) all_ = true;
  const std::vector<KeyBounds>& bounds = table->bounds();
  for (size_t k = 0; k < std::min<size_t>(join.nkeys, bounds.size()); k++) {
    // Numerics are integers in zones, and have no bounds here.
    if (!is_integer_key(table->shape().columns[k].type)) continue;
    // All rows have a NULL in some key.
    if (bounds[k].empty()) all_ = true;
    if (const auto column = source_column(program, program.join_keys(join)[k]))
      keys_.push_back({*column, bounds[k].min, bounds[k].max, table});
  }
}

bool JoinZoneFilter::Key::misses(const StoredColumn::Zone& zone) const {
  if (!zone.known) return false;
  const int64_t first = std::max(zone.least, least);
  const int64_t last = std::min(zone.greatest, TB_MUTANT(greatest_key_forgotten) ? greatest - 1 : greatest);
  return first > last || !table->may_have_key(first, last);
}

void JoinZoneFilter::mark_columns(std::vector<uint8_t>& flags) const {
  for (const Key& key : keys_) flags[key.column] = 1;
}

bool JoinZoneFilter::excludes(const Segment& segment, const std::vector<uint32_t>& columns) const {
  return all_ || std::any_of(keys_.begin(), keys_.end(),
                             [&](const Key& key) { return key.misses(segment.find(columns[key.column])->zone); });
}

bool JoinZoneFilter::excludes(const StoredColumn::Zone* zones) const {
  return all_ || std::any_of(keys_.begin(), keys_.end(), [&](const Key& key) { return key.misses(zones[key.column]); });
}

}  // namespace turbine
