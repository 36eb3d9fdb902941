/*
 * wide_division.h - powers of ten and division of 128-bit integers.
 *
 * The language's own division of __int128 is a libgcc call on the host and a
 * bit-serial loop on NVPTX; these are built from 64-bit divisions. Divisors
 * must not be zero (the callers' duty); nothing else traps.
 */
#pragma once

#include "rt/rt.h"

namespace turbine::rt {

constexpr uint64_t kPowersOfTen[20] = {
    1ull,
    10ull,
    100ull,
    1000ull,
    10000ull,
    100000ull,
    1000000ull,
    10000000ull,
    100000000ull,
    1000000000ull,
    10000000000ull,
    100000000000ull,
    1000000000000ull,
    10000000000000ull,
    100000000000000ull,
    1000000000000000ull,
    10000000000000000ull,
    100000000000000000ull,
    1000000000000000000ull,
    10000000000000000000ull,
};

constexpr int32_t kMaxPower64 = 19;   // 10^19 < 2^64
constexpr int32_t kMaxPower128 = 38;  // 10^38 < 2^127

/* 0 <= exponent <= kMaxPower128. */
RT_INLINE uint128 power_of_ten(int32_t exponent) {
  int32_t low = exponent < kMaxPower64 ? exponent : kMaxPower64;
  return (uint128)kPowersOfTen[low] * kPowersOfTen[exponent - low];
}

/* high:low by divisor, where high < divisor, so that the quotient fits. */
RT_INLINE uint64_t divide_word(uint64_t high, uint64_t low, uint64_t divisor, uint64_t* remainder) {
  if (high == 0) {
    *remainder = low % divisor;
    return low / divisor;
  }
  /* Schoolbook division by two 32-bit digits of the divisor, shifted so that
   * its top bit is set: a digit's estimate is then at most 2 too large. */
  int shift = __builtin_clzll(divisor);
  divisor <<= shift;
  uint64_t divisor_high = divisor >> 32;
  uint64_t divisor_low = (uint32_t)divisor;
  uint64_t top = shift == 0 ? high : high << shift | low >> (64 - shift);
  uint64_t rest = low << shift;
  uint64_t quotient = 0;
  for (int digit = 0; digit < 2; digit++) {
    uint64_t next = digit == 0 ? rest >> 32 : (uint32_t)rest;
    uint64_t estimate = top / divisor_high;
    uint64_t partial = top % divisor_high;
    while (estimate >> 32 != 0 || estimate * divisor_low > (partial << 32 | next)) {
      estimate--;
      partial += divisor_high;
      if (partial >> 32 != 0) break;
    }
    top = (top << 32 | next) - estimate * divisor;
    quotient = quotient << 32 | (uint32_t)estimate;
  }
  *remainder = top >> shift;
  return quotient;
}

/* Quotient and remainder of unsigned 128-bit integers; divisor != 0. */
RT_INLINE uint128 divide_unsigned(uint128 value, uint128 divisor, uint128* remainder) {
  uint64_t value_high = (uint64_t)(value >> 64);
  uint64_t value_low = (uint64_t)value;
  uint64_t divisor_high = (uint64_t)(divisor >> 64);
  if (divisor_high == 0) {
    uint64_t word = (uint64_t)divisor;
    uint64_t rest;
    uint64_t quotient_high = value_high / word;
    uint64_t quotient_low = divide_word(value_high % word, value_low, word, &rest);
    *remainder = rest;
    return (uint128)quotient_high << 64 | quotient_low;
  }
  /* The quotient fits 64 bits. Estimate it from the divisor's top 64 bits:
   * at most one too large after the decrement. */
  int shift = __builtin_clzll(divisor_high);
  uint64_t top = (uint64_t)((divisor << shift) >> 64);
  uint128 half = value >> 1;
  uint64_t ignored;
  uint64_t quotient = divide_word((uint64_t)(half >> 64), (uint64_t)half, top, &ignored);
  quotient >>= 63 - shift;
  if (quotient != 0) quotient--;
  uint128 rest = value - divisor * quotient;
  if (rest >= divisor) {
    quotient++;
    rest -= divisor;
  }
  *remainder = rest;
  return quotient;
}

RT_INLINE uint128 magnitude(int128 value) { return value < 0 ? 0 - (uint128)value : (uint128)value; }

RT_INLINE int128 with_sign(uint128 value, bool negative) { return (int128)(negative ? 0 - value : value); }

/* a * b, and whether it exceeds 128 bits. */
RT_INLINE uint128 multiply_unsigned(uint128 a, uint128 b, bool* overflow) {
  uint64_t a_high = (uint64_t)(a >> 64), a_low = (uint64_t)a;
  uint64_t b_high = (uint64_t)(b >> 64), b_low = (uint64_t)b;
  /* At most one of the cross products counts, else it overflows anyway. */
  uint128 cross = (uint128)a_high * b_low + (uint128)b_high * a_low;
  uint128 low = (uint128)a_low * b_low;
  uint128 high = cross + (uint64_t)(low >> 64);
  *overflow = ((a_high != 0) & (b_high != 0)) | ((uint64_t)(high >> 64) != 0);
  return high << 64 | (uint64_t)low;
}

/* value / 10^digits, rounded half away from zero; digits >= 0. */
RT_INLINE uint128 divide_rounded(uint128 value, int32_t digits) {
  if (digits > kMaxPower128) return 0;  // < 0.5, since value < 2^127
  uint128 divisor = power_of_ten(digits);
  uint128 remainder;
  uint128 quotient = divide_unsigned(value, divisor, &remainder);
  return quotient + (remainder >= divisor - remainder ? 1 : 0);
}

}  // namespace turbine::rt
