/* split_choice_test.cc - queries whose columns do not fit a GPU, and those whose kernels take long, are worth several.
 */
#include "engine/execution/split_choice.h"

#include <gtest/gtest.h>

#include "engine/program/testing/program_writer.h"

namespace turbine {
namespace {

using SplitReason = SplitChoice::Reason;

Program summing_program(int columns) {
  testing::ProgramWriter writer;
  for (int i = 0; i < columns; i++) writer.aggregate(TB_AGG_SUM_INT, writer.column(TB_TYPE_INT4));
  return Program::parse(writer.blob(TB_SINK_AGGREGATE));
}

DeviceQueryStats stats_of(uint64_t rows, uint64_t compute_us, uint64_t cached_bytes) {
  DeviceQueryStats stats;
  stats.rows_in = rows;
  stats.compute_us = compute_us;
  stats.cached_bytes = cached_bytes;
  return stats;
}

constexpr uint64_t kLargeCache = uint64_t{64} << 30;

TEST(SplitChoice, ColumnsThatDoNotFitOneGpu) {
  const SplitChoice choice;
  EXPECT_EQ(choice.worth(summing_program(2), 1e6, 1, 8000000), SplitReason::kNone);
  EXPECT_EQ(choice.worth(summing_program(2), 1e6, 1, 7999999), SplitReason::kColumns);
  EXPECT_EQ(choice.worth(summing_program(1), 1e6, 1, 7999999), SplitReason::kNone);
}

TEST(SplitChoice, ColumnsByWhatTheyTookBefore) {
  SplitChoice choice;
  choice.note(summing_program(2), stats_of(10000000, 10, 20000000));  // 2 bytes a row
  EXPECT_EQ(choice.worth(summing_program(2), 1e6, 1, 2000001), SplitReason::kNone);
  EXPECT_EQ(choice.worth(summing_program(2), 1e6, 1, 1999999), SplitReason::kColumns);
}

TEST(SplitChoice, KernelsByWhatTheyTookBefore) {
  SplitChoice choice;
  EXPECT_EQ(choice.worth(summing_program(1), 1e9, 1, kLargeCache), SplitReason::kNone) << "nothing is known";
  choice.note(summing_program(1), stats_of(100000000, 1000, 400000000));
  EXPECT_EQ(choice.worth(summing_program(1), 2.9e8, 1, kLargeCache), SplitReason::kNone);
  EXPECT_EQ(choice.worth(summing_program(1), 3.1e8, 1, kLargeCache), SplitReason::kKernels);
  EXPECT_EQ(choice.worth(summing_program(2), 3.1e8, 1, kLargeCache), SplitReason::kNone) << "another program";
  choice.note(summing_program(1), stats_of(1000, 1000, 4000));
  EXPECT_EQ(choice.worth(summing_program(1), 2.9e8, 1, kLargeCache), SplitReason::kNone) << "too few rows tell nothing";
}

}  // namespace
TEST(SplitChoice, ManyGroupsTakeLongerToMerge) {
  testing::ProgramWriter writer;
  writer.keys = {writer.column(TB_TYPE_INT4)};
  writer.aggregate(TB_AGG_SUM_INT, writer.column(TB_TYPE_INT4));
  const Program grouped = Program::parse(writer.blob(TB_SINK_AGGREGATE));
  ASSERT_TRUE(grouped.grouped());
  SplitChoice choice;
  choice.note(grouped, stats_of(100000000, 10000, 400000000));
  EXPECT_EQ(choice.worth(grouped, 1e8, 1000, kLargeCache), SplitReason::kKernels);
  EXPECT_EQ(choice.worth(grouped, 1e8, 1e6, kLargeCache), SplitReason::kNone);
  EXPECT_EQ(choice.worth(grouped, 1e8, 1e6, 1000), SplitReason::kColumns);
}

}  // namespace turbine
