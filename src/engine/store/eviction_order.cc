/*
 * eviction_order.cc - see eviction_order.h.
 *
 * Called by the store with its locks held: no more than a few comparisons a candidate that stays.
 */
#include "engine/store/eviction_order.h"

#include <algorithm>
#include <tuple>

namespace turbine {
namespace {

/* What finding a block's column in the store saves. Only the ratio matters: a query that fills reads, walks and encodes
 * a block of 70 rows and some seven columns in 8 to 9 us, of which reading and walking are about a third. */
constexpr float kBlockNs = 3000;
constexpr float kValueNs = 10;

/* The least chance of a segment: so much longer than others of the same use it may stay. */
constexpr float kLeastChance = 1.0f / 16;

/* Of a segment since its last use: from kLeastChance to 1, spread evenly. */
float chance_of(uint32_t table, uint32_t segment, uint32_t last_used) {
  uint64_t x = (uint64_t{table ^ last_used} << 32 | segment) + 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return kLeastChance + (1 - kLeastChance) * static_cast<float>((x ^ x >> 31) >> 40) / (1 << 24);
}

}  // namespace

void EvictionOrder::add(uint32_t table, uint32_t segment, uint32_t column, const ColumnUse& use) {
  const float saved = kBlockNs * static_cast<float>(use.blocks) + kValueNs * static_cast<float>(use.rows);
  const float density = saved / static_cast<float>(std::max<uint64_t>(use.bytes, 1));
  const float worth = density / (static_cast<float>(use.age) + 1) / chance_of(table, segment, use.segment_used);
  const uint32_t rank = (use.keep ? 2 : 0) + (use.found_lately ? 1 : 0);
  candidates_.push_back({table, segment, column, rank, worth, use.bytes});
}

std::vector<EvictionCandidate> EvictionOrder::take(uint64_t bytes) {
  const auto later = [](const EvictionCandidate& a, const EvictionCandidate& b) {
    return std::tie(a.rank, a.worth) > std::tie(b.rank, b.worth);
  };
  std::make_heap(candidates_.begin(), candidates_.end(), later);
  std::vector<EvictionCandidate> taken;
  for (uint64_t freed = 0; freed < bytes && !candidates_.empty();) {
    std::pop_heap(candidates_.begin(), candidates_.end(), later);
    freed += candidates_.back().bytes;
    taken.push_back(candidates_.back());
    candidates_.pop_back();
  }
  std::sort(taken.begin(), taken.end(), [](const EvictionCandidate& a, const EvictionCandidate& b) {
    return std::tie(a.table, a.segment, a.column) < std::tie(b.table, b.segment, b.column);
  });
  return taken;
}

}  // namespace turbine
