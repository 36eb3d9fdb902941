/*
 * coarse_key.cc - the first key of an order as 64 bits.
 *
 * Called for every row that might be dropped. Equal bits prove nothing: the rows are
 * compared then.
 */
#include "engine/result/order/coarse_key.h"

#include <algorithm>

#include "engine/result/order/ordered_value.h"

namespace turbine {
namespace {

uint64_t coarse(uint64_t code) { return code; }
/* Of 128 bits those around 0: sums are seldom larger than 64. */
uint64_t coarse(uint128 code) {
  constexpr uint128 kZero = uint128{1} << 127, kHalf = uint128{1} << 63;
  if (code < kZero - kHalf) return 0;
  return static_cast<uint64_t>(std::min(code - (kZero - kHalf), uint128{UINT64_MAX}));
}

uint64_t coarse(std::string_view text) {
  uint64_t bytes = 0;
  memcpy(&bytes, text.data(), std::min(text.size(), sizeof bytes));
  return __builtin_bswap64(bytes);
}

}  // namespace

CoarseKey::CoarseKey(std::span<const TbSortKey> keys, const std::vector<ColumnShape>& columns) {
  if (keys.empty()) return;
  any_ = true;
  column_ = keys[0].column;
  type_ = columns[column_].type;
  descending_ = keys[0].flags & TB_SORT_DESCENDING;
  nulls_first_ = keys[0].flags & TB_SORT_NULLS_FIRST;
}

void CoarseKey::read(const ResultBatch& batch, uint64_t first, size_t n, uint64_t* codes) const {
  if (!any_) {
    std::fill(codes, codes + n, 0);
    return;
  }
  const ResultColumn& column = batch.columns[column_];
  const uint64_t flip = descending_ ? ~uint64_t{0} : 0;
  if (tb_type_is_text(type_)) {
    for (size_t i = 0; i < n; i++) {
      const std::string_view text = text_at(batch, column, first + i);
      codes[i] = text.empty() ? flip : coarse(text) ^ flip;
    }
  } else {
    with_ordered(type_, [&](auto ordered) {
      for (size_t i = 0; i < n; i++) codes[i] = coarse(ordered(column.at(first + i))) ^ flip;
    });
  }
  if (column.valid == nullptr) return;
  for (size_t i = 0; i < n; i++)
    if (column.is_null(first + i)) codes[i] = nulls_first_ ? 0 : ~uint64_t{0};
}

}  // namespace turbine
