/*
 * row_order.h - an order, and how many of its first rows stay: all of the rows at
 * once, or as they come.
 */
#pragma once

#include <memory>

#include "engine/result/order/coarse_key.h"
#include "engine/result/order/row_comparator.h"
#include "engine/result/order/row_sort.h"
#include "engine/result/plan/result_plan.h"

namespace turbine {

struct RowOrder {
  std::span<const TbSortKey> keys;
  uint32_t ndistinct;  // of rows that agree in so many keys the first stays; 0: all
  uint64_t limit;      // or TB_NO_LIMIT
  bool ties;           // those that agree with the last within the limit stay too

  /* Is what stays told by how much rows have in common? */
  bool needs_agree() const { return ndistinct > 0 || (ties && limit != TB_NO_LIMIT); }
  void cut(SortedRows& sorted) const {
    if (ndistinct > 0) sorted.keep_distinct(ndistinct);
    if (limit != TB_NO_LIMIT) sorted.cut(limit, ties, keys.size());
  }
};

/* The final one of a plan, which must outlive it. */
inline RowOrder row_order(const ResultPlan& plan) {
  return {plan.order(), plan.ndistinct(), plan.limit(), plan.with_ties()};
}

/* The rows of `list`, or all, that stay, in their order; `place` as in row_sort.h. */
inline SortedRows order_rows(const ResultRows& rows, const RowRef* list, uint64_t count, const RowOrder& order,
                             ParallelWork& work, SortPlace* place) {
  SortedRows sorted = sort_rows(rows, list, count, order.keys, order.needs_agree(), work, place);
  order.cut(sorted);
  return sorted;
}

/* The last row that stays of those seen so far: what comes after it never stays. */
class OrderBound {
 public:
  OrderBound(const RowOrder& order, const std::vector<ColumnShape>& columns)
      : ties_(order.ties && order.ndistinct == 0), coarse_(order.keys, columns), comparator_(order.keys, columns) {}

  /* `last` belongs to `rows`, which must stay until the next one is set. */
  void set(const ResultRows& rows, RowRef last);

  /* Appends those of rows [first, first + n) that may stay, by their numbers in the
   * batch. n <= kBlockRows. */
  size_t select(const ResultBatch& batch, uint64_t first, size_t n, uint32_t* selected) const;

  const RowComparator& comparator() const { return comparator_; }

 private:
  const bool ties_;
  const CoarseKey coarse_;
  const RowComparator comparator_;
  const ResultRows* rows_ = nullptr;
  RowRef last_ = 0;
  uint64_t code_ = ~uint64_t{0};
};

/* What may be among the first `order.limit` rows, in no order: of all rows, and
 * about that many for each part that a thread looks at. */
RowList best_candidates(const ResultRows& rows, const RowOrder& order, ParallelWork& work);

/* Those of all rows, by the calling thread alone. Takes little more memory than
 * `order.limit` references. */
RowList best_candidates_here(const ResultRows& rows, const RowOrder& order);

/* The first rows of an order, from batches that do not stay. */
class BestRows {
 public:
  BestRows(const RowOrder& order, std::vector<ColumnShape> columns, MemoryBudget& budget, ParallelWork& work)
      : order_(order),
        columns_(columns),
        work_(work),
        bound_(order, columns),
        rows_(std::make_unique<ResultRows>(std::move(columns), budget)) {}

  void add(const ResultBatch& batch);

  /* The rows that may stay; afterwards there are none here. */
  std::unique_ptr<ResultRows> take() { return std::move(rows_); }

 private:
  void keep(const ResultBatch& batch, std::span<const uint32_t> selected);
  void reduce();

  const RowOrder order_;
  const std::vector<ColumnShape> columns_;
  ParallelWork& work_;
  OrderBound bound_;
  std::unique_ptr<ResultRows> rows_;
  uint64_t least_to_reduce_ = 0;
};

}  // namespace turbine
