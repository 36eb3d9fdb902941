/* segment_homes_test.cc - ranges are whole segments, spread evenly, and stay while a table grows a little. */
#include "engine/device/split/segment_homes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/store/segment.h"

namespace turbine {
namespace {

constexpr uint64_t kHomeSizes[] = {0, 1, 64, 65, 1000, 65536, 100000, 1234567, 40000000, UINT32_MAX};

TEST(SegmentHomes, RangesAreWholeSegments) {
  for (const uint64_t nblocks : kHomeSizes) {
    const uint32_t blocks = home_range_blocks(nblocks);
    EXPECT_GT(blocks, 0u);
    EXPECT_EQ(blocks % TB_SEGMENT_BLOCKS, 0u);
  }
}

/* No GPU has more than a third more than its share. */
TEST(SegmentHomes, AreSpreadEvenly) {
  for (const uint64_t nblocks : {100000u, 123456u, 1234567u, 40000000u})
    for (const uint32_t gpus : {2u, 3u, 4u, 8u}) {
      const uint32_t blocks = home_range_blocks(nblocks);
      std::vector<uint64_t> of_gpu(gpus);
      for (uint64_t first = 0; first < nblocks; first += blocks)
        of_gpu[home_of_range(static_cast<uint32_t>(first / blocks), gpus)] += std::min<uint64_t>(blocks,
                                                                                                 nblocks - first);
      const uint64_t most = *std::max_element(of_gpu.begin(), of_gpu.end());
      EXPECT_LE(most * gpus * 3, nblocks * 4) << nblocks << " blocks, " << gpus << " GPUs";
    }
}

TEST(SegmentHomes, StayWhileATableGrowsALittle) {
  uint32_t changes = 0;
  uint32_t before = home_range_blocks(10000000);
  for (uint64_t nblocks = 10000000; nblocks < 20000000; nblocks += 10000) {
    const uint32_t blocks = home_range_blocks(nblocks);
    changes += blocks != before;
    before = blocks;
  }
  EXPECT_LE(changes, 9u);
}

}  // namespace
}  // namespace turbine
