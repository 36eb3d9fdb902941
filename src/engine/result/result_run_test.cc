/*
 * result_run_test.cc - order, limit, ties and distinct against std::stable_sort.
 */
#include "engine/result/result_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "engine/result/testing/result_run_fixture.h"

namespace turbine {
namespace {

using namespace testing;

std::vector<TbSortKey> first_keys(const std::vector<TbSortKey>& keys, size_t n) {
  return {keys.begin(), keys.begin() + static_cast<ptrdiff_t>(n)};
}

Rows expected(const PlanWriter& writer, Rows rows) {
  const std::vector<TbSortKey> keys = first_keys(writer.keys, writer.header.nkeys);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return compare_rows(keys, a, b) < 0; });
  if (writer.header.ndistinct > 0) {
    const auto distinct = first_keys(keys, writer.header.ndistinct);
    rows.erase(std::unique(rows.begin(), rows.end(),
                           [&](const auto& a, const auto& b) { return compare_rows(distinct, a, b) == 0; }),
               rows.end());
  }
  size_t stay = std::min<uint64_t>(rows.size(), writer.header.limit);
  if (writer.header.flags & TB_RESULT_WITH_TIES)
    while (stay > 0 && stay < rows.size() && compare_rows(keys, rows[stay], rows[stay - 1]) == 0) stay++;
  rows.resize(stay);
  return rows;
}

/* The last column is the row's number in the table: rows are right if they are the
 * table's, none is there twice, and their keys are the expected ones. */
void check(const PlanWriter& writer, const TestTable& table, const Rows& rows) {
  const Rows right = expected(writer, table.rows);
  const std::vector<TbSortKey> keys = first_keys(writer.keys, writer.header.nkeys);
  ASSERT_EQ(rows.size(), right.size());
  std::set<__int128> seen;
  for (size_t i = 0; i < rows.size(); i++) {
    ASSERT_EQ(compare_rows(keys, rows[i], right[i]), 0) << "row " << i;
    const auto number = std::get<__int128>(rows[i].back());
    ASSERT_TRUE(seen.insert(number).second) << "row " << i << " came twice";
    const auto& original = table.rows[static_cast<size_t>(number)];
    for (size_t c = 0; c < original.size(); c++) {
      ASSERT_EQ(is_null(rows[i][c]), is_null(original[c]));
      if (is_null(original[c])) continue;
      ASSERT_EQ(compare_values(rows[i][c], original[c]), 0);
    }
  }
}

TEST(ResultOrder, EveryTypeEveryDirection) {
  std::mt19937_64 random(1);
  for (uint8_t type : kTypes)
    for (uint32_t flags = 0; flags < 4; flags++)
      for (bool few : {false, true}) {
        SCOPED_TRACE(std::string(tb_type_name(type)) + " " + std::to_string(flags));
        const TestTable table = random_table(random, {type}, 3000, few);
        for (bool stay : {false, true}) {
          PlanWriter writer(2);
          writer.order({{0, flags}});
          TableQuery query(table, stay, 700);
          check(writer, table, run(writer, table, query));
          writer.limit(20, few);
          TableQuery again(table, stay, 700);
          check(writer, table, run(writer, table, again));
        }
      }
}

