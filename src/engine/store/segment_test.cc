/* segment_test.cc - which blocks a segment has, and columns that are empty. */
#include "engine/store/segment.h"

#include <gtest/gtest.h>

namespace turbine {
namespace {

TEST(Segment, BlocksOfAMapPageAreDividedFromItsStart) {
  EXPECT_EQ(segment_number(0), 0u);
  EXPECT_EQ(segment_number(TB_SEGMENT_BLOCKS - 1), 0u);
  EXPECT_EQ(segment_number(TB_SEGMENT_BLOCKS), 1u);
  const uint32_t last = segment_number(TB_BLOCKS_PER_MAP_PAGE - 1);
  const uint32_t next = segment_number(TB_BLOCKS_PER_MAP_PAGE);
  EXPECT_EQ(next, last + 1);
  EXPECT_EQ(segment_first_block(next), TB_BLOCKS_PER_MAP_PAGE);
  EXPECT_EQ(segment_blocks(next), TB_SEGMENT_BLOCKS);
  EXPECT_EQ(segment_blocks(last), TB_BLOCKS_PER_MAP_PAGE % TB_SEGMENT_BLOCKS);
}

/* Every block is in one segment: the first block and the length say the same. */
TEST(Segment, CoverAllBlocksOnce) {
  uint32_t block = 0;
  for (uint32_t number = 0; block < 3 * TB_BLOCKS_PER_MAP_PAGE; number++) {
    ASSERT_EQ(segment_first_block(number), block);
    for (uint32_t i = 0; i < segment_blocks(number); i++) ASSERT_EQ(segment_number(block + i), number);
    block += segment_blocks(number);
  }
}

TEST(Segment, ColumnsWithoutRowsHaveTheArraysThatCodeExpects) {
  const StoredColumn text({TB_TYPE_TEXT, true, true}, 0, 0);
  EXPECT_NE(text.values(), nullptr);
  EXPECT_NE(text.valid(), nullptr);
  EXPECT_NE(text.text(), nullptr);
  const StoredColumn number({TB_TYPE_INT4, false, false}, 100);
  EXPECT_EQ(number.valid(), nullptr);
  EXPECT_EQ(number.text(), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(number.values()) % 64, 0u);
  EXPECT_GE(number.bytes(), 400u);
}

}  // namespace
}  // namespace turbine
