/*
 * numeric_division.cc - numeric_div on scaled integers, and casts that check
 * their digits.
 *
 * PostgreSQL rounds a quotient to as many digits after the point as its
 * select_div_scale() takes from both operands' first base-10000 digits, their
 * weights and their display scales: rt_num128div_scale. The quotient is that
 * number, half away from zero, at the scale of the program's result; where that
 * has fewer digits, the rest must be zeros. Both operands have one scale. Called
 * by generated code.
 */
#include "rt/rescale.h"

using namespace turbine::rt;

namespace {

constexpr int32_t kMinSignificantDigits = 16;
constexpr int32_t kMaxScale = 999;
constexpr uint128 kMost = ~static_cast<uint128>(0) >> 1;

/* A value's first base-10000 digit, and which power of 10000 it counts. */
struct Leading {
  int32_t weight;
  int32_t digit;
};

RT_INLINE int32_t count_digits(uint128 size) {
  int32_t count = 0;
  while (count <= kMaxPower128 && size >= power_of_ten(count)) count++;
  return count;
}

RT_INLINE Leading leading_of(uint128 size, int32_t scale) {
  if (size == 0) return {0, 0};
  const int32_t digits = count_digits(size);
  const int32_t exponent = digits - 1 - scale;
  const int32_t weight = (exponent >= 0 ? exponent : exponent - 3) / 4;
  const int32_t kept = exponent - 4 * weight + 1;  // decimal digits of the first one
  if (digits < kept) return {weight, static_cast<int32_t>(size * power_of_ten(kept - digits))};
  uint128 rest;
  return {weight, static_cast<int32_t>(divide_unsigned(size, power_of_ten(digits - kept), &rest))};
}

RT_INLINE int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

RT_INLINE int32_t division_scale(uint128 a, uint128 b, int32_t display_a, int32_t display_b, int32_t scale) {
  const Leading first = leading_of(a, scale);
  const Leading second = leading_of(b, scale);
  int32_t weight = first.weight - second.weight;
  if (first.digit <= second.digit) weight--;
  const int32_t digits = kMinSignificantDigits - 4 * weight;
  return larger(larger(digits, display_a), larger(display_b, 0));
}

/* a * 10^digits / b, rounded half away from zero; false beyond 127 bits. */
RT_INLINE bool divide_to(uint128 a, uint128 b, int32_t digits, uint128* quotient) {
  uint128 rest;
  uint128 result = divide_unsigned(a, b, &rest);
  while (digits > 0) {
    int32_t step = kMaxPower128 - count_digits(b);  // rest * 10^step < b * 10^step
    step = step < digits ? step : digits;
    if (step <= 0) return false;
    bool overflow;
    result = multiply_unsigned(result, power_of_ten(step), &overflow);
    result += divide_unsigned(rest * power_of_ten(step), b, &rest);
    if (overflow || result > kMost) return false;
    digits -= step;
  }
  result += rest >= b - rest ? 1 : 0;
  *quotient = result;
  return result <= kMost;
}

/* value / 10^from as a number of scale `to`; false if that loses a digit. */
RT_INLINE bool change_scale(uint128* value, int32_t from, int32_t to) {
  if (*value == 0) return true;
  if (from > to) {
    uint128 rest;
    if (from - to > kMaxPower128) return false;
    *value = divide_unsigned(*value, power_of_ten(from - to), &rest);
    return rest == 0;
  }
  bool overflow;
  if (to - from > kMaxPower128) return false;
  *value = multiply_unsigned(*value, power_of_ten(to - from), &overflow);
  return !overflow && *value <= kMost;
}

}  // namespace

RT_EXPORT __int128 rt_num128div(__int128 a, __int128 b, int32_t display_a, int32_t display_b, int32_t scale,
                                int32_t result_scale, uint32_t* errors) {
  raise_if(b == 0, TB_ERR_DIVISION_BY_ZERO, errors);
  const uint128 divisor = b == 0 ? 1 : magnitude(b);
  const int32_t digits = division_scale(magnitude(a), divisor, display_a, display_b, scale);
  uint128 quotient = 0;
  const bool fits = digits <= kMaxScale && divide_to(magnitude(a), divisor, digits, &quotient) &&
                    change_scale(&quotient, digits, result_scale);
  raise_if(!fits, TB_ERR_UNREPRESENTABLE, errors);
  return with_sign(fits ? quotient : 0, (a < 0) != (b < 0));
}

/* What the quotient prints with. */
RT_EXPORT int32_t rt_num128div_scale(__int128 a, __int128 b, int32_t display_a, int32_t display_b, int32_t scale,
                                     int32_t, uint32_t* errors) {
  raise_if(b == 0, TB_ERR_DIVISION_BY_ZERO, errors);
  const uint128 divisor = b == 0 ? 1 : magnitude(b);
  const int32_t digits = division_scale(magnitude(a), divisor, display_a, display_b, scale);
  raise_if(digits > kMaxScale, TB_ERR_UNREPRESENTABLE, errors);
  return digits;
}

/* x::numeric(p, s) of an x that has scale s already: p digits at most. */
RT_EXPORT int64_t rt_num64_typmod(int64_t value, int32_t digits, uint32_t* errors) {
  const int64_t limit = digits < 0 ? 1 : digits > 18 ? INT64_MAX : static_cast<int64_t>(kPowersOfTen[digits]);
  raise_if((value >= limit) | (value <= -limit), TB_ERR_OVERFLOW, errors);
  return value;
}

RT_EXPORT __int128 rt_num128_typmod(__int128 value, int32_t digits, uint32_t* errors) {
  const int32_t power = digits < 0 ? 0 : digits > kMaxPower128 ? kMaxPower128 : digits;
  raise_if(magnitude(value) >= power_of_ten(power), TB_ERR_OVERFLOW, errors);
  return value;
}
