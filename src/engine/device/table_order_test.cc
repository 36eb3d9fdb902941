/* table_order_test.cc - rows come in their table's order, or it is said that there is none. */
#include "engine/device/table_order.h"

#include <gtest/gtest.h>

#include "engine/wire/device_error.h"

namespace turbine {
namespace {

constexpr uint64_t kSegments = uint64_t{1} << 40;

/* Three workers, whose chunks end in whatever order. */
TEST(TableOrderTest, FindsRowsOfAllWorkers) {
  TableOrder order(3);
  order.end_chunk(1, 1, 10);
  order.end_chunk(0, 0, 5);
  order.end_chunk(1, 3, 10);  // no row of it passed
  order.end_chunk(0, 2, 25);
  order.end_chunk(2, 4, 1);
  EXPECT_EQ(order.finish(), 36u);
  const auto check = [&](uint64_t row, unsigned worker, uint64_t first, uint64_t count) {
    const TableOrder::Part part = order.find(row);
    EXPECT_EQ(part.worker, worker) << row;
    EXPECT_EQ(part.first, first) << row;
    EXPECT_EQ(part.count, count) << row;
  };
  check(0, 0, 0, 5);
  check(4, 0, 4, 1);
  check(5, 1, 0, 10);
  check(15, 0, 5, 20);
  check(34, 0, 24, 1);
  check(35, 2, 0, 1);
}

TEST(TableOrderTest, TakesSegmentsByTheirBlocks) {
  TableOrder order(2);
  order.end_segment(1, 64, 127);
  order.end_segment(1, 128, 130);
  order.end_chunk(1, kSegments + 1, 7);
  order.end_segment(0, 0, 63);
  order.end_chunk(0, kSegments, 4);
  EXPECT_EQ(order.finish(), 11u);
  EXPECT_EQ(order.find(3).worker, 0u);
  EXPECT_EQ(order.find(4).worker, 1u);
}

TEST(TableOrderTest, HasNoneOfTwoVersionsOfASegment) {
  TableOrder order(1);
  order.end_segment(0, 0, 60);
  order.end_segment(0, 3, 3);
  EXPECT_THROW(order.end_chunk(0, kSegments, 4), DeviceError);
  TableOrder across(2);
  across.end_segment(0, 0, 60);
  across.end_chunk(0, kSegments, 4);
  across.end_segment(1, 60, 70);
  across.end_chunk(1, kSegments + 1, 4);
  EXPECT_THROW(across.finish(), DeviceError);
}

TEST(TableOrderTest, HasNoneOfSegmentsAndPages) {
  TableOrder order(1);
  order.end_segment(0, 0, 60);
  order.end_chunk(0, kSegments, 4);
  order.end_chunk(0, 0, 6);
  EXPECT_THROW(order.finish(), DeviceError);
}

TEST(TableOrderTest, OfNothing) { EXPECT_EQ(TableOrder(4).finish(), 0u); }

}  // namespace
}  // namespace turbine
