/*
 * row_pruning.cc - a result plan's limit as sinks know it.
 *
 * Called by sinks while the input comes, on any thread. It must never drop a row that
 * may still be returned.
 */
#include "engine/result/order/row_pruning.h"

#include <algorithm>

#include "engine/result/order/row_order.h"

namespace turbine {
namespace {

/* So many rows are looked at for each that stays, or at once. */
constexpr uint64_t kShare = 2;
constexpr uint64_t kSpareRows = 64 << 10;
/* Larger limits than any memory's. */
constexpr uint64_t kMostLimit = uint64_t{1} << 32;

}  // namespace

uint64_t RowPruning::worth_pruning(uint64_t kept) const {
  return kShare * std::max(kept, std::min(plan_.limit(), kMostLimit)) + kSpareRows;
}

std::vector<uint32_t> RowPruning::rows_that_stay(const ResultBatch& batch, MemoryBudget& budget) const {
  ResultRows rows(plan_.own_columns(), budget);
  rows.borrow(batch);
  const RowList best = best_candidates_here(rows, row_order(plan_));
  std::vector<uint32_t> stay;
  stay.reserve(best.size());
  for (RowRef ref : best.refs()) stay.push_back(static_cast<uint32_t>(ref_row(ref)));
  std::sort(stay.begin(), stay.end());
  return stay;
}

}  // namespace turbine
