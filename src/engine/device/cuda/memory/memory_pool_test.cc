/* memory_pool_test.cc - blocks that are given back are lent again, and which of them stay. */
#include "engine/device/cuda/memory/memory_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/cuda/testing/fake_driver.h"

namespace turbine::cuda::testing {
namespace {

/* What one query has left, together with what another takes again and again, is more than the pool keeps: what is
 * taken again stays. */
TEST(MemoryPool, KeepsWhatIsAskedFor) {
  constexpr uint64_t kMega = uint64_t{1} << 20;
  FakeDriver fake{FakeOptions{}};
  DeviceOrdinal ordinal = 0;
  auto context = std::make_shared<CudaContext>(fake.table(), ordinal, 13000, uint64_t{1} << 30);
  for (const uint64_t left : {kMega, 2 * kMega, 8 * kMega, 12 * kMega}) {
    MemoryPool& pool = context->pinned_memory();
    const auto take = [&](uint64_t bytes, uint64_t all) {
      std::vector<Block> blocks;
      while (blocks.size() * bytes < all) blocks.push_back(pool.allocate(context->driver(), bytes, nullptr));
    };
    take(left, 200 * kMega);
    for (int i = 0; i < 3; i++) take(5 * kMega, 150 * kMega);
    const uint64_t calls = fake.calls();
    for (int i = 0; i < 10; i++) take(5 * kMega, 150 * kMega);
    EXPECT_EQ(fake.calls(), calls) << left;
  }
  context.reset();
  EXPECT_EQ(fake.leaks(), std::vector<std::string>());
  EXPECT_EQ(fake.misuse(), std::vector<std::string>());
}

/* What other programs take of the device is not the pool's to give, whatever its budget says. */
TEST(MemoryPool, KnowsOfOtherPrograms) {
  constexpr uint64_t kMega = uint64_t{1} << 20;
  FakeOptions options;
  options.memory = 1000 * kMega;
  FakeDriver fake{options};
  auto context = std::make_shared<CudaContext>(fake.table(), DeviceOrdinal{0}, 13000, 800 * kMega);
  MemoryPool& pool = context->device_memory();
  context->enter(context->driver());
  EXPECT_TRUE(pool.can_give(700 * kMega));
  fake.others_take(900 * kMega);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(pool.can_give(700 * kMega));
  EXPECT_TRUE(pool.can_give(90 * kMega));
  // What the pool keeps is there, and the driver is not asked.
  pool.allocate(context->driver(), 64 * kMega, nullptr).reset();
  const uint64_t calls = fake.calls();
  EXPECT_TRUE(pool.can_give(64 * kMega));
  EXPECT_EQ(fake.calls(), calls);
  fake.others_give_back(900 * kMega);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(pool.can_give(700 * kMega));
}

/* Two servers on one GPU: the second begins with a share of what the first has left, and gets more once that has gone.
 */
TEST(MemoryPool, BudgetGrowsWithWhatOthersGiveBack) {
  constexpr uint64_t kMega = uint64_t{1} << 20;
  FakeOptions options;
  options.memory = 1000 * kMega;
  FakeDriver fake{options};
  fake.others_take(900 * kMega);
  {
    CudaContext second(fake.table(), DeviceOrdinal{0}, 13000, 0);
    MemoryPool& pool = second.device_memory();
    EXPECT_EQ(pool.budget() / kMega, 85u);
    const Block block = pool.allocate(second.driver(), 64 * kMega, nullptr);
    second.raise_budget();
    EXPECT_EQ(pool.budget() / kMega, 85u);
    fake.others_give_back(900 * kMega);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    second.raise_budget();
    EXPECT_EQ(pool.budget() / kMega, 850u);
    EXPECT_NO_THROW(pool.allocate(second.driver(), 512 * kMega, nullptr));
    fake.others_take(300 * kMega);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    second.raise_budget();
    EXPECT_EQ(pool.budget() / kMega, 850u) << "can_give() sees that";
    EXPECT_FALSE(pool.can_give(800 * kMega));
    CudaContext given(fake.table(), DeviceOrdinal{0}, 13000, 10 * kMega);
    given.raise_budget();
    EXPECT_EQ(given.device_memory().budget(), 10 * kMega);
  }
  fake.others_give_back(300 * kMega);
  EXPECT_EQ(fake.leaks(), std::vector<std::string>());
}

}  // namespace
}  // namespace turbine::cuda::testing
