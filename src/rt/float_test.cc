/* Floats: PostgreSQL's order, its overflow rules, casts, and the device's own
 * exp, log, pow, ... against libm. */
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "rt/float_math.h"
#include "turbine/kernel.h"

extern "C" {
bool rt_float8eq(double, double);
bool rt_float8ne(double, double);
bool rt_float8lt(double, double);
bool rt_float8le(double, double);
bool rt_float8gt(double, double);
bool rt_float8ge(double, double);
bool rt_float4lt(float, float);
bool rt_float4eq(float, float);
bool rt_float48eq(float, double);
bool rt_float84lt(double, float);
double rt_float8pl(double, double, uint32_t*);
double rt_float8mi(double, double, uint32_t*);
double rt_float8mul(double, double, uint32_t*);
double rt_float8div(double, double, uint32_t*);
float rt_float4mul(float, float, uint32_t*);
float rt_float4div(float, float, uint32_t*);
double rt_float48mul(float, double, uint32_t*);
double rt_dround(double);
double rt_dceil(double);
double rt_dfloor(double);
double rt_dtrunc(double);
double rt_dsign(double);
double rt_dsqrt(double, uint32_t*);
double rt_degrees(double, uint32_t*);
double rt_radians(double, uint32_t*);
double rt_dexp(double, uint32_t*);
double rt_dlog1(double, uint32_t*);
double rt_dlog10(double, uint32_t*);
double rt_dpow(double, double, uint32_t*);
double rt_dcbrt(double);
double rt_dsin(double, uint32_t*);
double rt_dcos(double, uint32_t*);
double rt_dtan(double, uint32_t*);
int16_t rt_float8_to_int2(double, uint32_t*);
int32_t rt_float8_to_int4(double, uint32_t*);
int64_t rt_float8_to_int8(double, uint32_t*);
int64_t rt_float4_to_int8(float, uint32_t*);
int32_t rt_float4_to_int4(float, uint32_t*);
float rt_float8_to_float4(double, uint32_t*);
float rt_int8_to_float4(int64_t);
double rt_int8_to_float8(int64_t);
}

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
constexpr double kMax = std::numeric_limits<double>::max();
constexpr double kTiny = std::numeric_limits<double>::denorm_min();

/* -1, 0, 1 by PostgreSQL's btree. */
int order(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) - std::isnan(b);
  return (a > b) - (a < b);
}

TEST(FloatTest, Order) {
  const double values[] = {-kInf, -kMax, -1, -kTiny, -0.0, 0.0, kTiny, 1, kMax, kInf, kNan, -kNan};
  for (double a : values)
    for (double b : values) {
      int expected = order(a, b);
      EXPECT_EQ(rt_float8eq(a, b), expected == 0) << a << ' ' << b;
      EXPECT_EQ(rt_float8ne(a, b), expected != 0) << a << ' ' << b;
      EXPECT_EQ(rt_float8lt(a, b), expected < 0) << a << ' ' << b;
      EXPECT_EQ(rt_float8le(a, b), expected <= 0) << a << ' ' << b;
      EXPECT_EQ(rt_float8gt(a, b), expected > 0) << a << ' ' << b;
      EXPECT_EQ(rt_float8ge(a, b), expected >= 0) << a << ' ' << b;
      EXPECT_EQ(rt_float4lt((float)a, (float)b), order((float)a, (float)b) < 0);
    }
  EXPECT_FALSE(rt_float48eq(0.1f, 0.1));
  EXPECT_TRUE(rt_float84lt(0.1, 0.1f));
}

struct Operation {
  double (*function)(double, double, uint32_t*);
  double a, b, result;
  uint32_t errors;
};

