/* numeric as scaled integers: wide division against the compiler's own,
 * rescaling, operators, casts; to floats against strtod of the digits. */
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "rt/wide_division.h"

extern "C" {
int64_t rt_num64_rescale(int64_t, int32_t, int32_t, uint32_t*);
__int128 rt_num128_rescale(__int128, int32_t, int32_t, uint32_t*);
int64_t rt_num128_to_num64(__int128, uint32_t*);
int64_t rt_num64add(int64_t, int64_t);
int64_t rt_num64mul(int64_t, int64_t);
int64_t rt_num64mod(int64_t, int64_t, uint32_t*);
int64_t rt_num64abs(int64_t);
int64_t rt_num64sign(int64_t);
bool rt_num128lt(__int128, __int128);
__int128 rt_num128add(__int128, __int128, uint32_t*);
__int128 rt_num128sub(__int128, __int128, uint32_t*);
__int128 rt_num128mul(__int128, __int128, uint32_t*);
__int128 rt_num128mod(__int128, __int128, uint32_t*);
int64_t rt_num64ceil(int64_t, int32_t, int32_t);
int64_t rt_num64floor(int64_t, int32_t, int32_t);
__int128 rt_num128ceil(__int128, int32_t, int32_t);
__int128 rt_num128floor(__int128, int32_t, int32_t);
int64_t rt_num64round(int64_t, int32_t, int32_t, int32_t, uint32_t*);
int64_t rt_num64trunc(int64_t, int32_t, int32_t, int32_t, uint32_t*);
__int128 rt_num128round(__int128, int32_t, int32_t, int32_t, uint32_t*);
__int128 rt_num128trunc(__int128, int32_t, int32_t, int32_t, uint32_t*);
int16_t rt_num64_to_int2(int64_t, int32_t, int32_t, uint32_t*);
int32_t rt_num64_to_int4(int64_t, int32_t, int32_t, uint32_t*);
int64_t rt_num128_to_int8(__int128, int32_t, int32_t, uint32_t*);
double rt_num64_to_float8(int64_t, int32_t, int32_t, uint32_t*);
double rt_num128_to_float8(__int128, int32_t, int32_t, uint32_t*);
float rt_num64_to_float4(int64_t, int32_t, int32_t, uint32_t*);
float rt_num128_to_float4(__int128, int32_t, int32_t, uint32_t*);
}

namespace {

using turbine::rt::divide_unsigned;
using turbine::rt::int128;
using turbine::rt::multiply_unsigned;
using turbine::rt::uint128;

constexpr int128 kMax128 = (int128)(~(uint128)0 >> 1);
constexpr int128 kMin128 = -kMax128 - 1;

/* Random values of all sizes. */
uint128 random128(std::mt19937_64& random) {
  uint128 value = (uint128)random() << 64 | random();
  return value >> (random() % 128);
}

std::string decimal(int128 value, int scale) {
  bool negative = value < 0;
  uint128 size = negative ? 0 - (uint128)value : (uint128)value;
  std::string digits;
  for (; size != 0 || (int)digits.size() <= scale; size /= 10)
    digits.insert(digits.begin(), (char)('0' + (int)(size % 10)));
  if (scale > 0) digits.insert(digits.end() - scale, '.');
  return (negative ? "-" : "") + digits;
}

TEST(WideDivisionTest, AgreesWithTheCompiler) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300000; i++) {
    uint128 value = random128(random), divisor = random128(random);
    if (i % 7 == 0) value = ~(uint128)0 - i / 7 % 3;
    if (i % 11 == 0) divisor = ((uint128)1 << (i % 128)) - (i % 2);
    if (divisor == 0) divisor = 1;
    uint128 remainder;
    uint128 quotient = divide_unsigned(value, divisor, &remainder);
    ASSERT_TRUE(quotient == value / divisor && remainder == value % divisor) << i;
  }
}

TEST(WideDivisionTest, MultiplicationOverflow) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 300000; i++) {
    uint128 a = random128(random), b = random128(random), exact;
    bool expected = __builtin_mul_overflow(a, b, &exact), overflow;
    uint128 product = multiply_unsigned(a, b, &overflow);
    ASSERT_EQ(overflow, expected);
    if (!overflow) {
      ASSERT_TRUE(product == exact);
    }
  }
}

