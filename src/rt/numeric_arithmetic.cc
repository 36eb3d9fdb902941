/*
 * numeric_arithmetic.cc - operators of numeric as scaled integers, in 64 and
 * in 128 bits.
 *
 * The planner bounds the digits of every expression and takes 64 bits only
 * where 18 digits suffice, so those never overflow and nothing is checked;
 * 128 bits are checked. Results have the scale that functions.def documents:
 * the operands of + - % and of comparisons have equal scales, a product has
 * their sum, a sign, ceil or floor has scale 0. Scales are constants of the
 * program and never negative. Called by generated code.
 */
#include "rt/rescale.h"

using namespace turbine::rt;

/* ---- comparison ---- */

#define SIX_COMPARISONS(name, T)                            \
  RT_EXPORT bool rt_##name##eq(T a, T b) { return a == b; } \
  RT_EXPORT bool rt_##name##ne(T a, T b) { return a != b; } \
  RT_EXPORT bool rt_##name##lt(T a, T b) { return a < b; }  \
  RT_EXPORT bool rt_##name##le(T a, T b) { return a <= b; } \
  RT_EXPORT bool rt_##name##gt(T a, T b) { return a > b; }  \
  RT_EXPORT bool rt_##name##ge(T a, T b) { return a >= b; }

SIX_COMPARISONS(num64, int64_t)
SIX_COMPARISONS(num128, __int128)

/* ---- 64 bits: wrapping, so that rows that do not count are no undefined
 * behaviour either ---- */

RT_EXPORT int64_t rt_num64add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

RT_EXPORT int64_t rt_num64sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

RT_EXPORT int64_t rt_num64mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

RT_EXPORT int64_t rt_num64mod(int64_t a, int64_t b, uint32_t* errors) {
  raise_if(b == 0, TB_ERR_DIVISION_BY_ZERO, errors);
  int64_t divisor = ((b == 0) | (b == -1)) ? 1 : b;
  return a % divisor;
}

RT_EXPORT int64_t rt_num64neg(int64_t a) { return (int64_t)(0 - (uint64_t)a); }

RT_EXPORT int64_t rt_num64abs(int64_t a) { return a < 0 ? (int64_t)(0 - (uint64_t)a) : a; }

RT_EXPORT int64_t rt_num64sign(int64_t a) { return (a > 0) - (a < 0); }

/* ---- 128 bits ---- */

RT_EXPORT __int128 rt_num128add(__int128 a, __int128 b, uint32_t* errors) {
  int128 sum = (int128)((uint128)a + (uint128)b);
  raise_if(((a ^ sum) & (b ^ sum)) < 0, TB_ERR_UNREPRESENTABLE, errors);
  return sum;
}

RT_EXPORT __int128 rt_num128sub(__int128 a, __int128 b, uint32_t* errors) {
  int128 difference = (int128)((uint128)a - (uint128)b);
  raise_if(((a ^ b) & (a ^ difference)) < 0, TB_ERR_UNREPRESENTABLE, errors);
  return difference;
}

RT_EXPORT __int128 rt_num128mul(__int128 a, __int128 b, uint32_t* errors) {
  if (a == (int64_t)a && b == (int64_t)b) return (int128)(int64_t)a * (int64_t)b;
  bool overflow;
  uint128 product = multiply_unsigned(magnitude(a), magnitude(b), &overflow);
  raise_if(overflow | (product >> 127 != 0), TB_ERR_UNREPRESENTABLE, errors);
  return with_sign(product, (a < 0) != (b < 0));
}

RT_EXPORT __int128 rt_num128mod(__int128 a, __int128 b, uint32_t* errors) {
  raise_if(b == 0, TB_ERR_DIVISION_BY_ZERO, errors);
  uint128 remainder;
  divide_unsigned(magnitude(a), b == 0 ? 1 : magnitude(b), &remainder);
  return with_sign(remainder, a < 0);
}

RT_EXPORT __int128 rt_num128neg(__int128 a) { return (int128)(0 - (uint128)a); }

RT_EXPORT __int128 rt_num128abs(__int128 a) { return (int128)magnitude(a); }

RT_EXPORT __int128 rt_num128sign(__int128 a) { return (a > 0) - (a < 0); }

/* ---- rounding ---- */

namespace {

/* size / 10^scale toward zero, or away from it where digits are cut. */
RT_INLINE uint128 cut_digits(uint128 size, int32_t scale, bool away) {
  if (scale > kMaxPower128) return (away & (size != 0)) ? 1 : 0;
  uint128 remainder;
  uint128 quotient = divide_unsigned(size, power_of_ten(scale), &remainder);
  return quotient + ((away & (remainder != 0)) ? 1 : 0);
}

RT_INLINE int64_t cut_digits64(int64_t value, int32_t scale, bool up) {
  if (scale > 18) return up ? value > 0 : -(int64_t)(value < 0);
  int64_t divisor = (int64_t)kPowersOfTen[scale];
  int64_t quotient = value / divisor;
  int64_t remainder = value % divisor;
  return up ? quotient + (remainder > 0) : quotient - (remainder < 0);
}

RT_INLINE int32_t clamp_digits(int32_t digits, int32_t scale) {
  return digits > scale ? scale : digits < -kMaxPower128 - 1 ? -kMaxPower128 - 1 : digits;
}

}  // namespace

RT_EXPORT int64_t rt_num64ceil(int64_t a, int32_t scale, int32_t) { return cut_digits64(a, scale, true); }

RT_EXPORT int64_t rt_num64floor(int64_t a, int32_t scale, int32_t) { return cut_digits64(a, scale, false); }

RT_EXPORT __int128 rt_num128ceil(__int128 a, int32_t scale, int32_t) {
  return with_sign(cut_digits(magnitude(a), scale, a > 0), a < 0);
}

RT_EXPORT __int128 rt_num128floor(__int128 a, int32_t scale, int32_t) {
  return with_sign(cut_digits(magnitude(a), scale, a < 0), a < 0);
}

/* round(a, digits) and trunc(a, digits): to `digits` after the point, which
 * may be negative, then to the result's scale. */
RT_EXPORT int64_t rt_num64round(int64_t a, int32_t digits, int32_t scale, int32_t result_scale, uint32_t* errors) {
  int32_t kept = clamp_digits(digits, scale);
  int64_t rounded = rescale64(a, scale, kept, errors);
  return rescale64(rounded, kept, result_scale, errors);
}

RT_EXPORT int64_t rt_num64trunc(int64_t a, int32_t digits, int32_t scale, int32_t result_scale, uint32_t* errors) {
  int32_t kept = clamp_digits(digits, scale);
  int64_t cut = a;
  if (kept < scale) cut = scale - kept > 18 ? 0 : a / (int64_t)kPowersOfTen[scale - kept];
  return rescale64(cut, kept, result_scale, errors);
}

RT_EXPORT __int128 rt_num128round(__int128 a, int32_t digits, int32_t scale, int32_t result_scale, uint32_t* errors) {
  int32_t kept = clamp_digits(digits, scale);
  int128 rounded = rescale128(a, scale, kept, errors);
  return rescale128(rounded, kept, result_scale, errors);
}

RT_EXPORT __int128 rt_num128trunc(__int128 a, int32_t digits, int32_t scale, int32_t result_scale, uint32_t* errors) {
  int32_t kept = clamp_digits(digits, scale);
  int128 cut = a;
  if (kept < scale) cut = with_sign(cut_digits(magnitude(a), scale - kept, false), a < 0);
  return rescale128(cut, kept, result_scale, errors);
}