TEST(FloatTest, ArithmeticErrors) {
  const Operation operations[] = {
      {rt_float8pl, 1, 2, 3, 0},
      {rt_float8pl, kMax, kMax, kInf, TB_ERR_OVERFLOW},
      {rt_float8pl, kInf, 1, kInf, 0},
      {rt_float8pl, kInf, -kInf, kNan, 0},
      {rt_float8mi, -kMax, kMax, -kInf, TB_ERR_OVERFLOW},
      {rt_float8mul, 1e200, 1e200, kInf, TB_ERR_OVERFLOW},
      {rt_float8mul, 1e-200, 1e-200, 0, TB_ERR_OVERFLOW},
      {rt_float8mul, 0, 1e-200, 0, 0},
      {rt_float8mul, kInf, 2, kInf, 0},
      {rt_float8mul, kInf, 0, kNan, 0},
      {rt_float8div, 1, 0, kInf, TB_ERR_DIVISION_BY_ZERO},
      {rt_float8div, 0, 0, kNan, TB_ERR_DIVISION_BY_ZERO},
      {rt_float8div, kInf, 0, kInf, TB_ERR_DIVISION_BY_ZERO},
      {rt_float8div, kNan, 0, kNan, 0},
      {rt_float8div, 1e300, 1e-300, kInf, TB_ERR_OVERFLOW},
      {rt_float8div, 1e-300, 1e300, 0, TB_ERR_OVERFLOW},
      {rt_float8div, 1, kInf, 0, 0},
      {rt_float8div, kInf, 2, kInf, 0},
  };
  for (const Operation& o : operations) {
    uint32_t errors = 0;
    double result = o.function(o.a, o.b, &errors);
    EXPECT_EQ(errors, o.errors) << o.a << ' ' << o.b;
    EXPECT_EQ(order(result, o.result), 0) << o.a << ' ' << o.b << ' ' << result;
  }
  uint32_t errors = 0;
  rt_float4mul(1e30f, 1e30f, &errors);
  EXPECT_EQ(errors, TB_ERR_OVERFLOW);
  errors = 0;
  EXPECT_EQ(rt_float48mul(1e30f, 1e30, &errors), (double)1e30f * 1e30);
  EXPECT_EQ(errors, 0u);
  rt_float4div(1e-30f, 1e30f, &errors);
  EXPECT_EQ(errors, TB_ERR_OVERFLOW);
}

TEST(FloatTest, RoundingAndSign) {
  EXPECT_EQ(rt_dround(2.5), 2);
  EXPECT_EQ(rt_dround(3.5), 4);
  EXPECT_EQ(rt_dround(-2.5), -2);
  EXPECT_EQ(rt_dceil(-0.5), 0);
  EXPECT_TRUE(std::signbit(rt_dceil(-0.5)));
  EXPECT_EQ(rt_dfloor(-0.5), -1);
  EXPECT_EQ(rt_dtrunc(-1.9), -1);
  EXPECT_EQ(rt_dsign(-3), -1);
  EXPECT_EQ(rt_dsign(kNan), 0);
  uint32_t errors = 0;
  EXPECT_EQ(rt_dsqrt(2, &errors), std::sqrt(2.0));
  EXPECT_EQ(rt_degrees(M_PI, &errors), 180);
  EXPECT_EQ(rt_radians(180, &errors), M_PI);
  EXPECT_EQ(errors, 0u);
  rt_dsqrt(-1, &errors);
  EXPECT_EQ(errors, TB_ERR_DOMAIN);
  errors = 0;
  EXPECT_TRUE(std::isnan(rt_dsqrt(kNan, &errors)));
  EXPECT_EQ(errors, 0u);
}

