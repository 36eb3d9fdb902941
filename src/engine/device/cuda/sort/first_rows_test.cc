/*
 * first_rows_test.cc - rows that a GPU drops behind a bound, by the kernels' own source on the host: no row that may be
 * among the first is lost, and few others stay.
 */
#include "engine/device/cuda/sort/first_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "engine/device/cuda/driver/stream.h"
#include "engine/device/cuda/memory/lane_rows.h"
#include "engine/device/cuda/testing/first_on_host.h"

namespace turbine::cuda::testing {
namespace {

constexpr uint64_t kMemory = uint64_t{1} << 30;
constexpr uint64_t kThreads = 2048;

struct FirstRow {
  int64_t key;
  bool valid;
  int64_t number;  // a second column tells which row it is
};

int64_t rank(const FirstKey& key, const FirstRow& row) {
  if (!row.valid) return key.nulls_first ? INT64_MIN : INT64_MAX;
  return key.descending ? ~row.key : row.key;
}

/* Stores of projected rows, as a lane has them, and what is left of each. */
class FirstRowsTest : public ::testing::Test {
 protected:
  FirstRowsTest() {
    set_first_kernels(fake_);
    context_ = std::make_shared<CudaContext>(fake_.table(), 0, 13000, kMemory);
    code_ = std::make_unique<FirstCode>(context_);
    shape_.columns = {{TB_TYPE_INT4, 0, true}, {TB_TYPE_INT8, 0, false}};
  }
  ~FirstRowsTest() override {
    EXPECT_EQ(context_->device_memory().used(), 0u);
    code_.reset();
    context_.reset();
    EXPECT_EQ(fake_.leaks(), std::vector<std::string>());
    EXPECT_EQ(fake_.misuse(), std::vector<std::string>());
  }

  /* The numbers of the rows that are left of each task. `full`: the store had no room. */
  std::vector<std::vector<int64_t>> run(const FirstKey& key, const std::vector<std::vector<FirstRow>>& tasks,
                                        bool full = false) {
    const Driver driver = context_->driver_with(nullptr);
    context_->enter(driver);
    MemoryAccount account(kMemory);
    const UniqueStream stream(context_->streams(), driver);
    FirstRowsBound bound(*context_, driver, key, account, stream.get());
    FirstRows first(*context_, driver, shape_, account);
    LaneRows lane(*context_, driver, shape_, account);
    std::vector<std::vector<int64_t>> left;
    for (const std::vector<FirstRow>& rows : tasks) {
      lane.ensure(std::max<uint64_t>(rows.size(), 1));
      lane.reset(stream.get());
      driver.check(driver.stream_synchronize(stream.get()));
      // The fake's device memory is the host's.
      auto* store = reinterpret_cast<TbRowStore*>(lane.header());
      for (size_t i = 0; i < rows.size(); i++) {
        static_cast<int32_t*>(store->columns[0].values)[i] = static_cast<int32_t>(rows[i].key);
        store->columns[0].valid[i] = rows[i].valid;
        static_cast<int64_t*>(store->columns[1].values)[i] = rows[i].number;
      }
      store->nrows = rows.size();
      store->full = full;
      first.run(bound, code_->kernels(driver), lane.header(), std::max<uint64_t>(rows.size(), kThreads), stream.get());
      driver.check(driver.stream_synchronize(stream.get()));
      left.emplace_back();
      for (uint64_t i = 0; i < store->nrows; i++) {
        left.back().push_back(static_cast<int64_t*>(store->columns[1].values)[i]);
        const FirstRow& row = rows[static_cast<size_t>(left.back().back()) % kTaskNumbers];
        // Columns of a row stay together.
        EXPECT_EQ(static_cast<bool>(store->columns[0].valid[i]), row.valid);
        if (row.valid) {
          EXPECT_EQ(static_cast<int32_t*>(store->columns[0].values)[i], row.key);
        }
      }
    }
    return left;
  }

  static constexpr int64_t kTaskNumbers = 1 << 20;

