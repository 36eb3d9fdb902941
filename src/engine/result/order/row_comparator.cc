/*
 * row_comparator.cc - compares two rows key by key, where they lie.
 *
 * Called if packed keys do not tell. It defines the order; everything else must agree
 * with it.
 */
#include "engine/result/order/row_comparator.h"

#include "engine/result/order/ordered_value.h"

namespace turbine {

RowComparator::RowComparator(std::span<const TbSortKey> keys, const std::vector<ColumnShape>& columns) {
  for (const TbSortKey& key : keys)
    keys_.push_back({key.column, columns[key.column].type, (key.flags & TB_SORT_DESCENDING) != 0,
                     (key.flags & TB_SORT_NULLS_FIRST) != 0});
}

int RowComparator::compare_key(const Key& key, const ResultBatch& a, uint64_t row_a, const ResultBatch& b,
                               uint64_t row_b) {
  const ResultColumn& x = a.columns[key.column];
  const ResultColumn& y = b.columns[key.column];
  const bool x_null = x.is_null(row_a), y_null = y.is_null(row_b);
  if (x_null || y_null) {
    if (x_null && y_null) return 0;
    return x_null == key.nulls_first ? -1 : 1;
  }
  int order;
  if (tb_type_is_text(key.type)) {
    order = text_at(a, x, row_a).compare(text_at(b, y, row_b));
  } else {
    order = with_ordered(key.type, [&](auto ordered) {
      const auto u = ordered(x.at(row_a)), v = ordered(y.at(row_b));
      return (u > v) - (u < v);
    });
  }
  return key.descending ? (order < 0) - (order > 0) : order;
}

int RowComparator::compare(const ResultBatch& a, uint64_t row_a, const ResultBatch& b, uint64_t row_b,
                           size_t first) const {
  for (size_t i = first; i < keys_.size(); i++)
    if (const int order = compare_key(keys_[i], a, row_a, b, row_b); order != 0) return order;
  return 0;
}

size_t RowComparator::agree(const ResultBatch& a, uint64_t row_a, const ResultBatch& b, uint64_t row_b,
                            size_t known) const {
  while (known < keys_.size() && compare_key(keys_[known], a, row_a, b, row_b) == 0) known++;
  return known;
}

}  // namespace turbine