TEST(FloatTest, CastsToIntegers) {
  struct Case {
    double value;
    int64_t int8;
    bool fits2, fits4, fits8;
  };
  const Case cases[] = {{0.5, 0, true, true, true},
                        {1.5, 2, true, true, true},
                        {-2.5, -2, true, true, true},
                        {32767.4, 32767, true, true, true},
                        {32767.5, 32768, false, true, true},
                        {-32768.5, -32768, true, true, true},
                        {-32769, -32769, false, true, true},
                        {2147483647.4, 2147483647, false, true, true},
                        {2147483647.5, 2147483648ll, false, false, true},
                        {-2147483648.5, -2147483648ll, false, true, true},
                        {0x1p63, 0, false, false, false},
                        {-0x1p63, INT64_MIN, false, false, true},
                        {kNan, 0, false, false, false},
                        {kInf, 0, false, false, false},
                        {-kInf, 0, false, false, false}};
  for (const Case& c : cases) {
    uint32_t errors = 0;
    int16_t small = rt_float8_to_int2(c.value, &errors);
    EXPECT_EQ(errors == 0, c.fits2) << c.value;
    if (c.fits2) {
      EXPECT_EQ(small, c.int8);
    }
    errors = 0;
    int32_t medium = rt_float8_to_int4(c.value, &errors);
    EXPECT_EQ(errors == 0, c.fits4) << c.value;
    if (c.fits4) {
      EXPECT_EQ(medium, c.int8);
    }
    errors = 0;
    int64_t big = rt_float8_to_int8(c.value, &errors);
    EXPECT_EQ(errors == 0, c.fits8) << c.value;
    if (c.fits8) {
      EXPECT_EQ(big, c.int8);
    }
  }
  uint32_t errors = 0;
  EXPECT_EQ(rt_float4_to_int4(-0x1p31f, &errors), INT32_MIN);
  EXPECT_EQ(errors, 0u);
  rt_float4_to_int4(0x1p31f, &errors);
  EXPECT_EQ(errors, TB_ERR_OVERFLOW);
}

TEST(FloatTest, CastsToFloats) {
  uint32_t errors = 0;
  EXPECT_EQ(rt_float8_to_float4(0.1, &errors), 0.1f);
  EXPECT_EQ(rt_float8_to_float4(kInf, &errors), (float)kInf);
  EXPECT_TRUE(std::isnan(rt_float8_to_float4(kNan, &errors)));
  EXPECT_EQ(errors, 0u);
  rt_float8_to_float4(1e39, &errors);
  EXPECT_EQ(errors, TB_ERR_OVERFLOW);
  errors = 0;
  rt_float8_to_float4(1e-60, &errors);
  EXPECT_EQ(errors, TB_ERR_OVERFLOW);
  EXPECT_EQ(rt_int8_to_float4(16777217), 16777216.0f);
  EXPECT_EQ(rt_int8_to_float8(INT64_MAX), 0x1p63);
}

TEST(FloatTest, PowerErrorsAndSpecialCases) {
  const Operation operations[] = {
      {rt_dpow, 2, 10, 1024, 0},
      {rt_dpow, 0, -1, kInf, TB_ERR_DOMAIN},
      {rt_dpow, -0.0, -2, kInf, TB_ERR_DOMAIN},
      {rt_dpow, -8, 1.0 / 3, kNan, TB_ERR_DOMAIN},
      {rt_dpow, -2, 3, -8, 0},
      {rt_dpow, 1, kNan, 1, 0},
      {rt_dpow, kNan, 0, 1, 0},
      {rt_dpow, kNan, 2, kNan, 0},
      {rt_dpow, -1, kNan, kNan, 0},
      {rt_dpow, -1, kInf, 1, 0},
      {rt_dpow, 0.5, kInf, 0, 0},
      {rt_dpow, 0.5, -kInf, kInf, 0},
      {rt_dpow, -kInf, 3, -kInf, 0},
      {rt_dpow, -kInf, -3, 0, 0},
      {rt_dpow, 0, 0, 1, 0},
      {rt_dpow, 10, 400, kInf, TB_ERR_OVERFLOW},
      {rt_dpow, 10, -400, 0, TB_ERR_OVERFLOW},
      {rt_dpow, 0, 5, 0, 0},
  };
  for (const Operation& o : operations) {
    uint32_t errors = 0;
    double result = o.function(o.a, o.b, &errors);
    EXPECT_EQ(errors, o.errors) << o.a << ' ' << o.b;
    EXPECT_EQ(order(result, o.result), 0) << o.a << ' ' << o.b << ' ' << result;
    EXPECT_EQ(order(rt_device_pow(o.a, o.b), std::pow(o.a, o.b)), 0) << o.a << ' ' << o.b;
  }
  /* libm's pow, not a multiplication. */
  uint32_t errors = 0;
  for (double x : {1.1, 3.3333333333, 0.7071067811865475, 123456.789})
    EXPECT_EQ(rt_dpow(x, 2, &errors), std::pow(x, 2.0));
}