TEST(ResultOrder, RandomPlans) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 400; round++) {
    std::vector<uint8_t> types;
    for (size_t i = 0, n = 1 + random() % 5; i < n; i++) types.push_back(kTypes[random() % std::size(kTypes)]);
    static const size_t sizes[] = {0, 1, 2, 41, 500, 5000};
    const TestTable table = random_table(random, types, sizes[random() % 6], random() % 2);
    const auto ncolumns = static_cast<uint32_t>(types.size() + 1);
    PlanWriter writer(ncolumns);
    std::vector<TbSortKey> keys;
    for (size_t i = 0, n = random() % 5; i < n; i++)
      keys.push_back({static_cast<uint32_t>(random() % types.size()), static_cast<uint32_t>(random() % 4)});
    writer.order(keys);
    if (random() % 3 == 0) writer.header.ndistinct = static_cast<uint32_t>(random() % (keys.size() + 1));
    const uint64_t n = table.rows.size();
    const uint64_t limits[] = {0, 1, 7, n / 20, n, n + 5, TB_NO_LIMIT - 1, TB_NO_LIMIT};
    writer.limit(limits[random() % 8], random() % 2);
    TableQuery query(table, random() % 2, 1 + random() % 3000);
    SCOPED_TRACE("round " + std::to_string(round));
    check(writer, table, run(writer, table, query));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(ResultOrder, ManyRowsOverAllThreads) {
  std::mt19937_64 random(3);
  for (bool few : {false, true}) {
    const TestTable table = random_table(random, {TB_TYPE_INT4, TB_TYPE_TEXT}, 50000, few);
    for (uint64_t limit : {uint64_t{10}, uint64_t{3000}, uint64_t{TB_NO_LIMIT}})
      for (bool stay : {false, true}) {
        PlanWriter writer(3);
        writer.order({{1, TB_SORT_DESCENDING}, {0, 0}}).limit(limit, true);
        TableQuery query(table, stay, 30000);
        check(writer, table, run(writer, table, query));
      }
  }
}

/* Columns that nobody reads have no values; the others are what they would be. More rows than one thread gathers. */
TEST(ResultOrder, UnreadColumns) {
  std::mt19937_64 random(7);
  const TestTable table = random_table(random, {TB_TYPE_TEXT, TB_TYPE_INT4}, 30000, false);
  PlanWriter writer(3);
  writer.order({{1, 0}, {2, 0}});
  const ResultPlan plan = ResultPlan::parse(writer.blob(), table.program());
  TableQuery query(table, true, 1 << 20), whole(table, true, 1 << 20);
  const Rows all = run(writer, table, whole);
  ResultRun run(plan, query, 0b011, false, pool(), {});
  ASSERT_EQ(run.run(table.rows.size()), all.size());
  for (uint64_t at = 0; at < all.size();) {
    const ResultBatch batch = run.fetch(at, all.size() - at);
    ASSERT_EQ(batch.columns.size(), 3u);
    EXPECT_EQ(batch.columns[0].values, nullptr);
    EXPECT_EQ(batch.columns[1].values, nullptr);
    for (uint64_t i = 0; i < batch.nrows; i++, at++) {
      int64_t number;
      memcpy(&number, batch.columns[2].at(i), sizeof number);
      ASSERT_EQ(number, static_cast<int64_t>(std::get<__int128>(all[at][2])));
    }
  }
}

/* What comes to lie in the wide buckets of the parallel sort. */
TEST(ResultOrder, OneValueOutweighsAllOthers) {
  TestTable table;
  table.columns = {{TB_TYPE_FLOAT8, true}, {TB_TYPE_INT8, false}};
  for (int64_t i = 0; i < 150000; i++)
    table.rows.push_back({i % 1000 == 0 ? Cell(static_cast<double>(i))
                          : i % 3       ? Cell(0.0)
                                        : Cell(),
                          static_cast<__int128>(i)});
  PlanWriter writer(2);
  writer.order({{0, TB_SORT_DESCENDING}}).limit(149000);
  TableQuery query(table, true, 1 << 20);
  check(writer, table, run(writer, table, query));
}

TEST(ResultOrder, FirstRowsTakeLittleMemory) {
  std::mt19937_64 random(4);
  const TestTable table = random_table(random, {TB_TYPE_INT8, TB_TYPE_TEXT}, 120000, false);
  PlanWriter writer(3);
  writer.order({{0, 0}, {2, 0}});
  for (bool stay : {false, true}) {
    TableQuery all(table, stay, 30000, 4 << 20);
    EXPECT_THROW(run(writer, table, all), DeviceError);
    PlanWriter first = writer;
    first.limit(10);
    TableQuery query(table, stay, 30000, 4 << 20);
    check(first, table, run(first, table, query));
  }
}

TEST(ResultOrder, OutOfMemoryHasItsReason) {
  std::mt19937_64 random(5);
  const TestTable table = random_table(random, {TB_TYPE_INT8}, 100000, false);
  PlanWriter writer(2);
  writer.order({{0, 0}});
  for (uint64_t budget = 1 << 12; budget < 8 << 20; budget *= 2) {
    TableQuery query(table, true, 1 << 20, budget);
    try {
      check(writer, table, run(writer, table, query));
    } catch (const DeviceError& e) {
      EXPECT_EQ(e.reason, TB_FALLBACK_HOST_MEMORY);
    }
    EXPECT_EQ(query.host_memory().used(), 0u);
  }
}

/* The peer goes while the rows are sorted: that ends soon, in every step. */
TEST(ResultOrder, StopsWhenTheQueryIsClosed) {
  std::mt19937_64 random(6);
  const TestTable table = random_table(random, {TB_TYPE_INT8}, 1000, true);
  PlanWriter writer(2);
  writer.order({{0, 0}});
  TableQuery query(table, true, 1 << 20);
  const ResultPlan plan = ResultPlan::parse(writer.blob(), table.program());
  ParallelWork work(pool(), [] { return true; });
  std::atomic<int> jobs{0};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(work.each(3,
                         [&](uint64_t) {
                           jobs++;
                           for (;;) {
                             work.check();
                             std::this_thread::yield();
                           }
                         }),
               DeviceError);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_GE(jobs, 1);
  EXPECT_THROW(work.check(), DeviceError) << "and nothing else starts";
}

}  // namespace
}  // namespace turbine