TEST(NumericTest, RescaleRoundsHalfAwayFromZero) {
  struct Case {
    int64_t value;
    int from, to;
    int64_t result;
  };
  const Case cases[] = {{125, 2, 1, 13},
                        {-125, 2, 1, -13},
                        {124, 2, 1, 12},
                        {-124, 2, 1, -12},
                        {5, 1, 0, 1},
                        {-5, 1, 0, -1},
                        {4, 1, 0, 0},
                        {-4, 1, 0, 0},
                        {7, 0, 3, 7000},
                        {-7, 0, 18, -7000000000000000000ll},
                        {49, 2, 0, 0},
                        {50, 2, 0, 1},
                        {INT64_MAX, 19, 0, 1},
                        {INT64_MIN, 19, 0, -1},
                        {4999999999999999999ll, 19, 0, 0},
                        {5000000000000000000ll, 19, 0, 1},
                        {INT64_MAX, 20, 0, 0},
                        {INT64_MAX, 40, 0, 0},
                        {0, 0, 60, 0}};
  for (const Case& c : cases) {
    uint32_t errors = 0;
    EXPECT_EQ(rt_num64_rescale(c.value, c.from, c.to, &errors), c.result) << c.value;
    EXPECT_TRUE(rt_num128_rescale(c.value, c.from, c.to, &errors) == c.result) << c.value;
    EXPECT_EQ(errors, 0u) << c.value;
  }
  uint32_t errors = 0;
  rt_num64_rescale(INT64_MAX / 10 + 1, 0, 1, &errors);
  EXPECT_EQ(errors, TB_ERR_UNREPRESENTABLE);
  errors = 0;
  rt_num64_rescale(1, 0, 19, &errors);
  EXPECT_EQ(errors, TB_ERR_UNREPRESENTABLE);
  errors = 0;
  rt_num128_rescale(kMax128 / 10 + 1, 0, 1, &errors);
  EXPECT_EQ(errors, TB_ERR_UNREPRESENTABLE);
  errors = 0;
  rt_num128_rescale(2, 0, 38, &errors);
  EXPECT_EQ(errors, TB_ERR_UNREPRESENTABLE);
  errors = 0;
  rt_num128_rescale(-1, 0, 39, &errors);
  EXPECT_EQ(errors, TB_ERR_UNREPRESENTABLE);
  errors = 0;
  EXPECT_TRUE(rt_num128_rescale(1, 0, 38, &errors) > ((int128)1 << 126));
  EXPECT_TRUE(rt_num128_rescale(kMax128, 38, 0, &errors) == 2);
  EXPECT_TRUE(rt_num128_rescale(kMin128 + 1, 38, 0, &errors) == -2);
  EXPECT_TRUE(rt_num128_rescale(kMax128, 39, 0, &errors) == 0);
  EXPECT_EQ(rt_num128_to_num64(INT64_MIN, &errors), INT64_MIN);
  EXPECT_EQ(errors, 0u);
  rt_num128_to_num64((int128)INT64_MAX + 1, &errors);
  EXPECT_EQ(errors, TB_ERR_UNREPRESENTABLE);
}

TEST(NumericTest, Operators) {
  uint32_t errors = 0;
  EXPECT_EQ(rt_num64add(1, -3), -2);
  EXPECT_EQ(rt_num64mul(-4, 5), -20);
  EXPECT_EQ(rt_num64mod(-7, 3, &errors), -1);
  EXPECT_EQ(rt_num64mod(INT64_MIN, -1, &errors), 0);
  EXPECT_EQ(rt_num64abs(-5), 5);
  EXPECT_EQ(rt_num64sign(-5), -1);
  EXPECT_TRUE(rt_num128lt(kMin128, 0));
  EXPECT_TRUE(rt_num128mul((int128)1 << 100, -4, &errors) == -((int128)1 << 102));
  EXPECT_TRUE(rt_num128mul(INT64_MIN, INT64_MIN, &errors) == (int128)1 << 126);
  EXPECT_TRUE(rt_num128mod(-((int128)1 << 100), 1000, &errors) == -376);
  EXPECT_TRUE(rt_num128add(kMax128, kMin128, &errors) == -1);
  EXPECT_EQ(errors, 0u);
  rt_num64mod(1, 0, &errors);
  EXPECT_EQ(errors, TB_ERR_DIVISION_BY_ZERO);
  errors = 0;
  rt_num128mod(1, 0, &errors);
  EXPECT_EQ(errors, TB_ERR_DIVISION_BY_ZERO);
  errors = 0;
  rt_num128add(kMax128, 1, &errors);
  EXPECT_EQ(errors, TB_ERR_UNREPRESENTABLE);
  errors = 0;
  rt_num128sub(kMin128, 1, &errors);
  EXPECT_EQ(errors, TB_ERR_UNREPRESENTABLE);
  errors = 0;
  rt_num128mul((int128)1 << 64, (int128)1 << 63, &errors);
  EXPECT_EQ(errors, TB_ERR_UNREPRESENTABLE);
}