TEST(FloatTest, ExponentialAndLogarithmErrors) {
  uint32_t errors = 0;
  /* Not constants: the compiler's own library would fold them. */
  volatile double one = 1, e = M_E, twenty_seven = 27;
  EXPECT_EQ(rt_dexp(1, &errors), std::exp(one));
  EXPECT_EQ(rt_dexp(-kInf, &errors), 0);
  EXPECT_EQ(rt_dexp(kInf, &errors), kInf);
  EXPECT_EQ(rt_dlog1(M_E, &errors), std::log(e));
  EXPECT_EQ(rt_dlog10(1000, &errors), 3);
  EXPECT_EQ(rt_dlog1(1, &errors), 0);
  EXPECT_EQ(rt_dlog1(kInf, &errors), kInf);
  EXPECT_EQ(rt_dcbrt(27), std::cbrt(twenty_seven));
  EXPECT_EQ(rt_dsin(1, &errors), std::sin(one));
  EXPECT_EQ(rt_dcos(1, &errors), std::cos(one));
  EXPECT_EQ(rt_dtan(1, &errors), std::tan(one));
  EXPECT_TRUE(std::isnan(rt_dsin(kNan, &errors)));
  EXPECT_EQ(errors, 0u);
  rt_dexp(710, &errors);
  EXPECT_EQ(errors, TB_ERR_OVERFLOW);
  errors = 0;
  rt_dexp(-750, &errors);
  EXPECT_EQ(errors, TB_ERR_OVERFLOW);
  for (double bad : {0.0, -1.0, -kInf}) {
    errors = 0;
    rt_dlog1(bad, &errors);
    EXPECT_EQ(errors, TB_ERR_DOMAIN);
    errors = 0;
    rt_dlog10(bad, &errors);
    EXPECT_EQ(errors, TB_ERR_DOMAIN);
  }
  errors = 0;
  rt_dcos(kInf, &errors);
  EXPECT_EQ(errors, TB_ERR_DOMAIN);
}

/* Distance in units of the last place of `exact`. */
double ulps(double got, long double exact) {
  if (std::isnan(got) && std::isnan((double)exact)) return 0;
  if (std::isinf((double)exact) || exact == 0) return got == (double)exact ? 0 : 1e9;
  int exponent = std::max(std::ilogb((double)exact), -1022);
  return (double)(fabsl((long double)got - exact) / ldexpl(1.0L, exponent - 52));
}

/* Largest error over random arguments, each function in its own range. */
template <typename Device, typename Exact>
double worst_error(Device device, Exact exact, double low, double high, bool logarithmic) {
  std::mt19937_64 random(42);
  std::uniform_real_distribution<double> uniform(low, high);
  double worst = 0;
  for (int i = 0; i < 100000; i++) {
    double x = logarithmic ? std::exp2(uniform(random)) : uniform(random);
    worst = std::max(worst, ulps(device(x), exact((long double)x)));
  }
  return worst;
}

TEST(DeviceMathTest, CloseToExact) {
  EXPECT_LT(worst_error(rt_device_exp, expl, -708, 709, false), 1.0);
  EXPECT_LT(worst_error(rt_device_exp, expl, -1, 1, false), 1.0);
  EXPECT_LT(worst_error(rt_device_exp, expl, -745, -708, false), 1.0);
  EXPECT_LT(worst_error(rt_device_log, logl, -1070, 1023, true), 1.0);
  EXPECT_LT(worst_error(rt_device_log, logl, -0.5, 0.5, true), 1.0);
  EXPECT_LT(worst_error(rt_device_log10, log10l, -1070, 1023, true), 1.0);
  EXPECT_LT(worst_error(rt_device_sin, sinl, -10, 10, false), 1.0);
  EXPECT_LT(worst_error(rt_device_cos, cosl, -10, 10, false), 1.0);
  EXPECT_LT(worst_error(rt_device_sin, sinl, -99999, 99999, false), 1.0);
  EXPECT_LT(worst_error(rt_device_sin, sinl, 17, 62, true), 1.0);
  EXPECT_LT(worst_error(rt_device_cos, cosl, 17, 62, true), 1.0);
  EXPECT_LT(worst_error(rt_device_tan, tanl, -100, 100, false), 2.5);
  EXPECT_LT(worst_error(rt_device_cbrt, cbrtl, -1070, 1023, true), 1.0);
}

