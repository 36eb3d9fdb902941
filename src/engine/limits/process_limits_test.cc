/* process_limits_test.cc - the least limit of a process's control groups counts, whatever their version. */
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "engine/limits/process_limits.h"

namespace turbine {
namespace {

class LimitsTest : public ::testing::Test {
 protected:
  LimitsTest() {
    char name[] = "/tmp/limits_XXXXXX";
    root_ = mkdtemp(name);
  }
  ~LimitsTest() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << content;
  }
  uint64_t memory(const std::string& membership) { return memory_limit_of({membership, root_}); }
  uint32_t processors(const std::string& membership) { return processor_quota_of({membership, root_}); }
  std::string root_;
};

TEST_F(LimitsTest, NoGroupIsNoLimit) {
  for (const char* membership : {"", "0::/a/b\n", "nonsense\n0:\n0::\n0::relative\n"}) {
    EXPECT_EQ(memory(membership), UINT64_MAX);
    EXPECT_EQ(processors(membership), UINT32_MAX);
  }
}

TEST_F(LimitsTest, AGroupHasTheMemoryOfThoseAboveIt) {
  write("/a/b/memory.max", "4000\n");
  EXPECT_EQ(memory("0::/a/b\n"), 4000u);
  write("/a/memory.max", "3000\n");
  EXPECT_EQ(memory("0::/a/b\n"), 3000u);
  write("/a/memory.max", "max\n");
  EXPECT_EQ(memory("0::/a/b\n"), 4000u);
  write("/memory.max", "2000\n");
  EXPECT_EQ(memory("0::/\n"), 2000u);
  EXPECT_EQ(memory("0::/elsewhere\n"), 2000u);
}

TEST_F(LimitsTest, Version1NamesItsControllers) {
  write("/memory/docker/x/memory.limit_in_bytes", "5000\n");
  write("/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory("5:cpu,cpuacct:/docker/x\n4:hugetlb,memory:/docker/x\n"), 5000u);
  EXPECT_EQ(memory("5:cpu,cpuacct:/docker/x\n"), UINT64_MAX);
}

TEST_F(LimitsTest, AGroupHasTheProcessorsOfThoseAboveIt) {
  write("/a/b/cpu.max", "350000 100000\n");
  EXPECT_EQ(processors("0::/a/b\n"), 4u);
  write("/a/cpu.max", "20000 100000\n");
  EXPECT_EQ(processors("0::/a/b\n"), 1u);
  write("/a/cpu.max", "max 100000\n");
  EXPECT_EQ(processors("0::/a/b\n"), 4u);
  EXPECT_EQ(processors("0::/a\n"), UINT32_MAX);
}

TEST_F(LimitsTest, ProcessorsOfVersion1) {
  write("/cpu/docker/x/cpu.cfs_quota_us", "600000\n");
  write("/cpu/docker/x/cpu.cfs_period_us", "100000\n");
  write("/cpu/cpu.cfs_quota_us", "-1\n");
  write("/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors("5:cpu,cpuacct:/docker/x\n"), 6u);
  EXPECT_EQ(processors("4:memory:/docker/x\n"), UINT32_MAX);
}

TEST(Limits, ThisMachineHasSomeMemory) { EXPECT_GT(memory_limit(), uint64_t{1} << 26); }

TEST(Limits, AThreadThatMayRunOnOneProcessorUsesOne) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_processors(), 1u);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(usable_processors(), 1u);
}

}  // namespace
}  // namespace turbine
