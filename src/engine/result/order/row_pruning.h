/*
 * row_pruning.h - a result plan's limit as sinks know it: of rows that are kept while
 * the input comes, those that cannot be among the first go.
 */
#pragma once

#include "engine/device/row_limit.h"
#include "engine/result/plan/result_plan.h"

namespace turbine {

class RowPruning final : public RowLimit {
 public:
  /* Of a plan that is only_best(). */
  explicit RowPruning(const ResultPlan& plan) : plan_(plan) {}

  uint64_t worth_pruning(uint64_t kept) const override;
  std::vector<uint32_t> rows_that_stay(const ResultBatch& batch, MemoryBudget& budget) const override;

 private:
  const ResultPlan plan_;
};

}  // namespace turbine
