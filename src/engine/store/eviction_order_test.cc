/* eviction_order_test.cc - which candidates go first: classes, bytes, age, columns of one segment. */
#include "engine/store/eviction_order.h"

#include <gtest/gtest.h>

#include <map>

namespace turbine {
namespace {

constexpr uint32_t kMany = 1000;

/* 64 blocks of 4,480 rows whose codes take two bytes. */
ColumnUse use(uint32_t age = 1) { return {false, false, age, age, 64, 4480, 8960}; }

/* Of many segments for each kind of use, how many are evicted by kind if half of the bytes are wanted. */
std::vector<uint32_t> evicted(const std::vector<ColumnUse>& kinds) {
  EvictionOrder order;
  uint64_t bytes = 0;
  for (uint32_t kind = 0; kind < kinds.size(); kind++)
    for (uint32_t i = 0; i < kMany; i++) {
      order.add(kind, i, 0, kinds[kind]);
      bytes += kinds[kind].bytes;
    }
  std::vector<uint32_t> counts(kinds.size());
  for (const EvictionCandidate& candidate : order.take(bytes / 2)) counts[candidate.table]++;
  return counts;
}

TEST(EvictionOrderTest, WhatWasFoundLatelyStaysAndPinnedTablesBeforeAll) {
  ColumnUse found = use(1000), pinned = use(1000000);
  found.found_lately = true;
  pinned.keep = true;
  EXPECT_EQ(evicted({found, use(1)}), (std::vector<uint32_t>{0, kMany}));
  EXPECT_EQ(evicted({pinned, found}), (std::vector<uint32_t>{0, kMany}));
}

TEST(EvictionOrderTest, TextGoesBeforeNumbersThatSaveAsMuch) {
  ColumnUse text = use();
  text.bytes *= 40;
  const auto counts = evicted({text, use()});
  EXPECT_GT(counts[0], kMany / 2);
  EXPECT_LT(counts[1], kMany / 100);
}

TEST(EvictionOrderTest, WhatIsOldGoesFirstYetSomeOfItStays) {
  const auto counts = evicted({use(5), use(1)});
  EXPECT_GT(counts[0], kMany * 7 / 10);
  EXPECT_LT(counts[0], kMany * 95 / 100);
  EXPECT_EQ(evicted({use(1000), use(1)}), (std::vector<uint32_t>{kMany, 0})) << "but not for ever";
}

TEST(EvictionOrderTest, ColumnsOfASegmentShareTheirChance) {
  EvictionOrder order;
  for (uint32_t i = 0; i < kMany; i++)
    for (uint32_t column : {0, 1, 2}) order.add(0, i, column, use());
  std::map<uint32_t, uint32_t> columns;
  const auto taken = order.take(kMany / 2 * 3 * use().bytes);
  for (const EvictionCandidate& candidate : taken) columns[candidate.segment]++;
  EXPECT_EQ(columns.size(), kMany / 2);
  for (size_t i = 0; i < taken.size(); i++) EXPECT_EQ(taken[i].column, i % 3) << "grouped";
}

TEST(EvictionOrderTest, TakesWhatThereIs) {
  EvictionOrder order;
  order.add(3, 4, EvictionCandidate::kNoColumn, {false, false, 1, 1, 64, 0, 1000});
  const auto taken = order.take(1 << 20);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].table, 3u);
  EXPECT_EQ(taken[0].segment, 4u);
}

}  // namespace
}  // namespace turbine
