/*
 * sorted_rows.h - rows in an order, with how much each has in common with the one
 * before; and what of them stays.
 */
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/result/rows/result_rows.h"
#include "turbine/result.h"

namespace turbine {

class SortedRows {
 public:
  explicit SortedRows(RowList rows) : rows_(std::move(rows)) {}

  uint64_t size() const { return rows_.size(); }
  RowRef operator[](uint64_t i) const { return rows_[i]; }
  RowList& rows() { return rows_; }
  const RowList& rows() const { return rows_; }

  /* A byte a row: how many of the order's keys, from the first on, agree with the
   * row before. Nothing is said about row 0. */
  void set_agree(HostBuffer agree) { agree_.emplace(std::move(agree)); }
  const uint8_t* agree() const { return agree_->data(); }

  /* Of rows that agree in `ndistinct` keys the first stays. */
  void keep_distinct(uint32_t ndistinct) {
    keep_if([&](uint64_t i) { return i == 0 || agree()[i] < ndistinct; });
  }

  /* The first `limit` rows stay; and those that agree with the last of these in all
   * of `nkeys` keys, if `ties`. */
  void cut(uint64_t limit, bool ties, size_t nkeys) {
    uint64_t stay = std::min(limit, size());
    while (ties && stay > 0 && stay < size() && agree()[stay] >= nkeys) stay++;
    rows_.resize(stay);
  }

  /* Rows stay for whose place `f` says so. */
  template <class F>
  void keep_if(F f) {
    uint8_t* agree = agree_ ? agree_->data() : nullptr;
    uint64_t kept = 0;
    uint8_t common = UINT8_MAX;  // of a row and the last that stays
    for (uint64_t i = 0; i < size(); i++) {
      if (agree) common = std::min(common, agree[i]);
      if (!f(i)) continue;
      rows_.data()[kept] = rows_[i];
      if (agree) agree[kept] = std::exchange(common, UINT8_MAX);
      kept++;
    }
    rows_.resize(kept);
  }

 private:
  RowList rows_;
  std::optional<HostBuffer> agree_;
};

}  // namespace turbine
