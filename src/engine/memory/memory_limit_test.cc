/* memory_limit_test.cc - the least limit of a process's control groups counts, whatever their version. */
#include "engine/memory/memory_limit.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace turbine {
namespace {

class MemoryLimitTest : public ::testing::Test {
 protected:
  MemoryLimitTest() {
    char name[] = "/tmp/memory_limit_XXXXXX";
    root_ = mkdtemp(name);
  }
  ~MemoryLimitTest() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << content;
  }
  std::string root_;
};

TEST_F(MemoryLimitTest, NoGroupIsNoLimit) {
  EXPECT_EQ(control_group_limit("", root_), UINT64_MAX);
  EXPECT_EQ(control_group_limit("0::/a/b\n", root_), UINT64_MAX);
  EXPECT_EQ(control_group_limit("nonsense\n0:\n0::\n0::relative\n", root_), UINT64_MAX);
}

TEST_F(MemoryLimitTest, AGroupHasTheLimitsOfThoseAboveIt) {
  write("/a/b/memory.max", "4000\n");
  EXPECT_EQ(control_group_limit("0::/a/b\n", root_), 4000u);
  write("/a/memory.max", "3000\n");
  EXPECT_EQ(control_group_limit("0::/a/b\n", root_), 3000u);
  write("/a/memory.max", "max\n");
  EXPECT_EQ(control_group_limit("0::/a/b\n", root_), 4000u);
  write("/memory.max", "2000\n");
  EXPECT_EQ(control_group_limit("0::/\n", root_), 2000u);
  EXPECT_EQ(control_group_limit("0::/elsewhere\n", root_), 2000u);
}

TEST_F(MemoryLimitTest, Version1NamesItsControllers) {
  write("/memory/docker/x/memory.limit_in_bytes", "5000\n");
  write("/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(control_group_limit("5:cpu,cpuacct:/docker/x\n4:hugetlb,memory:/docker/x\n", root_), 5000u);
  EXPECT_EQ(control_group_limit("5:cpu,cpuacct:/docker/x\n", root_), UINT64_MAX);
}

TEST(MemoryLimit, ThisMachineHasSome) { EXPECT_GT(memory_limit(), uint64_t{1} << 26); }

}  // namespace
}  // namespace turbine
