/*
 * join_table.cc - see join_table.h.
 *
 * Asked for each segment that a query might read, so it must take no longer than a few cache misses.
 */
#include "engine/device/join_table.h"

#include <algorithm>
#include <bit>

namespace turbine {
namespace {

/* Buckets that are looked at, at most: a microsecond. */
constexpr uint64_t kMostBuckets = 4096;

template <class T>
const T* buckets_of(const TbJoinTable& table) {
  return reinterpret_cast<const T*>(reinterpret_cast<const uint8_t*>(&table) + table.buckets);
}

/* Rows of a DENSE table, which are in the order of their keys, before the key at this place of the range. */
uint64_t rows_before(const TbJoinTable& table, uint64_t place) {
  if (place >= table.key_span) return table.nrows;
  const TbRankWord word = buckets_of<TbRankWord>(table)[place / 32];
  return word.before + static_cast<uint64_t>(std::popcount(word.bits & ((1u << place % 32) - 1)));
}

}  // namespace

bool JoinTable::may_have_key(int64_t first, int64_t last) const {
  const TbJoinTable& table = *raw();
  if (first > last) return false;
  if ((table.kind != TB_TABLE_DENSE && table.kind != TB_TABLE_DIRECT) || table.buckets == 0) return true;
  if (first < table.key_min) first = table.key_min;
  if (last < first) return false;
  const uint64_t begin = static_cast<uint64_t>(first) - static_cast<uint64_t>(table.key_min);
  uint64_t end = static_cast<uint64_t>(last) - static_cast<uint64_t>(table.key_min);
  if (begin >= table.key_span) return false;
  end = std::min(end, table.key_span - 1) + 1;
  if (table.kind == TB_TABLE_DENSE) return rows_before(table, end) > rows_before(table, begin);
  if (end - begin > kMostBuckets) return true;
  const auto* buckets = buckets_of<uint32_t>(table);
  return std::any_of(buckets + begin, buckets + end, [](uint32_t bucket) { return bucket != 0; });
}

}  // namespace turbine
