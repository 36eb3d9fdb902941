/* rescale.h - see rescale.cc. Inlined: scales are constants of a program. */
#pragma once

#include "rt/wide_division.h"

namespace turbine::rt {

RT_INLINE int64_t rescale64(int64_t value, int32_t from, int32_t to, uint32_t* errors) {
  if (to == from) return value;
  if (to > from) {
    if (to - from > 18) {
      raise_if(value != 0, TB_ERR_UNREPRESENTABLE, errors);
      return 0;
    }
    int128 product = (int128)value * (int64_t)kPowersOfTen[to - from];
    raise_if(product != (int64_t)product, TB_ERR_UNREPRESENTABLE, errors);
    return (int64_t)product;
  }
  if (from - to > kMaxPower64) return 0;
  uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  uint64_t divisor = kPowersOfTen[from - to];
  uint64_t quotient = size / divisor;
  uint64_t remainder = size % divisor;
  quotient += remainder >= divisor - remainder ? 1 : 0;
  return (int64_t)(value < 0 ? 0 - quotient : quotient);
}

RT_INLINE int128 rescale128(int128 value, int32_t from, int32_t to, uint32_t* errors) {
  if (to == from) return value;
  uint128 size = magnitude(value);
  if (to > from) {
    if (to - from > kMaxPower128) {
      raise_if(value != 0, TB_ERR_UNREPRESENTABLE, errors);
      return 0;
    }
    bool overflow;
    size = multiply_unsigned(size, power_of_ten(to - from), &overflow);
    raise_if(overflow | (size >> 127 != 0), TB_ERR_UNREPRESENTABLE, errors);
  } else {
    size = divide_rounded(size, from - to);
  }
  return with_sign(size, value < 0);
}

}  // namespace turbine::rt