/* x87's range reduction ends at 2^63; beyond, glibc's double functions. */
TEST(DeviceMathTest, HugeAngles) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(60, 1023.9);
  for (int i = 0; i < 20000; i++) {
    double x = std::exp2(uniform(random));
    EXPECT_LT(ulps(rt_device_sin(x), (long double)std::sin(x)), 1.6) << x;
    EXPECT_LT(ulps(rt_device_cos(x), (long double)std::cos(x)), 1.6) << x;
  }
  /* The double closest to a multiple of pi/2. */
  double close = 6381956970095103.0 * 0x1p797;
  EXPECT_LT(ulps(rt_device_cos(close), (long double)std::cos(close)), 1.6);
}

TEST(DeviceMathTest, Power) {
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> exponent(-60, 60), base(-40, 40);
  double worst = 0;
  for (int i = 0; i < 100000; i++) {
    double x = std::exp2(base(random)), y = exponent(random) / 4;
    long double exact = powl((long double)x, (long double)y);
    if (exact > 1e300L || exact < 1e-300L) continue;
    worst = std::max(worst, ulps(rt_device_pow(x, y), exact));
  }
  EXPECT_LT(worst, 1.0);
}

TEST(DeviceMathTest, SpecialValues) {
  const double values[] = {kNan, kInf, -kInf, 0.0, -0.0, 1.0, -1.0, kTiny, -kTiny, kMax, 1e5, -1e5, 3.0, -3.0};
  auto same = [](double got, double expected) {
    return std::isnan(got) ? std::isnan(expected)
                           : ulps(got, expected) < 1.6 && std::signbit(got) == std::signbit(expected);
  };
  for (double x : values) {
    EXPECT_TRUE(same(rt_device_exp(x), std::exp(x))) << x;
    EXPECT_TRUE(same(rt_device_log(x), std::log(x))) << x;
    EXPECT_TRUE(same(rt_device_log10(x), std::log10(x))) << x;
    EXPECT_TRUE(same(rt_device_sin(x), std::sin(x))) << x;
    EXPECT_TRUE(same(rt_device_cos(x), std::cos(x))) << x;
    EXPECT_TRUE(same(rt_device_cbrt(x), std::cbrt(x))) << x;
    for (double y : values)
      EXPECT_TRUE(same(rt_device_pow(x, y), std::pow(x, y)))
          << x << ' ' << y << ' ' << rt_device_pow(x, y) << ' ' << std::pow(x, y);
  }
}

/* Squares take a short cut: it must give pow's bits, near midpoints and at powers
 * of two as well. */
TEST(FloatTest, SquaresAreThoseOfPow) {
  std::mt19937_64 random(7);
  volatile double two = 2.0;
  uint64_t unequal_to_product = 0;
  for (int i = 0; i < 4000000; i++) {
    double a;
    switch (i % 4) {
      case 0: a = static_cast<double>(static_cast<int64_t>(random() % 2000000)) / 1000.0 - 1000.0; break;
      case 1:
        a = std::ldexp(1.0 + static_cast<double>(random() % 16) * 0x1p-52, static_cast<int>(random() % 200) - 100);
        break;
      case 2: {
        const uint64_t bits = random();
        std::memcpy(&a, &bits, sizeof a);
        break;
      }
      default: a = static_cast<double>(random() % (1ull << 53)) * 0x1p-43; break;
    }
    uint32_t errors = 0;
    const double got = rt_dpow(a, 2.0, &errors), expected = std::pow(a, two);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got));
      continue;
    }
    ASSERT_EQ(got, expected) << std::hexfloat << a;
    unequal_to_product += expected != a * a;
  }
  // The reason that this is not simply a product.
  EXPECT_GT(unequal_to_product, 0u);
}

}  // namespace
