/*
 * window_range.cc - ends of RANGE frames that lie an offset away.
 *
 * Called by window_pass.cc. A bound that PostgreSQL could not compute sends the query
 * back to it.
 */
#include "engine/result/window/window_range.h"

#include "engine/device/device.h"
#include "engine/result/rows/row_parts.h"

namespace turbine {
namespace {

constexpr int64_t kDay = 86400000000;
constexpr __int128 kFirstTimestamp = -211813488000000000, kBehindLastTimestamp = 9223371331200000000;

__int128 timestamp_of(int32_t date) {
  if (date == INT32_MIN) return kBeforeAllTimes;
  if (date == INT32_MAX) return kAfterAllTimes;
  check_timestamp(__int128{date} * kDay);
  return __int128{date} * kDay;
}

}  // namespace

void check_timestamp(__int128 value) {
  if (value < kFirstTimestamp || value >= kBehindLastTimestamp)
    throw DeviceError(TB_FALLBACK_RAISED, "a window frame's bound is no timestamp");
}

RangeKey::RangeKey(const ResultRows& rows, const SortedRows& sorted, const TbSortKey& key, ParallelWork& work)
    : type_(rows.columns()[key.column].type),
      descending_(key.flags & TB_SORT_DESCENDING),
      nulls_first_(key.flags & TB_SORT_NULLS_FIRST),
      values_(rows.budget(), sorted.size() * sizeof(Value)),
      nulls_(rows.budget(), sorted.size()) {
  const ColumnReader column(rows, key.column);
  auto* values = reinterpret_cast<Value*>(values_.data());
  const RowParts parts(sorted.size(), work.threads());
  work.each(parts.size(), [&](uint64_t part) {
    work.check();
    for (uint64_t place = parts.first(part), end = place + parts.count(part); place < end; place++) {
      const RowRef row = sorted[place];
      nulls_.data()[place] = column.is_null(row);
      if (column.is_null(row)) continue;
      if (is_float())
        values[place].number = column.number(row);
      else if (type_ == TB_TYPE_DATE)
        values[place].integer = timestamp_of(load_value<int32_t>(column.at(row)));
      else
        values[place].integer = column.integer(row);
    }
  });
}

}  // namespace turbine
