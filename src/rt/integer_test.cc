/* Integer arithmetic against 128-bit arithmetic, over edge values of each
 * pair of types, and what PostgreSQL says of division and shifts. */
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "turbine/kernel.h"

#define DECLARE(name, A, B, R)                  \
  extern "C" R rt_##name##pl(A, B, uint32_t*);  \
  extern "C" R rt_##name##mi(A, B, uint32_t*);  \
  extern "C" R rt_##name##mul(A, B, uint32_t*); \
  extern "C" R rt_##name##div(A, B, uint32_t*); \
  extern "C" bool rt_##name##eq(A, B);          \
  extern "C" bool rt_##name##ne(A, B);          \
  extern "C" bool rt_##name##lt(A, B);          \
  extern "C" bool rt_##name##le(A, B);          \
  extern "C" bool rt_##name##gt(A, B);          \
  extern "C" bool rt_##name##ge(A, B);

#define FOR_EACH_PAIR(apply)                                                                                           \
  apply(int2, int16_t, int16_t, int16_t) apply(int4, int32_t, int32_t, int32_t) apply(int8, int64_t, int64_t, int64_t) \
      apply(int24, int16_t, int32_t, int32_t) apply(int42, int32_t, int16_t, int32_t)                                  \
          apply(int28, int16_t, int64_t, int64_t) apply(int82, int64_t, int16_t, int64_t)                              \
              apply(int48, int32_t, int64_t, int64_t) apply(int84, int64_t, int32_t, int64_t)

FOR_EACH_PAIR(DECLARE)

#define DECLARE_ONE(name, T)                    \
  extern "C" T rt_##name##mod(T, T, uint32_t*); \
  extern "C" T rt_##name##um(T, uint32_t*);     \
  extern "C" T rt_##name##abs(T, uint32_t*);    \
  extern "C" T rt_##name## and (T, T);          \
  extern "C" T rt_##name## or (T, T);           \
  extern "C" T rt_##name## xor (T, T);          \
  extern "C" T rt_##name##not(T);               \
  extern "C" T rt_##name##shl(T, int32_t);      \
  extern "C" T rt_##name##shr(T, int32_t);

DECLARE_ONE(int2, int16_t)
DECLARE_ONE(int4, int32_t)
DECLARE_ONE(int8, int64_t)

namespace {

template <typename T>
std::vector<T> edges() {
  constexpr T lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
  std::vector<T> values = {lowest,
                           (T)(lowest + 1),
                           -2,
                           -1,
                           0,
                           1,
                           2,
                           3,
                           7,
                           (T)(highest - 1),
                           highest,
                           (T)(lowest / 2),
                           (T)(highest / 2 + 1),
                           (T)(highest / 2)};
  if (sizeof(T) > 2)
    for (T extra : {(T)32767, (T)32768, (T)-32768, (T)46340, (T)46341, (T)65536}) values.push_back(extra);
  if (sizeof(T) > 4)
    for (int64_t extra : {2147483647ll, 2147483648ll, -2147483648ll, 3037000499ll, 3037000500ll})
      values.push_back((T)extra);
  return values;
}

template <typename R>
void expect(__int128 exact, R got, uint32_t errors) {
  bool fits = exact == (R)exact;
  EXPECT_EQ(errors, fits ? 0u : TB_ERR_OVERFLOW);
  if (fits) {
    EXPECT_EQ(got, (R)exact);
  }
}

template <typename A, typename B, typename R>
void check_division(A a, B b, R got, uint32_t errors) {
  if (b == 0)
    EXPECT_EQ(errors, TB_ERR_DIVISION_BY_ZERO);
  else
    expect<R>((__int128)a / b, got, errors);
}

#define CHECK_PAIR(name, A, B, R)                      \
  TEST(IntegerTest, name) {                            \
    for (A a : edges<A>())                             \
      for (B b : edges<B>()) {                         \
        uint32_t e[4] = {};                            \
        R sum = rt_##name##pl(a, b, &e[0]);            \
        expect<R>((__int128)a + b, sum, e[0]);         \
        R difference = rt_##name##mi(a, b, &e[1]);     \
        expect<R>((__int128)a - b, difference, e[1]);  \
        R product = rt_##name##mul(a, b, &e[2]);       \
        expect<R>((__int128)a * b, product, e[2]);     \
        R quotient = rt_##name##div(a, b, &e[3]);      \
        check_division<A, B, R>(a, b, quotient, e[3]); \
        EXPECT_EQ(rt_##name##eq(a, b), a == b);        \
        EXPECT_EQ(rt_##name##ne(a, b), a != b);        \
        EXPECT_EQ(rt_##name##lt(a, b), a < b);         \
        EXPECT_EQ(rt_##name##le(a, b), a <= b);        \
        EXPECT_EQ(rt_##name##gt(a, b), a > b);         \
        EXPECT_EQ(rt_##name##ge(a, b), a >= b);        \
      }                                                \
  }

FOR_EACH_PAIR(CHECK_PAIR)

#define CHECK_ONE(name, T)                              \
  TEST(IntegerTest, name##_unary_and_modulo) {          \
    for (T a : edges<T>()) {                            \
      uint32_t e = 0;                                   \
      T negated = rt_##name##um(a, &e);                 \
      expect<T>(-(__int128)a, negated, e);              \
      e = 0;                                            \
      T absolute = rt_##name##abs(a, &e);               \
      expect<T>(a < 0 ? -(__int128)a : a, absolute, e); \
      EXPECT_EQ(rt_##name##not(a), (T)~a);              \
      for (T b : edges<T>()) {                          \
        e = 0;                                          \
        T rest = rt_##name##mod(a, b, &e);              \
        if (b == 0)                                     \
          EXPECT_EQ(e, TB_ERR_DIVISION_BY_ZERO);        \
        else                                            \
          expect<T>((__int128)a % b, rest, e);          \
        EXPECT_EQ(rt_##name## and (a, b), (T)(a & b));  \
        EXPECT_EQ(rt_##name## or (a, b), (T)(a | b));   \
        EXPECT_EQ(rt_##name## xor (a, b), (T)(a ^ b));  \
      }                                                 \
    }                                                   \
  }

CHECK_ONE(int2, int16_t)
CHECK_ONE(int4, int32_t)
CHECK_ONE(int8, int64_t)

TEST(IntegerTest, ShiftsAsPostgreSQLOnX86) {
  EXPECT_EQ(rt_int4shl(1, 33), 2);
  EXPECT_EQ(rt_int4shl(-1, 31), INT32_MIN);
  EXPECT_EQ(rt_int4shr(-8, 1), -4);
  EXPECT_EQ(rt_int4shr(-8, -31), -4);
  EXPECT_EQ(rt_int2shl(1, 15), INT16_MIN);
  EXPECT_EQ(rt_int2shl(1, 16), 0);
  EXPECT_EQ(rt_int2shr(-32768, 15), -1);
  EXPECT_EQ(rt_int8shl(1, 65), 2);
  EXPECT_EQ(rt_int8shr(INT64_MIN, 63), -1);
}

TEST(IntegerTest, ErrorsAreSticky) {
  uint32_t errors = TB_ERR_DOMAIN;
  rt_int4pl(1, 1, &errors);
  EXPECT_EQ(errors, TB_ERR_DOMAIN);
  rt_int4pl(INT32_MAX, 1, &errors);
  EXPECT_EQ(errors, TB_ERR_DOMAIN | TB_ERR_OVERFLOW);
}

}  // namespace
