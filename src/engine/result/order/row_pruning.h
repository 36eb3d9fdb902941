/*
 * row_pruning.h - a result plan's limit as sinks know it: of rows that are kept while
 * the input comes, those that cannot be among the first go, and segments without any are left out.
 */
#pragma once

#include <optional>

#include "engine/device/row_limit.h"
#include "engine/result/order/zone_bound.h"
#include "engine/result/plan/result_plan.h"

namespace turbine {

class RowPruning final : public RowLimit {
 public:
  /* Of a plan that is only_best(), over the rows of a program that ends in PROJECT. */
  RowPruning(const ResultPlan& plan, const Program& program);

  uint64_t worth_pruning(uint64_t kept) const override;
  std::vector<uint32_t> rows_that_stay(const ResultBatch& batch, MemoryBudget& budget) const override;
  const ZoneOrder* zone_order() const override { return bound_ ? &bound_->order() : nullptr; }
  bool excludes(const Segment& segment, const std::vector<uint32_t>& columns) const override {
    return bound_ && bound_->excludes(*segment.find(columns[bound_->order().column])->data);
  }

 private:
  void note_bound(const ResultBatch& batch, const std::vector<uint32_t>& stay) const;

  const ResultPlan plan_;
  uint32_t key_type_ = 0;                    // of the first sort key
  mutable std::optional<ZoneBound> bound_;  // none: zones do not tell the order, or every row has to be looked at
};

}  // namespace turbine
