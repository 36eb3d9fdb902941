/*
 * numeric_casts.cc - numeric from and to integers and floats.
 *
 * Integers become numerics of scale 0 (the planner rescales after that);
 * numerics become integers rounded half away from zero. numeric to float is
 * correctly rounded, as PostgreSQL's way through the decimal string is; what
 * the 128-bit arithmetic here can not round exactly is
 * TB_ERR_UNREPRESENTABLE. No conversion between __int128 and float: NVPTX has
 * none. Called by generated code.
 */
#include "rt/rescale.h"

using namespace turbine::rt;

RT_EXPORT int64_t rt_int2_to_num64(int16_t a) { return a; }
RT_EXPORT int64_t rt_int4_to_num64(int32_t a) { return a; }
RT_EXPORT __int128 rt_int8_to_num128(int64_t a) { return a; }

#define NUMERIC_TO_INTEGER(suffix, R)                                                       \
  RT_EXPORT R rt_num64_to_##suffix(int64_t a, int32_t scale, int32_t, uint32_t* errors) {   \
    int64_t rounded = rescale64(a, scale, 0, errors);                                       \
    raise_if(rounded != (R)rounded, TB_ERR_OVERFLOW, errors);                               \
    return (R)rounded;                                                                      \
  }                                                                                         \
  RT_EXPORT R rt_num128_to_##suffix(__int128 a, int32_t scale, int32_t, uint32_t* errors) { \
    int128 rounded = rescale128(a, scale, 0, errors);                                       \
    raise_if(rounded != (R)rounded, TB_ERR_OVERFLOW, errors);                               \
    return (R)rounded;                                                                      \
  }

NUMERIC_TO_INTEGER(int2, int16_t)
NUMERIC_TO_INTEGER(int4, int32_t)
NUMERIC_TO_INTEGER(int8, int64_t)

namespace {

/* value * 2^exponent with 64 significant bits: bit 63 is set unless zero, and
 * bit 0 is sticky (it stands for everything below it too), so that one
 * conversion to float or double rounds correctly. */
struct Significand {
  uint64_t bits;
  int32_t exponent;
};

/* The top 64 bits of a 128-bit quotient; `inexact`: a remainder was left. */
RT_INLINE Significand normalise(uint128 quotient, int32_t exponent, bool inexact) {
  uint64_t high = (uint64_t)(quotient >> 64);
  uint64_t low = (uint64_t)quotient;
  if (high == 0) {
    if (low == 0) return {inexact ? 1u : 0u, exponent};
    int shift = __builtin_clzll(low);
    return {low << shift | (inexact ? 1u : 0u), exponent - shift};
  }
  int shift = __builtin_clzll(high);
  uint128 aligned = quotient << shift;
  bool lost = (uint64_t)aligned != 0;
  return {(uint64_t)(aligned >> 64) | ((inexact | lost) ? 1u : 0u), exponent + 64 - shift};
}

/* 2^exponent, exactly; exponent in the normal range. */
RT_INLINE double power_of_two(int32_t exponent) {
  return __builtin_bit_cast(double, (uint64_t)(exponent + 1023) << 52);
}

/* size / 10^scale as a significand, or `*exact = false` where the divisor
 * does not fit a word. The quotient is given 64 more bits than the dividend
 * leaves, so at least 65 where it is inexact. */
RT_INLINE Significand divide_to_significand(uint128 size, int32_t scale, bool* exact) {
  *exact = true;
  if (scale <= 0 || size == 0) return normalise(size, 0, false);
  if (scale > kMaxPower64) {
    *exact = false;
    return {0, 0};
  }
  uint64_t divisor = kPowersOfTen[scale];
  /* Long division of the three words of size * 2^64. */
  uint64_t rest = (uint64_t)(size >> 64) % divisor;
  uint64_t word2 = (uint64_t)(size >> 64) / divisor;
  uint64_t word1 = divide_word(rest, (uint64_t)size, divisor, &rest);
  uint64_t word0 = divide_word(rest, 0, divisor, &rest);
  if (word2 != 0) return normalise((uint128)word2 << 64 | word1, 0, (word0 != 0) | (rest != 0));
  if (word1 != 0) return normalise((uint128)word1 << 64 | word0, -64, rest != 0);
  /* Below 1: one more word keeps the quotient longer than any significand. */
  uint64_t word_minus1 = divide_word(rest, 0, divisor, &rest);
  return normalise((uint128)word0 << 64 | word_minus1, -128, rest != 0);
}

/* Both factors of a division are exact doubles: the quotient rounds once. */
RT_INLINE bool exact_in_double(uint128 size, int32_t scale) {
  return (size < (1ull << 53)) & (scale >= 0) & (scale <= 22);
}

RT_INLINE double exact_quotient(uint64_t size, int32_t scale) {
  double divisor = (double)kPowersOfTen[scale < 19 ? scale : 19];
  if (scale > 19) divisor *= (double)kPowersOfTen[scale - 19];
  return (double)(int64_t)size / divisor;
}

RT_INLINE double to_double(uint128 size, int32_t scale, uint32_t* errors) {
  if (exact_in_double(size, scale)) return exact_quotient((uint64_t)size, scale);
  bool exact;
  Significand s = divide_to_significand(size, scale, &exact);
  raise_if(!exact, TB_ERR_UNREPRESENTABLE, errors);
  return (double)s.bits * power_of_two(s.exponent);
}

RT_INLINE float to_float(uint128 size, int32_t scale, uint32_t* errors) {
  bool exact;
  Significand s = divide_to_significand(size, scale, &exact);
  raise_if(!exact, TB_ERR_UNREPRESENTABLE, errors);
  /* |value| is in [10^-19, 2^127): the scaling by a power of two is exact. */
  return (float)((double)(float)s.bits * power_of_two(s.exponent));
}

}  // namespace

RT_EXPORT double rt_num64_to_float8(int64_t a, int32_t scale, int32_t, uint32_t* errors) {
  double size = to_double(magnitude(a), scale, errors);
  return a < 0 ? -size : size;
}

RT_EXPORT double rt_num128_to_float8(__int128 a, int32_t scale, int32_t, uint32_t* errors) {
  double size = to_double(magnitude(a), scale, errors);
  return a < 0 ? -size : size;
}

RT_EXPORT float rt_num64_to_float4(int64_t a, int32_t scale, int32_t, uint32_t* errors) {
  float size = to_float(magnitude(a), scale, errors);
  return a < 0 ? -size : size;
}

RT_EXPORT float rt_num128_to_float4(__int128 a, int32_t scale, int32_t, uint32_t* errors) {
  float size = to_float(magnitude(a), scale, errors);
  return a < 0 ? -size : size;
}
