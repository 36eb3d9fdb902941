/*
 * likely_rows_test.cc - rows that stay, against exact arithmetic on 128-bit integers.
 */
#include "engine/result/estimate/likely_rows.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/result/testing/result_run_fixture.h"

namespace turbine {
namespace {

using namespace testing;

TbEstimateStep column(uint32_t number, int16_t scale = 0) {
  return {TB_ESTIMATE_COLUMN, 0, scale, number, -Interval::kInfinity, Interval::kInfinity};
}
TbEstimateStep constant(double value) { return {TB_ESTIMATE_CONSTANT, 0, 0, TB_NONE, value, value}; }
TbEstimateStep operation(uint8_t op, uint8_t domain = TB_DOMAIN_NUMERIC) {
  const double most = domain == TB_DOMAIN_INTEGER ? 9e18 : 0;
  return {op, domain, 0, TB_NONE, -most, most};
}

/* Sums and counts of groups; the last column is the row's number. */
TestTable sums_table(std::mt19937_64& random, size_t nrows, int most_count, bool large = true) {
  TestTable table;
  table.columns = {{TB_TYPE_NUM128, true}, {TB_TYPE_INT8, false}, {TB_TYPE_INT8, false}};
  for (size_t i = 0; i < nrows; i++) {
    const auto count = static_cast<__int128>(random() % most_count);
    __int128 sum = static_cast<__int128>(random() % 2000) - 1000;
    if (large && random() % 4 == 0) sum *= (__int128{1} << 80) + random() % 1000;
    table.rows.push_back({count == 0 ? Cell() : Cell(sum), count, static_cast<__int128>(i)});
  }
  return table;
}

/* -1, 0 or 1, as the exact averages of two rows compare; NULL is behind everything. */
int compare_averages(const std::vector<Cell>& a, const std::vector<Cell>& b) {
  if (is_null(a[0]) || is_null(b[0])) return static_cast<int>(is_null(a[0])) - static_cast<int>(is_null(b[0]));
  // |sum| < 2^91 and counts < 2^8.
  const __int128 left = std::get<__int128>(a[0]) * std::get<__int128>(b[1]);
  const __int128 right = std::get<__int128>(b[0]) * std::get<__int128>(a[1]);
  return (left > right) - (left < right);
}

/* Among what stays are the first rows of the order, or their equals. */
void expect_first(const Rows& stay, Rows all, uint64_t limit,
                  const std::function<int(const std::vector<Cell>&, const std::vector<Cell>&)>& compare) {
  auto less = [&](const auto& a, const auto& b) { return compare(a, b) < 0; };
  std::stable_sort(all.begin(), all.end(), less);
  Rows sorted = stay;
  std::stable_sort(sorted.begin(), sorted.end(), less);
  const size_t first = std::min<size_t>(limit, all.size());
  ASSERT_GE(sorted.size(), first);
  for (size_t i = 0; i < first; i++) ASSERT_EQ(compare(sorted[i], all[i]), 0) << "row " << i;
}

TEST(LikelyRows, AveragesUpAndDown) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 40; round++) {
    const TestTable table = sums_table(random, 1 + random() % 20000, 1 + static_cast<int>(random() % 30));
    const uint64_t limit = 1 + random() % 50;
    const bool down = round % 2 != 0, stay = round % 3 != 0;
    PlanWriter writer(3);
    writer.estimate(TB_ESTIMATE_OF_KEY, {column(0, 2), column(1), operation(TB_ESTIMATE_DIVIDE)},
                    down ? TB_SORT_DESCENDING | TB_SORT_NULLS_FIRST : 0);
    writer.limit(limit);
    TableQuery query(table, stay, 3000);
    const Rows rows = run(writer, table, query);
    expect_first(rows, table.rows, limit,
                 [&](const auto& a, const auto& b) { return down ? compare_averages(b, a) : compare_averages(a, b); });
    EXPECT_LT(rows.size(), std::max<size_t>(table.rows.size() / 2, 5000));
  }
}

