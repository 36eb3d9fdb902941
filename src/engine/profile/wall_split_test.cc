/*
 * Each moment counts once, whatever overlaps, in whatever order it is told.
 */
#include "engine/profile/wall_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace turbine {
namespace {

using Phases = std::array<uint64_t, TB_PHASE_COUNT>;

Phases phases(std::initializer_list<std::pair<TbPhase, uint64_t>> given) {
  Phases result{};
  for (const auto& [phase, ns] : given) result[phase] = ns;
  return result;
}

TEST(WallSplit, WhatNobodyDoesIsWaiting) {
  WallSplit split;
  split.begin(100);
  split.add(TB_PHASE_READ, 110, 130);
  EXPECT_EQ(split.until(200), phases({{TB_PHASE_WAIT, 80}, {TB_PHASE_READ, 20}}));
}

TEST(WallSplit, WhatOverlapsIsShared) {
  WallSplit split;
  split.begin(0);
  split.add(TB_PHASE_DECODE, 20, 60);
  split.add(TB_PHASE_READ, 0, 40);
  split.add(TB_PHASE_READ, 0, 40);
  // 0-20 read; 20-40 two of three are reading; 40-60 decode.
  EXPECT_EQ(split.until(60), phases({{TB_PHASE_READ, 33}, {TB_PHASE_DECODE, 26}}));
}

TEST(WallSplit, OnlyWhatLiesWithinCounts) {
  WallSplit split;
  split.add(TB_PHASE_COPY, 0, 40);
  split.begin(50);
  split.add(TB_PHASE_COMPUTE, 10, 60);
  split.add(TB_PHASE_COMPUTE, 90, 500);
  EXPECT_EQ(split.until(100), phases({{TB_PHASE_COMPUTE, 20}, {TB_PHASE_WAIT, 30}}));
}

TEST(WallSplit, SpansWithoutAPhaseDoNotCount) {
  WallSplit split;
  split.begin(0);
  split.add(TB_PHASE_NONE, 0, 10);
  EXPECT_EQ(split.until(10), phases({{TB_PHASE_WAIT, 10}}));
}

/* More than are kept at once, told about as late as they end. */
TEST(WallSplit, ManyAddUp) {
  constexpr uint64_t kEnd = 40'000'000;
  std::mt19937_64 random(7);
  struct Given {
    TbPhase phase;
    uint64_t begin, end;
  };
  std::vector<Given> spans;
  for (int i = 0; i < 300'000; i++) {
    const uint64_t begin = random() % kEnd;
    spans.push_back({static_cast<TbPhase>(random() % TB_PHASE_COUNT), begin, std::min(begin + random() % 2000, kEnd)});
  }
  std::sort(spans.begin(), spans.end(), [](const Given& a, const Given& b) { return a.end < b.end; });
  WallSplit split;
  split.begin(0);
  for (const Given& span : spans) split.add(span.phase, span.begin, span.end);
  const Phases result = split.until(kEnd);
  const uint64_t sum = std::accumulate(result.begin(), result.end(), uint64_t{0});
  EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(kEnd), TB_PHASE_COUNT);
  // All phases but WAIT are alike.
  for (int phase = 0; phase < TB_PHASE_COUNT; phase++)
    EXPECT_NEAR(static_cast<double>(result[phase]), kEnd / 8.0, kEnd / 100.0) << phase;
}

}  // namespace
}  // namespace turbine
