/* gpu_choice_test.cc - queries go to the GPU with the fewest, and to where their table is. */
#include "engine/execution/gpu_choice.h"

#include <gtest/gtest.h>

namespace turbine {
namespace {

using Devices = std::vector<uint32_t>;

class GpuChoiceTest : public ::testing::Test {
 protected:
  Devices order(uint32_t gpus, uint64_t affinity = 0, uint32_t near = 0) {
    return choice.order(gpus, affinity, near, [this](uint32_t device) { return running[device]; });
  }
  GpuChoice choice;
  uint32_t running[33] = {};
};

TEST_F(GpuChoiceTest, TheLeastBusyComesFirst) {
  EXPECT_EQ(order(0b1111), (Devices{1, 2, 3, 4}));
  running[1] = 3;
  running[2] = 1;
  running[3] = UINT32_MAX;
  EXPECT_EQ(order(0b1111), (Devices{4, 2, 1}));
  EXPECT_EQ(order(0b0100), Devices());
  EXPECT_EQ(order(0b0011), (Devices{2, 1}));
  EXPECT_EQ(order(0), Devices());
}

TEST_F(GpuChoiceTest, OfEqualOnesThoseNearTheDrives) {
  EXPECT_EQ(order(0b1111, 77, 0b0100), (Devices{3, 1, 2, 4}));
  choice.note(77, 2);
  EXPECT_EQ(order(0b1111, 77, 0b0100), (Devices{2, 3, 1, 4})) << "cached columns need no drive";
  running[2] = running[3] = 1;
  EXPECT_EQ(order(0b1111, 77, 0b0100), (Devices{1, 4, 2, 3}));
  EXPECT_EQ(order(0b0011, 78, 0b0100), (Devices{1, 2})) << "a near one that is not allowed";
}

TEST_F(GpuChoiceTest, OfEqualOnesThoseThatHaveTheTable) {
  choice.note(77, 3);
  EXPECT_EQ(order(0b1111, 77), (Devices{3, 1, 2, 4}));
  EXPECT_EQ(order(0b1111, 78), (Devices{1, 2, 3, 4}));
  running[3] = 1;
  EXPECT_EQ(order(0b1111, 77), (Devices{1, 2, 4, 3})) << "waiting would take longer than a copy";
  choice.note(77, 2);
  EXPECT_EQ(order(0b1111, 77), (Devices{2, 1, 4, 3}));
  choice.note(0, 4);
  EXPECT_EQ(order(0b1111, 0), (Devices{1, 2, 4, 3})) << "no table";
}

TEST_F(GpuChoiceTest, ForgetsTooManyTables) {
  choice.note(1, 2);
  for (uint64_t table = 2; table < 5000; table++) choice.note(table, 2);
  EXPECT_EQ(order(0b11, 1), (Devices{1, 2}));
  EXPECT_EQ(order(0b11, 4999), (Devices{2, 1}));
}

}  // namespace
}  // namespace turbine
