/*
 * row_pruning.h - a result plan's limit as sinks know it: of rows that are kept while
 * the input comes, those that cannot be among the first go, and segments without any are left out.
 */
#pragma once

#include <atomic>
#include <optional>

#include "engine/device/row_limit.h"
#include "engine/result/plan/result_plan.h"

namespace turbine {

/*
 * How late a row may come and still be among the first rows of an order, as far as rows have been seen; and which
 * segments have later rows only. Any thread. What is read may be older than what another thread has noted: then more
 * is read than need be.
 */
class ZoneBound {
 public:
  explicit ZoneBound(const ZoneOrder& order) : order_(order) {}

  const ZoneOrder& order() const { return order_; }

  /* As many rows as stay have at most this rank: rows behind it never stay. */
  void note(int64_t rank) {
    int64_t before = rank_.load(std::memory_order_relaxed);
    while (rank < before && !rank_.compare_exchange_weak(before, rank, std::memory_order_relaxed)) {
    }
    noted_.store(true, std::memory_order_relaxed);
  }
  bool noted() const { return noted_.load(std::memory_order_relaxed); }

  /* Whether all rows of the segment's column come strictly later. Rows of the bound's own rank may stay: further
   * keys decide, or they are ties. */
  bool excludes(const StoredColumn& column) const;

 private:
  const ZoneOrder order_;
  std::atomic<int64_t> rank_{ZoneOrder::kLast};  // nothing comes after it
  std::atomic<bool> noted_{false};
};

class RowPruning final : public RowLimit {
 public:
  /* Of a plan that is only_best(), over the rows of a program that ends in PROJECT. */
  RowPruning(const ResultPlan& plan, const Program& program);

  uint64_t worth_pruning(uint64_t kept) const override;
  std::vector<uint32_t> rows_that_stay(const ResultBatch& batch, MemoryBudget& budget) const override;
  std::optional<FirstKey> first_key() const override;
  const ZoneOrder* zone_order() const override { return bound_ ? &bound_->order() : nullptr; }
  bool excludes(const Segment& segment, const std::vector<uint32_t>& columns) const override {
    return bound_ && bound_->noted() && bound_->excludes(*segment.find(columns[bound_->order().column])->data);
  }

 private:
  void note_bound(const ResultBatch& batch, const std::vector<uint32_t>& stay) const;

  const ResultPlan plan_;
  uint32_t key_type_ = 0;                    // of the first sort key
  mutable std::optional<ZoneBound> bound_;  // none: zones do not tell the order, or every row has to be looked at
};

}  // namespace turbine