/* Averages that are whole numbers have ties, which a second key tells apart. */
TEST(LikelyRows, SecondKeyOfTies) {
  std::mt19937_64 random(2);
  const TestTable table = sums_table(random, 30000, 2, false);
  PlanWriter writer(3);
  writer.estimate(TB_ESTIMATE_OF_KEY, {column(0), column(1), operation(TB_ESTIMATE_DIVIDE)})
      .estimate(TB_ESTIMATE_OF_KEY, {column(2)}, TB_SORT_DESCENDING)
      .limit(20);
  TableQuery query(table, true, 7000);
  const Rows rows = run(writer, table, query);
  expect_first(rows, table.rows, 20, [](const auto& a, const auto& b) {
    const int order = compare_averages(a, b);
    return order != 0 ? order : -compare_values(a[2], b[2]);
  });
  EXPECT_EQ(rows.size(), 20u);
}

TEST(LikelyRows, ConditionsDropAndDoubtsStay) {
  std::mt19937_64 random(3);
  const TestTable table = sums_table(random, 20000, 10);
  // sum / count < 7, where the count may be 0 and PostgreSQL would raise; NULL / 0 is NULL.
  PlanWriter writer(3);
  writer.estimate(TB_ESTIMATE_OF_CONDITION, {column(2), column(1), operation(TB_ESTIMATE_DIVIDE, TB_DOMAIN_INTEGER),
                                             constant(7), operation(TB_ESTIMATE_LESS)});
  TableQuery query(table, true, 7000);
  std::map<__int128, bool> stays;
  for (const auto& row : run(writer, table, query)) stays[std::get<__int128>(row[2])] = true;
  for (const auto& row : table.rows) {
    const __int128 count = std::get<__int128>(row[1]), number = std::get<__int128>(row[2]);
    EXPECT_EQ(stays.contains(number), count == 0 || number / count < 7);
  }
}

TEST(LikelyRows, ConditionsBesideAnOrder) {
  std::mt19937_64 random(6);
  const TestTable table = sums_table(random, 120000, 10);
  PlanWriter writer(3);
  writer.estimate(TB_ESTIMATE_OF_CONDITION, {column(1), constant(7), operation(TB_ESTIMATE_LESS)});
  writer.order({{2, TB_SORT_DESCENDING}});
  std::vector<__int128> right;
  for (const auto& row : table.rows)
    if (std::get<__int128>(row[1]) < 7) right.insert(right.begin(), std::get<__int128>(row[2]));
  for (bool stay : {false, true}) {
    TableQuery query(table, stay, 50000);
    std::vector<__int128> numbers;
    for (const auto& row : run(writer, table, query)) numbers.push_back(std::get<__int128>(row[2]));
    EXPECT_EQ(numbers, right);
  }
}

/* Where few rows would be dropped, or there is no memory for those that stay, all come: PostgreSQL looks at them. */
TEST(LikelyRows, DroppingFewIsNotWorthIt) {
  std::mt19937_64 random(7);
  const TestTable table = sums_table(random, 100000, 10);
  for (bool stay : {false, true})
    for (const double bound : {1.0, 3.0, 8.0}) {
      PlanWriter writer(3);
      writer.estimate(TB_ESTIMATE_OF_CONDITION, {column(1), constant(bound), operation(TB_ESTIMATE_LESS)});
      TableQuery query(table, stay, 50000);
      const auto passing = static_cast<size_t>(
          std::count_if(table.rows.begin(), table.rows.end(),
                        [&](const auto& row) { return static_cast<double>(std::get<__int128>(row[1])) < bound; }));
      EXPECT_EQ(run(writer, table, query).size(), bound < 5 ? passing : table.rows.size()) << bound;
      TableQuery little(table, stay, 50000, 2 << 20);
      EXPECT_GE(run(writer, table, little).size(), passing);
      EXPECT_EQ(little.host_memory().used(), 0u);
    }
}

TEST(LikelyRows, RowsThatMayRaiseStayBehindTheLimit) {
  std::mt19937_64 random(4);
  const TestTable table = sums_table(random, 20000, 500);
  PlanWriter writer(3);
  writer.estimate(TB_ESTIMATE_OF_KEY, {column(2)})
      .estimate(TB_ESTIMATE_OF_ERRORS, {constant(1), column(1), operation(TB_ESTIMATE_DIVIDE, TB_DOMAIN_INTEGER)})
      .limit(5);
  TableQuery query(table, false, 7000);
  uint64_t zeros = 0, found = 0;
  for (const auto& row : table.rows) zeros += std::get<__int128>(row[1]) == 0;
  const Rows rows = run(writer, table, query);
  for (const auto& row : rows) found += std::get<__int128>(row[1]) == 0;
  ASSERT_GT(zeros, 5u);
  EXPECT_EQ(found, zeros);
  EXPECT_LE(rows.size(), zeros + 5);
}

