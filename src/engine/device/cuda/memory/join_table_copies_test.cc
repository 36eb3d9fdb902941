/* join_table_copies_test.cc - copies of join tables stay as long as their tables, and within their room. */
#include "engine/device/cuda/memory/join_table_copies.h"

#include <gtest/gtest.h>

#include "engine/device/cuda/driver/stream.h"
#include "engine/device/cuda/memory/device_join_tables.h"
#include "engine/device/cuda/testing/fake_device.h"
#include "engine/device/cuda/testing/fake_joins.h"

namespace turbine::cuda::testing {
namespace {

class JoinTableCopiesTest : public ::testing::Test {
 protected:
  JoinTableCopiesTest() : fake_(FakeOptions{}) {
    context_ = std::make_shared<CudaContext>(fake_.table(), DeviceOrdinal{0}, 13000, uint64_t{1} << 30);
  }
  ~JoinTableCopiesTest() override {
    copies_.reset();
    context_.reset();
    EXPECT_EQ(fake_.leaks(), std::vector<std::string>());
    EXPECT_EQ(fake_.misuse(), std::vector<std::string>());
  }
  void open(uint64_t capacity) { copies_.emplace(context_, capacity); }
  static std::shared_ptr<const JoinTable> table(int32_t rows) {
    std::vector<InnerRow> inner;
    for (int32_t key = 0; key < rows; key++) inner.push_back({key, key, std::nullopt});
    return make_join_table(inner, false);
  }
  /* Bytes that a query with the table copies. */
  uint64_t copied_for(const JoinTables& tables, bool ends_well = true) {
    const Driver& driver = context_->driver();
    const UniqueStream stream(context_->streams(), driver);
    MemoryAccount account(uint64_t{1} << 30);
    DeviceJoinTables copy(*context_, driver, *copies_, tables, account, stream.get());
    if (ends_well) copy.keep_copies(driver, stream.get());
    driver.check(driver.stream_synchronize(stream.get()));
    const auto* addresses = reinterpret_cast<const DevicePtr*>(copy.addresses());
    for (size_t i = 0; i < tables.size(); i++)
      EXPECT_EQ(memcmp(reinterpret_cast<const void*>(addresses[i]), tables[i]->raw(), tables[i]->raw()->total_size), 0);
    return copy.bytes_copied();
  }

  FakeDriver fake_;
  std::shared_ptr<CudaContext> context_;
  std::optional<JoinTableCopies> copies_;
};

TEST_F(JoinTableCopiesTest, ATableIsCopiedOnce) {
  open(uint64_t{1} << 20);
  const auto some = table(100), other = table(200);
  EXPECT_EQ(copied_for({some, other, some}), some->raw()->total_size + other->raw()->total_size);
  EXPECT_EQ(copied_for({other, some}), 0u);
}

TEST_F(JoinTableCopiesTest, OfAQueryThatFailsNothingStays) {
  open(uint64_t{1} << 20);
  const auto some = table(100);
  EXPECT_GT(copied_for({some}, false), 0u);
  EXPECT_GT(copied_for({some}), 0u);
  EXPECT_EQ(copied_for({some}), 0u);
}

TEST_F(JoinTableCopiesTest, ACopyGoesWithItsTable) {
  open(uint64_t{1} << 20);
  const auto some = table(100);
  copied_for({table(5000)});
  EXPECT_GT(copies_->used(), 5000u * sizeof(int32_t));
  copied_for({some});
  EXPECT_LT(copies_->used(), 5000u * sizeof(int32_t));
}

TEST_F(JoinTableCopiesTest, WhatWasNotFoundForLongestMakesRoom) {
  const auto first = table(1000), second = table(1000), third = table(1000);
  open(MemoryPool::rounded(first->raw()->total_size) * 5 / 2);
  copied_for({first});
  copied_for({second});
  EXPECT_EQ(copied_for({first}), 0u);
  copied_for({third});
  EXPECT_LE(copies_->used(), copies_->capacity());
  EXPECT_EQ(copied_for({first}), 0u);
  EXPECT_GT(copied_for({second}), 0u);
}

TEST_F(JoinTableCopiesTest, WithoutRoomEachQueryCopies) {
  open(0);
  const auto some = table(100);
  EXPECT_EQ(copied_for({some}), copied_for({some}));
  EXPECT_EQ(copies_->used(), 0u);
}

}  // namespace
}  // namespace turbine::cuda::testing
