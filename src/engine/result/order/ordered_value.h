/*
 * ordered_value.h - values as unsigned integers of the same order: PostgreSQL's
 * btree order, NaN above all numbers and equal to itself, -0 equal to 0.
 */
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "turbine/types.h"

namespace turbine {

using uint128 = unsigned __int128;

template <class T>
T load_value(const uint8_t* at) {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}

/* Flipping the sign bit orders two's complement numbers. */
inline uint64_t ordered_integer(int64_t value) { return static_cast<uint64_t>(value) ^ (uint64_t{1} << 63); }
inline uint128 ordered_integer(__int128 value) { return static_cast<uint128>(value) ^ (uint128{1} << 127); }

/* Of floats the magnitude orders positive ones, and its complement negative ones. */
template <class Float, class Bits>
uint64_t ordered_float(Float value) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  if (std::isnan(value)) return static_cast<Bits>(~Bits{0});
  const Bits bits = std::bit_cast<Bits>(value + Float{0});  // -0 + 0 is 0
  return static_cast<Bits>(bits & kSign ? ~bits : bits | kSign);
}

/* Calls `f` with a function from a value's address to its ordered integer, which
 * has 64 bits, and 128 of NUM128. Not of text. */
template <class F>
decltype(auto) with_ordered(uint32_t type, F&& f) {
  switch (type) {
    case TB_TYPE_BOOL: return f([](const uint8_t* at) { return uint64_t{*at}; });
    case TB_TYPE_INT2: return f([](const uint8_t* at) { return ordered_integer(int64_t{load_value<int16_t>(at)}); });
    case TB_TYPE_INT4:
    case TB_TYPE_DATE: return f([](const uint8_t* at) { return ordered_integer(int64_t{load_value<int32_t>(at)}); });
    case TB_TYPE_FLOAT4:
      return f([](const uint8_t* at) { return ordered_float<float, uint32_t>(load_value<float>(at)); });
    case TB_TYPE_FLOAT8:
      return f([](const uint8_t* at) { return ordered_float<double, uint64_t>(load_value<double>(at)); });
    case TB_TYPE_NUM128: return f([](const uint8_t* at) { return ordered_integer(load_value<__int128>(at)); });
    default: return f([](const uint8_t* at) { return ordered_integer(load_value<int64_t>(at)); });
  }
}

}  // namespace turbine
