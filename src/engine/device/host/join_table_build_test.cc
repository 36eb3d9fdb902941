/*
 * join_table_build_test.cc - tables that the host builds, by its threads.
 */
#include "engine/device/host/join_table_build.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

#include "engine/device/testing/join_table_cases.h"

namespace turbine {
namespace {

std::shared_ptr<const JoinTable> make_table(const KeptRowLayout& shape, KeptParts::Stores stores, WorkerPool& pool,
                                            MemoryBudget& budget) {
  return build_join_table(shape, std::move(stores), pool, budget);
}

/* One key in all rows, a few hot ones among many, and two that alternate. */
TEST_F(TableTest, SkewIsNotQuadratic) {
  constexpr int kRows = 1000000;
  const std::vector<std::pair<const char*, std::function<int64_t(int)>>> skews = {
      {"one key, far apart", [](int i) { return i == 0 ? int64_t{1} << 60 : 5; }},
      {"one key, direct", [](int) { return int64_t{5}; }},
      {"two keys that alternate", [](int i) { return i % 2 ? int64_t{1} << 60 : 5; }},
      {"a hot key among many", [](int i) { return i % 2 ? 5 : int64_t{i} << 30; }}};
  for (const auto& [name, key] : skews) {
    shape_ = {};
    stores_.clear();
    shape({TB_TYPE_INT8}, {{TB_TYPE_INT4, 0, false}});
    for (int i = 0; i < kRows; i++) {
      // As add(), without its bookkeeping.
      HostRowStore& store = *stores_[static_cast<size_t>(i) % 3];
      store.ensure_rows(1);
      TbRowStore& raw = *store.raw();
      static_cast<int64_t*>(raw.columns[0].values)[raw.nrows] = key(i);
      static_cast<int32_t*>(raw.columns[1].values)[raw.nrows] = i;
      raw.hashes[raw.nrows++] = hash_of(key(i));
    }
    const auto start = std::chrono::steady_clock::now();
    const TbJoinTable* t = build();
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    std::cout << "  " << name << ": " << ms << " ms\n";
    EXPECT_LT(ms, 20000) << name;  // quadratic would take hours; loaded machines and sanitizers some seconds
    // The longest chain has every row once.
    std::vector<bool> seen(kRows);
    const uint64_t hash = hash_of(int64_t{5});
    uint32_t row = TB_NONE;
    if (t->kind == TB_TABLE_DIRECT)
      row = at<uint32_t>(t->buckets)[5 - t->key_min] - 1;
    else
      for (uint64_t i = hash & t->bucket_mask; at<uint64_t>(t->buckets)[i] != 0; i = (i + 1) & t->bucket_mask) {
        const uint32_t candidate = static_cast<uint32_t>(at<uint64_t>(t->buckets)[i]) - 1;
        if (at<int64_t>(t->columns[0].values)[candidate] == 5) row = candidate;
      }
    size_t length = 0, wanted = 0;
    for (int i = 0; i < kRows; i++) wanted += key(i) == 5;
    for (; row != TB_NONE; row = at<uint32_t>(t->next)[row] - 1) {
      const int32_t number = at<int32_t>(t->columns[1].values)[row];
      ASSERT_FALSE(seen[static_cast<size_t>(number)]);
      seen[static_cast<size_t>(number)] = true;
      length++;
    }
    EXPECT_EQ(length, wanted) << name;
  }
}

TEST_F(TableTest, MemoryIsTheBudgetsUntilTheTableIsThere) {
  shape({TB_TYPE_INT4}, {{TB_TYPE_TEXT, 0, false}});
  for (int32_t i = 0; i < 20000; i++) add({value_of(i)}, {"text"});
  const uint64_t rows = budget_.used();
  EXPECT_GT(rows, 20000u * 24);
  build();
  EXPECT_EQ(budget_.used(), 0u) << "rows are gone, the table is nobody's but its keeper's";
  EXPECT_GE(table_->charged_bytes(), table_->raw()->total_size);
}

TEST_F(TableTest, BeyondTheBudgetIsAnError) {
  MemoryBudget small(HostRowStore::bytes_for({1, {{TB_TYPE_INT4, 0, false}}}, true, 20000) + 4096);
  shape_ = {1, {{TB_TYPE_INT4, 0, false}}};
  KeptParts::Stores stores;
  stores.push_back(std::make_unique<HostRowStore>(shape_, true, 20000, small));
  for (int i = 0; i < 20000; i++) {
    static_cast<int32_t*>(stores[0]->raw()->columns[0].values)[i] = i * 100000;
    stores[0]->raw()->hashes[i] = static_cast<uint64_t>(i) << 32;
  }
  stores[0]->raw()->nrows = 20000;
  EXPECT_THROW(build_join_table(shape_, std::move(stores), pool_, small), DeviceError);
  EXPECT_EQ(small.used(), 0u);
}

TEST(HostRowStoreTest, KeepsWhatItHadWhereItCannotGrow) {
  MemoryBudget budget(256 << 10);
  HostRowStore store({0, {{TB_TYPE_INT8, 0, true}, {TB_TYPE_TEXT, 0, false}}}, false, 16, budget);
  static_cast<int64_t*>(store.raw()->columns[0].values)[15] = 42;
  store.raw()->nrows = 16;
  EXPECT_FALSE(store.ensure_rows(0));
  EXPECT_TRUE(store.ensure_rows(100));
  EXPECT_GE(store.raw()->capacity, 116u);
  EXPECT_THROW(store.ensure_rows(1 << 20), DeviceError);
  EXPECT_THROW(store.ensure_rows(UINT64_MAX / 2), DeviceError);
  EXPECT_THROW(store.ensure_bytes(1 << 20), DeviceError);
  EXPECT_THROW(store.ensure_bytes(1ull << 33), DeviceError);
  EXPECT_EQ(static_cast<int64_t*>(store.raw()->columns[0].values)[15], 42);
  EXPECT_TRUE(store.ensure_bytes(10000));
  EXPECT_GE(store.raw()->arena_capacity, 10000u);
}

}  // namespace
}  // namespace turbine
