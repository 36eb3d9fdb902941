/* row_id_order_test.cc - ids of rows come in the order of the table, marked as undecided or not, few or many. */
#include "engine/device/cuda/query/row_id_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "turbine/kernel.h"

namespace turbine::cuda {
namespace {

TEST(RowIdOrder, MarksDoNotCount) {
  constexpr uint32_t kPages = 200;
  std::mt19937_64 random(1);
  for (uint32_t every : {1u, 3u, 50u, 4000u}) {
    std::vector<uint32_t> expected;
    for (uint32_t page = 0; page < kPages; page++)
      for (uint32_t line = 1; line <= TB_MAX_TUPLES_PER_PAGE; line++)
        if (random() % every == 0)
          expected.push_back(TB_ROWID(page, line) | (random() % 4 == 0 ? TB_ROWID_UNDECIDED : 0));
    std::vector<uint32_t> ids = expected;
    std::shuffle(ids.begin(), ids.end(), random);
    ASSERT_TRUE(sort_page_row_ids(ids, kPages));
    EXPECT_EQ(ids, expected) << "one of " << every;
  }
}

TEST(RowIdOrder, NoIdTwice) {
  std::vector<uint32_t> twice = {TB_ROWID(0, 1), TB_ROWID(1, 1), TB_ROWID(0, 1) | TB_ROWID_UNDECIDED};
  EXPECT_FALSE(sort_page_row_ids(twice, 2));
  std::vector<uint32_t> outside = {TB_ROWID(2, 1) | TB_ROWID_UNDECIDED};
  EXPECT_FALSE(sort_page_row_ids(outside, 2));
  std::vector<uint32_t> no_line = {TB_ROWID_UNDECIDED};
  EXPECT_FALSE(sort_page_row_ids(no_line, 2));
}

}  // namespace
}  // namespace turbine::cuda
