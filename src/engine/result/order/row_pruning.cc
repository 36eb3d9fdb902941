/*
 * row_pruning.cc - a result plan's limit as sinks know it.
 *
 * Called by sinks while the input comes, on any thread. It must never drop a row that
 * may still be returned, nor leave out a segment that has one.
 */
#include "engine/result/order/row_pruning.h"

#include <algorithm>

#include "engine/program/kept_row_layout.h"
#include "engine/result/order/ordered_value.h"
#include "engine/result/order/row_order.h"
#include "turbine/mutant.h"

namespace turbine {

/* A NULL has the first or the last rank, which it shares with one integer: nothing strictly after or before that
 * one is mistaken. */
bool ZoneBound::excludes(const StoredColumn& column) const {
  const int64_t bound = rank_.load(std::memory_order_relaxed);
  if (TB_MUTANT(ties_excluded)) return bound != ZoneOrder::kLast && order_.first_rank(column) >= bound;
  if (TB_MUTANT(nulls_excluded)) {
    const StoredColumn::Zone zone = column.shape().zone;
    return zone.known && order_.rank(order_.descending ? zone.greatest : zone.least) > bound;
  }
  return order_.first_rank(column) > bound;
}

namespace {

/* So many rows are looked at for each that stays, or at once. */
constexpr uint64_t kShare = 2;
constexpr uint64_t kRowsWithoutBound = 64 << 10;
/* Where a bound saves reading segments, some soon give a first one, and a few more a better one. */
constexpr uint64_t kFirstSpareRows = 1 << 10;
constexpr uint64_t kBoundSpareRows = 8 << 10;
/* Larger limits than any memory's. */
constexpr uint64_t kMostLimit = uint64_t{1} << 32;

/* Types whose zones are in the order of their values. */
bool is_ordered_by_zones(uint32_t type) { return is_integer_key(type) || type == TB_TYPE_NUM64; }

/* The order of a source's rows, if all that comes of a row comes in its place. A row that raises an error does so
 * wherever it would come; and rows of a FULL join's table want to see all. */
std::optional<ZoneOrder> zone_order_of(const ResultPlan& plan, const Program& program) {
  if (plan.order().empty() || plan.limit() == 0 || program.full_joins_end() > 0) return {};
  if (std::any_of(program.exprs().begin(), program.exprs().end(),
                  [](const TbExpr& expr) { return (expr.flags & TB_EX_RAISES) != 0; }))
    return {};
  const TbSortKey& key = plan.order()[0];
  const TbExpr& expr = program.expr(program.outputs()[key.column]);
  if (expr.op != TB_EXPR_COLUMN || expr.index >= program.source_columns() || !is_ordered_by_zones(expr.type)) return {};
  return ZoneOrder{expr.index, (key.flags & TB_SORT_DESCENDING) != 0, (key.flags & TB_SORT_NULLS_FIRST) != 0};
}

int64_t integer_at(uint32_t type, const uint8_t* at) {
  switch (tb_type_width(type)) {
    case 2: return load_value<int16_t>(at);
    case 4: return load_value<int32_t>(at);
    default: return load_value<int64_t>(at);
  }
}

}  // namespace

RowPruning::RowPruning(const ResultPlan& plan, const Program& program) : plan_(plan) {
  if (const auto order = zone_order_of(plan_, program)) bound_.emplace(*order);
  if (bound_) key_type_ = plan_.columns()[plan_.order()[0].column].type;
}

std::optional<FirstKey> RowPruning::first_key() const {
  if (plan_.order().empty()) return {};
  const TbSortKey& key = plan_.order()[0];
  const uint32_t type = plan_.columns()[key.column].type;
  if (!is_ordered_by_zones(type)) return {};
  return FirstKey{key.column, tb_type_width(type), (key.flags & TB_SORT_DESCENDING) != 0,
                  (key.flags & TB_SORT_NULLS_FIRST) != 0, plan_.limit()};
}

uint64_t RowPruning::worth_pruning(uint64_t kept) const {
  const uint64_t rows = kShare * std::max(kept, std::min(plan_.limit(), kMostLimit));
  if (!bound_) return rows + kRowsWithoutBound;
  if (bound_->noted()) return rows + kBoundSpareRows;
  return std::max(kShare * kept, std::min(plan_.limit(), kMostLimit)) + kFirstSpareRows;
}

std::vector<uint32_t> RowPruning::rows_that_stay(const ResultBatch& batch, MemoryBudget& budget) const {
  ResultRows rows(plan_.own_columns(), budget);
  rows.borrow(batch);
  const RowList best = best_candidates_here(rows, row_order(plan_));
  std::vector<uint32_t> stay;
  stay.reserve(best.size());
  for (RowRef ref : best.refs()) stay.push_back(static_cast<uint32_t>(ref_row(ref)));
  std::sort(stay.begin(), stay.end());
  if (bound_ && stay.size() >= plan_.limit()) note_bound(batch, stay);
  return stay;
}

/* The last of as many rows as stay, and of its ties, by the first key. */
void RowPruning::note_bound(const ResultBatch& batch, const std::vector<uint32_t>& stay) const {
  const ResultColumn& column = batch.columns[plan_.order()[0].column];
  int64_t last = ZoneOrder::kFirst;
  for (const uint32_t row : stay) {
    const int64_t rank = column.is_null(row) ? bound_->order().null_rank()
                                             : bound_->order().rank(integer_at(key_type_, column.at(row)));
    last = std::max(last, rank);
  }
  bound_->note(last);
}

}  // namespace turbine
