/* host_memory_test.cc - buffers that grow and are taken again, and what bounds idle ones. */
#include "engine/memory/host_memory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "engine/wire/device_error.h"

namespace turbine {
namespace {

constexpr uint64_t kKilobytes = 1024, kMegabytes = 1024 * kKilobytes;
constexpr uint64_t kUnlimited = UINT64_MAX;

bool all_are(const HostBuffer& buffer, uint64_t from, uint64_t to, uint8_t value) {
  for (uint64_t i = from; i < to; i++)
    if (buffer.data()[i] != value) return false;
  return true;
}

TEST(HostMemory, MemoryIsTakenAgain) {
  IdleMappings idle(kMegabytes);
  MemoryBudget budget(kUnlimited, &idle);
  const uint8_t* first;
  {
    HostBuffer buffer(budget, 64 * kKilobytes, HostContents::kAnything);
    first = buffer.data();
    memset(buffer.data(), 7, buffer.size());
  }
  EXPECT_EQ(idle.bytes(), 64 * kKilobytes);
  EXPECT_EQ(budget.used(), 0u);

  // Not where zeros are wanted, and not where much would be spare.
  HostBuffer zeros(budget, 64 * kKilobytes);
  EXPECT_TRUE(all_are(zeros, 0, zeros.size(), 0));
  HostBuffer small(budget, 32 * kKilobytes, HostContents::kAnything);
  EXPECT_NE(small.data(), first);
  HostBuffer large(budget, 68 * kKilobytes, HostContents::kAnything);
  EXPECT_NE(large.data(), first);
  HostBuffer again(budget, 60 * kKilobytes, HostContents::kAnything);
  EXPECT_EQ(again.data(), first);
  EXPECT_EQ(again.size(), 60 * kKilobytes);
  EXPECT_EQ(idle.bytes(), 0u);
}

TEST(HostMemory, GrowthKeepsWhatIsThere) {
  for (const uint64_t from : {4 * kKilobytes, 512 * kKilobytes, 3 * kMegabytes})
    for (const bool reuses : {false, true})
      for (const HostContents contents : {HostContents::kZeros, HostContents::kAnything}) {
        IdleMappings idle(64 * kMegabytes);
        MemoryBudget budget(kUnlimited, reuses ? &idle : nullptr);
        if (reuses) {
          HostBuffer before(budget, from * 4);
          memset(before.data(), 9, before.size());
        }
        HostBuffer buffer(budget, from, contents);
        memset(buffer.data(), 5, from);
        buffer.grow(from * 4);
        EXPECT_EQ(buffer.size(), from * 4);
        EXPECT_EQ(budget.used(), from * 4);
        EXPECT_TRUE(all_are(buffer, 0, from, 5)) << from;
        const bool zeros = contents == HostContents::kZeros || !reuses;
        EXPECT_TRUE(all_are(buffer, from, from * 4, zeros ? 0 : 9)) << from;
        memset(buffer.data(), 6, buffer.size());  // all of it is there
        buffer.shrink(from);
        EXPECT_EQ(budget.used(), from);
        EXPECT_TRUE(all_are(buffer, 0, from, 6));
      }
}

TEST(HostMemory, LargeBuffersBeginWhereHugePagesDo) {
  MemoryBudget budget(kUnlimited);
  HostBuffer buffer(budget, 5 * kMegabytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % (2 * kMegabytes), 0u);
  buffer.grow(9 * kMegabytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % (2 * kMegabytes), 0u);
}

TEST(HostMemory, BeyondTheBudgetNothingChanges) {
  IdleMappings idle(kMegabytes);
  MemoryBudget budget(100 * kKilobytes, &idle);
  HostBuffer buffer(budget, 64 * kKilobytes, HostContents::kAnything);
  buffer.data()[0] = 3;
  EXPECT_THROW(buffer.grow(128 * kKilobytes), DeviceError);
  EXPECT_THROW(HostBuffer(budget, 40 * kKilobytes, HostContents::kAnything), DeviceError);
  EXPECT_EQ(budget.used(), 64 * kKilobytes);
  EXPECT_EQ(buffer.size(), 64 * kKilobytes);
  EXPECT_EQ(buffer.data()[0], 3);
}

TEST(HostMemory, IdleMemoryIsBounded) {
  IdleMappings idle(kMegabytes);
  MemoryBudget budget(kUnlimited, &idle);
  {
    HostBuffer too_large(budget, kMegabytes);
  }
  EXPECT_EQ(idle.bytes(), 0u);
  {
    std::vector<HostBuffer> buffers;
    for (uint64_t i = 0; i < 40; i++) buffers.emplace_back(budget, 100 * kKilobytes);
  }
  EXPECT_EQ(idle.bytes(), 1000 * kKilobytes);
  {
    std::vector<HostBuffer> many;
    for (uint64_t i = 0; i < 2000; i++) many.emplace_back(budget, 1);
  }
  EXPECT_LE(idle.bytes(), kMegabytes);
  idle.drop_older_than(std::chrono::hours(1));
  EXPECT_GT(idle.bytes(), 0u);
  idle.drop_older_than(std::chrono::seconds(0));
  EXPECT_EQ(idle.bytes(), 0u);
}

}  // namespace
}  // namespace turbine