TEST(NumericTest, CeilFloorRoundTrunc) {
  EXPECT_EQ(rt_num64ceil(101, 2, 0), 2);
  EXPECT_EQ(rt_num64ceil(-199, 2, 0), -1);
  EXPECT_EQ(rt_num64floor(-101, 2, 0), -2);
  EXPECT_EQ(rt_num64floor(199, 2, 0), 1);
  EXPECT_EQ(rt_num64ceil(100, 2, 0), 1);
  EXPECT_TRUE(rt_num128ceil(101, 2, 0) == 2 && rt_num128ceil(-199, 2, 0) == -1);
  EXPECT_TRUE(rt_num128floor(-101, 2, 0) == -2 && rt_num128floor(199, 2, 0) == 1);
  uint32_t errors = 0;
  EXPECT_EQ(rt_num64round(12345, 1, 2, 1, &errors), 1235);
  EXPECT_EQ(rt_num64round(-12345, 1, 2, 1, &errors), -1235);
  EXPECT_EQ(rt_num64round(12345, 4, 2, 4, &errors), 1234500);
  EXPECT_EQ(rt_num64round(12555, -1, 2, 0, &errors), 130);
  EXPECT_EQ(rt_num64round(15000, -2, 2, 0, &errors), 200);
  EXPECT_EQ(rt_num64round(15000, -100, 2, 0, &errors), 0);
  EXPECT_EQ(rt_num64trunc(12399, 1, 2, 1, &errors), 1239);
  EXPECT_EQ(rt_num64trunc(-12399, -1, 2, 0, &errors), -120);
  EXPECT_EQ(rt_num64trunc(-12399, -2000000000, 2, 0, &errors), 0);
  EXPECT_TRUE(rt_num128round(12345, 1, 2, 1, &errors) == 1235);
  EXPECT_TRUE(rt_num128trunc(-12399, -1, 2, 0, &errors) == -120);
  EXPECT_EQ(errors, 0u);
}

TEST(NumericTest, CastsToIntegers) {
  uint32_t errors = 0;
  EXPECT_EQ(rt_num64_to_int4(214748364749ll, 2, 0, &errors), 2147483647);
  EXPECT_EQ(rt_num64_to_int4(-250, 2, 0, &errors), -3);
  EXPECT_EQ(rt_num64_to_int2(3276749, 2, 0, &errors), 32767);
  EXPECT_EQ(rt_num128_to_int8((int128)INT64_MAX * 10 + 4, 1, 0, &errors), INT64_MAX);
  EXPECT_EQ(errors, 0u);
  rt_num64_to_int4(214748364750ll, 2, 0, &errors);
  EXPECT_EQ(errors, TB_ERR_OVERFLOW);
  errors = 0;
  rt_num64_to_int2(-3276850, 2, 0, &errors);
  EXPECT_EQ(errors, TB_ERR_OVERFLOW);
  errors = 0;
  rt_num128_to_int8((int128)INT64_MAX * 10 + 5, 1, 0, &errors);
  EXPECT_EQ(errors, TB_ERR_OVERFLOW);
}

TEST(NumericTest, CastsToFloatsRoundLikeStrtod) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; i++) {
    int128 value = (int128)(random128(random) >> 1);
    if (i % 3 == 0) value = -value;
    int scale = (int)(random() % 20);
    std::string digits = decimal(value, scale);
    uint32_t errors = 0;
    ASSERT_EQ(rt_num128_to_float8(value, scale, 0, &errors), strtod(digits.c_str(), nullptr)) << digits;
    ASSERT_EQ(rt_num128_to_float4(value, scale, 0, &errors), strtof(digits.c_str(), nullptr)) << digits;
    int64_t narrow = (int64_t)value;
    digits = decimal(narrow, scale);
    ASSERT_EQ(rt_num64_to_float8(narrow, scale, 0, &errors), strtod(digits.c_str(), nullptr)) << digits;
    ASSERT_EQ(rt_num64_to_float4(narrow, scale, 0, &errors), strtof(digits.c_str(), nullptr)) << digits;
    ASSERT_EQ(errors, 0u);
  }
  /* Scales of 20 to 22 while the digits fit a double; beyond, PostgreSQL. */
  uint32_t errors = 0;
  EXPECT_EQ(rt_num128_to_float8(123456789, 22, 0, &errors), 123456789e-22);
  EXPECT_EQ(errors, 0u);
  rt_num128_to_float8(kMax128, 22, 0, &errors);
  EXPECT_EQ(errors, TB_ERR_UNREPRESENTABLE);
}

}  // namespace
