/*
 * integer_arithmetic.cc - + - * / %, unary minus, abs and bit operators of
 * smallint, integer and bigint, and of each with each.
 *
 * PostgreSQL raises where the result leaves its type; here that is an or'ed
 * bit, and the value is then meaningless. No *.with.overflow: it would keep
 * loops from being vectorised. Operations are done in a wider type, or for
 * bigint by comparing signs. Called by generated code.
 */
#include "rt/rt.h"

using namespace turbine::rt;

namespace {

template <typename T>
struct IntegerLimits {
  static constexpr T min = (T)((T)1 << (sizeof(T) * 8 - 1));
  static constexpr T max = (T)~min;
};

template <typename R>
RT_INLINE R narrow(int64_t value, uint32_t* errors) {
  raise_if(value != (R)value, TB_ERR_OVERFLOW, errors);
  return (R)value;
}

/* R is the wider of both argument types, as PostgreSQL's operators have it. */
template <typename R>
RT_INLINE R add(R a, R b, uint32_t* errors) {
  if constexpr (sizeof(R) < 8) {
    return narrow<R>((int64_t)a + b, errors);
  } else {
    int64_t sum = (int64_t)((uint64_t)a + (uint64_t)b);
    /* Overflow: the operands' signs agree and the sum's differs. */
    raise_if(((a ^ sum) & (b ^ sum)) < 0, TB_ERR_OVERFLOW, errors);
    return sum;
  }
}

template <typename R>
RT_INLINE R subtract(R a, R b, uint32_t* errors) {
  if constexpr (sizeof(R) < 8) {
    return narrow<R>((int64_t)a - b, errors);
  } else {
    int64_t difference = (int64_t)((uint64_t)a - (uint64_t)b);
    raise_if(((a ^ b) & (a ^ difference)) < 0, TB_ERR_OVERFLOW, errors);
    return difference;
  }
}

template <typename R>
RT_INLINE R multiply(R a, R b, uint32_t* errors) {
  if constexpr (sizeof(R) < 8) {
    return narrow<R>((int64_t)a * b, errors);
  } else {
    int128 product = (int128)a * b;
    raise_if(product != (int64_t)product, TB_ERR_OVERFLOW, errors);
    return (int64_t)product;
  }
}

/* The divisor is replaced where the machine would trap. */
template <typename R>
RT_INLINE R divide(R a, R b, uint32_t* errors) {
  bool zero = b == 0;
  bool overflow = (a == IntegerLimits<R>::min) & (b == -1);
  raise_if(zero, TB_ERR_DIVISION_BY_ZERO, errors);
  raise_if(overflow, TB_ERR_OVERFLOW, errors);
  R divisor = (zero | overflow) ? (R)1 : b;
  return (R)(a / divisor);
}

/* x % -1 is 0 even for the smallest x. */
template <typename R>
RT_INLINE R modulo(R a, R b, uint32_t* errors) {
  raise_if(b == 0, TB_ERR_DIVISION_BY_ZERO, errors);
  R divisor = ((b == 0) | (b == -1)) ? (R)1 : b;
  return (R)(a % divisor);
}

template <typename R>
RT_INLINE R negate(R a, uint32_t* errors) {
  raise_if(a == IntegerLimits<R>::min, TB_ERR_OVERFLOW, errors);
  return (R)(0 - (uint64_t)a);
}

template <typename R>
RT_INLINE R absolute(R a, uint32_t* errors) {
  raise_if(a == IntegerLimits<R>::min, TB_ERR_OVERFLOW, errors);
  return a < 0 ? (R)(0 - (uint64_t)a) : a;
}

}  // namespace

/* The four operators of one pair of types; `name` is PostgreSQL's: int48 is
 * integer with bigint. */
#define FOUR_OPERATORS(name, A, B, R)                                                          \
  RT_EXPORT R rt_##name##pl(A a, B b, uint32_t* errors) { return add<R>(a, b, errors); }       \
  RT_EXPORT R rt_##name##mi(A a, B b, uint32_t* errors) { return subtract<R>(a, b, errors); }  \
  RT_EXPORT R rt_##name##mul(A a, B b, uint32_t* errors) { return multiply<R>(a, b, errors); } \
  RT_EXPORT R rt_##name##div(A a, B b, uint32_t* errors) { return divide<R>(a, b, errors); }

FOUR_OPERATORS(int2, int16_t, int16_t, int16_t)
FOUR_OPERATORS(int4, int32_t, int32_t, int32_t)
FOUR_OPERATORS(int8, int64_t, int64_t, int64_t)
FOUR_OPERATORS(int24, int16_t, int32_t, int32_t)
FOUR_OPERATORS(int42, int32_t, int16_t, int32_t)
FOUR_OPERATORS(int28, int16_t, int64_t, int64_t)
FOUR_OPERATORS(int82, int64_t, int16_t, int64_t)
FOUR_OPERATORS(int48, int32_t, int64_t, int64_t)
FOUR_OPERATORS(int84, int64_t, int32_t, int64_t)

/* Operators of one type. Shift counts are taken modulo the width of the
 * machine's operation, as PostgreSQL's compiled C does on x86-64 and arm64:
 * smallint shifts as integer. */
#define ONE_TYPE_OPERATORS(name, T, W, bits)                                                                      \
  RT_EXPORT T rt_##name##mod(T a, T b, uint32_t* errors) { return modulo<T>(a, b, errors); }                      \
  RT_EXPORT T rt_##name##um(T a, uint32_t* errors) { return negate<T>(a, errors); }                               \
  RT_EXPORT T rt_##name##abs(T a, uint32_t* errors) { return absolute<T>(a, errors); }                            \
  RT_EXPORT T rt_##name## and (T a, T b) { return (T)(a & b); }                                                   \
  RT_EXPORT T rt_##name## or (T a, T b) { return (T)(a | b); }                                                    \
  RT_EXPORT T rt_##name## xor (T a, T b) { return (T)(a ^ b); } RT_EXPORT T rt_##name##not(T a) { return (T)~a; } \
  RT_EXPORT T rt_##name##shl(T a, int32_t count) { return (T)((W)a << (count & (bits - 1))); }                    \
  RT_EXPORT T rt_##name##shr(T a, int32_t count) { return (T)(a >> (count & (bits - 1))); }

ONE_TYPE_OPERATORS(int2, int16_t, uint32_t, 32)
ONE_TYPE_OPERATORS(int4, int32_t, uint32_t, 32)
ONE_TYPE_OPERATORS(int8, int64_t, uint64_t, 64)
