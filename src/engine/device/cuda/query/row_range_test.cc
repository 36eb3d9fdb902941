/* row_range_test.cc - every row of a chunk is probed, each once in the end. */
#include "engine/device/cuda/query/row_range.h"

#include <gtest/gtest.h>

namespace turbine::cuda {
namespace {

/* Probes rows that each make `per_row` tuples; returns the number of probes. */
uint32_t probe_all(uint32_t nrows, uint64_t per_row, uint64_t room) {
  RowRange range(nrows);
  uint32_t probes = 0, expected_first = 0;
  do {
    for (;;) {
      probes++;
      EXPECT_EQ(range.first(), expected_first);
      EXPECT_LE(range.end(), nrows);
      const uint64_t found = (range.end() - range.first()) * per_row;
      if (found <= room || !range.shrink(found, room)) break;
      EXPECT_GT(range.end(), range.first());
    }
    expected_first = range.end();
  } while (range.next());
  EXPECT_EQ(expected_first, nrows);
  return probes;
}

TEST(RowRange, OnceWhereAllFits) {
  EXPECT_EQ(probe_all(1000, 1, 1000), 1u);
  EXPECT_EQ(probe_all(0, 1, 1000), 1u);
  EXPECT_EQ(probe_all(1000, 0, 0), 1u);
}

TEST(RowRange, CoversEveryRow) {
  for (uint32_t nrows : {1u, 2u, 3u, 100u, 4656u})
    for (uint64_t per_row : {1u, 2u, 7u, 1000u, 100000u})
      for (uint64_t room : {1u, 64u, 4656u}) probe_all(nrows, per_row, room);
}

TEST(RowRange, NeedsFewProbes) { EXPECT_LE(probe_all(4096, 10, 4096), 30u); }

TEST(RowRange, OneRowCannotShrink) {
  RowRange range(1);
  EXPECT_FALSE(range.shrink(1000, 10));
  EXPECT_FALSE(range.next());
}

}  // namespace
}  // namespace turbine::cuda
