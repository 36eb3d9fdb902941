/* Models: the logistic function and its relatives against wider arithmetic, the nearest centroid against a plain
 * search. */
#include "turbine/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

extern "C" {
double rt_logistic(double);
double rt_logistic_variance(double);
double rt_softplus(double);
int32_t rt_nearest(const double*, uint32_t, const double*, uint32_t);
double rt_nearest_distance(const double*, uint32_t, const double*, uint32_t);
}

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kFewUnits = 4 * std::numeric_limits<double>::epsilon();

TEST(Model, LogisticFunctions) {
  std::mt19937_64 random(1);
  std::vector<double> inputs{0.0, -0.0, 1e-300, -1e-300, 1e-17, 36.8, -36.8, 700, -700};
  for (int i = 0; i < 20000; i++) {
    const double size = std::exp(std::uniform_real_distribution<>(-40, 6.5)(random));
    inputs.push_back(random() % 2 == 0 ? size : -size);
  }
  for (const double z : inputs) {
    const long double e = std::exp(-std::fabs(static_cast<long double>(z)));
    const long double p = (z < 0 ? e : 1) / (1 + e), variance = e / ((1 + e) * (1 + e));
    const long double softplus = std::max<long double>(z, 0) + std::log1p(e);
    EXPECT_NEAR(static_cast<double>(rt_logistic(z) / p), 1, kFewUnits) << z;
    EXPECT_NEAR(static_cast<double>(rt_logistic_variance(z) / variance), 1, kFewUnits) << z;
    EXPECT_NEAR(static_cast<double>(rt_softplus(z) / softplus), 1, kFewUnits) << z;
    EXPECT_EQ(rt_logistic(z), tb_logistic(z));
  }
}

TEST(Model, LogisticFunctionsFarOut) {
  for (const double z : {1e3, 1e10, 1e300, kInfinite}) {
    EXPECT_EQ(rt_logistic(z), 1);
    EXPECT_LT(rt_logistic(-z), 1e-300);
    EXPECT_LT(rt_logistic_variance(z), 1e-300);
    EXPECT_LT(rt_logistic_variance(-z), 1e-300);
    EXPECT_EQ(rt_softplus(z), z);
    EXPECT_LT(rt_softplus(-z), 1e-300);
  }
  EXPECT_TRUE(std::isnan(rt_logistic(kNotANumber)));
  EXPECT_TRUE(std::isnan(rt_logistic_variance(kNotANumber)));
  EXPECT_TRUE(std::isnan(rt_softplus(kNotANumber)));
}

/* Rows of n values, as the device library reads them. */
std::vector<double> laid_out(const std::vector<double>& rows, uint32_t n) {
  const auto k = static_cast<uint32_t>(rows.size() / n);
  std::vector<double> laid(tb_model_length(TB_MODEL_NEAREST, n, k), kNotANumber);
  for (uint32_t c = 0; c < k; c++)
    for (uint32_t j = 0; j < n; j++)
      laid[(c / TB_CENTROID_LANES * n + j) * TB_CENTROID_LANES + c % TB_CENTROID_LANES] = rows[c * n + j];
  return laid;
}

void expect_as_plain_search(const std::vector<double>& rows, const std::vector<double>& x) {
  const auto n = static_cast<uint32_t>(x.size());
  uint32_t nearest = 0;
  double least = kInfinite;
  for (uint32_t c = 0; c < rows.size() / n; c++) {
    const double squared = tb_squared_distance(&rows[c * n], 1, x.data(), n);
    if (squared < least) {
      least = squared;
      nearest = c;
    }
  }
  if (!(least < kInfinite)) least = tb_squared_distance(rows.data(), 1, x.data(), n);
  const std::vector<double> laid = laid_out(rows, n);
  const auto length = static_cast<uint32_t>(laid.size());
  EXPECT_EQ(rt_nearest(laid.data(), length, x.data(), n), static_cast<int32_t>(nearest) + 1);
  const double distance = rt_nearest_distance(laid.data(), length, x.data(), n);
  if (std::isnan(least))
    EXPECT_TRUE(std::isnan(distance));
  else
    EXPECT_EQ(distance, std::sqrt(least));
}

TEST(Model, NearestCentroid) {
  std::mt19937_64 random(2);
  std::normal_distribution<> normal;
  for (const uint32_t k : {1u, 2u, 7u, 8u, 9u, 16u, 17u, 64u, 100u})
    for (const uint32_t n : {1u, 2u, 8u, 31u})
      for (int i = 0; i < 20; i++) {
        std::vector<double> rows(size_t{k} * n), x(n);
        for (double& value : rows) value = normal(random);
        for (double& value : x) value = normal(random);
        expect_as_plain_search(rows, x);
        // Many that are equally near
        for (double& value : rows) value = std::rint(value);
        for (double& value : x) value = std::rint(value);
        expect_as_plain_search(rows, x);
      }
}

TEST(Model, NearestCentroidOfOddRows) {
  std::vector<double> rows(20);
  for (size_t i = 0; i < rows.size(); i++) rows[i] = static_cast<double>(i);
  for (const double odd : {kNotANumber, kInfinite, -kInfinite, 1e200, -0.0}) {
    expect_as_plain_search(rows, {odd, 1});
    std::vector<double> odd_rows = rows;
    odd_rows[0] = odd;
    expect_as_plain_search(odd_rows, {3, 4});
    expect_as_plain_search({odd, odd, odd, odd}, {1, 1});
  }
}

}  // namespace