/* Every operation's interval holds what long integers say. */
TEST(Interval, HoldsWhatIsExact) {
  std::mt19937_64 random(5);
  const TbEstimateStep step = operation(TB_ESTIMATE_DIVIDE);
  for (int i = 0; i < 200000; i++) {
    const int64_t a = static_cast<int64_t>(random()) >> random() % 60,
                  b = static_cast<int64_t>(random()) >> random() % 60;
    auto of = [](int64_t value) {
      const auto d = static_cast<double>(value);
      return std::abs(d) <= 9e15 ? Interval::point(d) : Interval{below(d), above(d)};
    };
    auto holds = [](const Interval& interval, long double value) {
      return static_cast<long double>(interval.low) <= value && value <= static_cast<long double>(interval.high);
    };
    // 64 bits of long double hold sums of 63 bits, and products where they are short.
    EXPECT_TRUE(holds(add(of(a), of(b), step), static_cast<long double>(a) + b)) << a << " " << b;
    EXPECT_TRUE(holds(subtract(of(a), of(b), step), static_cast<long double>(a) - b)) << a << " " << b;
    const Interval product = multiply(of(a), of(b), step);
    const __int128 exact = static_cast<__int128>(a) * b;
    EXPECT_LE(product.low, std::abs(product.low) < 1e18 ? static_cast<double>(exact) : product.high);
    EXPECT_TRUE(holds({below(below(product.low)), above(above(product.high))}, static_cast<long double>(exact)));
    EXPECT_TRUE(!product.is_point() || static_cast<__int128>(product.low) == exact);
    if (b == 0) {
      EXPECT_TRUE(divide(of(a), of(b), step).is_doubt());
      continue;
    }
    const Interval quotient = divide(of(a), of(b), step);
    EXPECT_TRUE(holds(quotient, static_cast<long double>(a) / b)) << a << " " << b;
    EXPECT_TRUE(!quotient.is_point() || static_cast<__int128>(quotient.low * 16) * b == static_cast<__int128>(a) * 16);
    const Interval whole = divide(of(a), of(b), operation(TB_ESTIMATE_DIVIDE, TB_DOMAIN_INTEGER));
    EXPECT_TRUE(whole.is_doubt() || holds(whole, static_cast<long double>(static_cast<__int128>(a) / b)));
  }
}

TEST(Interval, NullsDoubtsAndTruth) {
  const Interval one = Interval::point(1), two = Interval::point(2);
  EXPECT_TRUE(null_if(one, one).is_null());
  EXPECT_EQ(null_if(one, two).low, 1);
  EXPECT_TRUE(null_if({0, 3}, one).is_doubt());
  EXPECT_TRUE(null_if(Interval::null(), one).is_null());
  EXPECT_TRUE(null_if(one, Interval::doubt()).is_doubt());
  EXPECT_EQ(equal(one, {0, 3}).low, 0);
  EXPECT_EQ(equal(one, {0, 3}).high, 1);
  const TbEstimateStep integer{TB_ESTIMATE_ADD, TB_DOMAIN_INTEGER, 0, TB_NONE, -2, 2};
  EXPECT_TRUE(add(one, two, integer).is_doubt());
  EXPECT_EQ(add(one, one, integer).high, 2);
  EXPECT_TRUE(multiply(Interval::point(1e200), Interval::point(1e200), operation(0, TB_DOMAIN_FLOAT8)).is_doubt());
  EXPECT_TRUE(multiply(Interval::point(1e-200), Interval::point(1e-200), operation(0, TB_DOMAIN_FLOAT8)).is_doubt());
  EXPECT_EQ(multiply(Interval::point(0), two, operation(0, TB_DOMAIN_FLOAT8)).high, 0);
  EXPECT_EQ(absolute({-3, 2}, operation(0)).high, 3);
  EXPECT_EQ(absolute({-3, 2}, operation(0)).low, 0);
}

}  // namespace
}  // namespace turbine