  FakeDriver fake_;
  std::shared_ptr<CudaContext> context_;
  std::unique_ptr<FirstCode> code_;
  KeptRowLayout shape_;
};

std::vector<std::vector<FirstRow>> random_tasks(unsigned seed, size_t tasks, size_t rows, int64_t keys, int64_t apart) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<FirstRow>> result(tasks);
  for (size_t t = 0; t < tasks; t++)
    for (size_t i = 0; i < rows; i++)
      result[t].push_back({static_cast<int64_t>(random() % static_cast<uint64_t>(keys)) - keys / 2, random() % 9 != 0,
                           static_cast<int64_t>(t) * apart + static_cast<int64_t>(i)});
  return result;
}

TEST_F(FirstRowsTest, NoneOfTheFirstIsLost) {
  unsigned seed = 1;
  for (const uint64_t limit : {uint64_t{1}, uint64_t{10}, uint64_t{1000}, uint64_t{4096}})
    for (const bool descending : {false, true})
      for (const bool nulls_first : {false, true}) {
        const FirstKey key{0, 4, descending, nulls_first, limit};
        const auto tasks = random_tasks(seed++, 3, 5000, limit == 10 ? 50 : 1 << 30, kTaskNumbers);
        const auto left = run(key, tasks);
        // Every row whose rank is not behind that of the last wanted one must be there.
        std::vector<int64_t> ranks;
        for (const auto& task : tasks)
          for (const FirstRow& row : task) ranks.push_back(rank(key, row));
        std::sort(ranks.begin(), ranks.end());
        const int64_t last = ranks[std::min<size_t>(limit, ranks.size()) - 1];
        for (size_t t = 0; t < tasks.size(); t++) {
          std::vector<int64_t> numbers = left[t];
          std::sort(numbers.begin(), numbers.end());
          EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
          for (const FirstRow& row : tasks[t])
            if (rank(key, row) <= last) {
              EXPECT_TRUE(std::binary_search(numbers.begin(), numbers.end(), row.number)) << limit;
            }
        }
      }
}

TEST_F(FirstRowsTest, FewOthersStay) {
  const auto tasks = random_tasks(7, 4, 20000, int64_t{1} << 30, kTaskNumbers);
  const auto left = run({0, 4, false, false, 10}, tasks);
  for (const auto& numbers : left) EXPECT_LT(numbers.size(), 200u);
  EXPECT_LT(left.back().size(), 40u);
}

/* More rows than there is room for: all stay, in their places. */
TEST_F(FirstRowsTest, EqualKeysStay) {
  std::vector<std::vector<FirstRow>> tasks(1);
  for (int64_t i = 0; i < 70000; i++) tasks[0].push_back({5, true, i});
  const auto left = run({0, 4, false, false, 10}, tasks);
  ASSERT_EQ(left[0].size(), tasks[0].size());
  for (size_t i = 0; i < left[0].size(); i++) EXPECT_EQ(left[0][i], static_cast<int64_t>(i));
}

/* A full store's rows come again: counted twice, they would be two of those that are wanted. */
TEST_F(FirstRowsTest, FullStoresCountNothing) {
  const auto tasks = random_tasks(9, 1, 3000, 1 << 20, kTaskNumbers);
  EXPECT_EQ(run({0, 4, false, false, 10}, tasks, true)[0].size(), tasks[0].size());
}

TEST_F(FirstRowsTest, FewRows) {
  for (const size_t rows : {size_t{0}, size_t{1}, size_t{31}, size_t{33}}) {
    const auto tasks = random_tasks(static_cast<unsigned>(rows), 1, rows, 1000, kTaskNumbers);
    EXPECT_EQ(run({0, 4, true, true, 40}, tasks)[0].size(), rows);
  }
}

TEST(FirstRowsBound, KnowsItsKeys) {
  EXPECT_TRUE(FirstRowsBound::suits({0, 8, false, false, 10}));
  EXPECT_FALSE(FirstRowsBound::suits({0, 16, false, false, 10}));
  EXPECT_FALSE(FirstRowsBound::suits({0, 8, false, false, 0}));
  EXPECT_FALSE(FirstRowsBound::suits({0, 8, false, false, 5000}));
}

}  // namespace
}  // namespace turbine::cuda::testing
