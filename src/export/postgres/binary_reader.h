/*
 * binary_reader.h - reads PostgreSQL's binary forms: big-endian numbers with their bounds checked.
 */
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "export/export_error.h"

namespace turbine::exporting {

/* The number at `data`, which has that many bytes. */
template <typename T>
T big_endian(const char* data) {
  using Bits = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
  static_assert(sizeof(Bits) == sizeof(T));
  Bits bits;
  memcpy(&bits, data, sizeof bits);
  if constexpr (sizeof(T) == 2) {
    bits = __builtin_bswap16(bits);
  } else if constexpr (sizeof(T) == 4) {
    bits = __builtin_bswap32(bits);
  } else {
    bits = __builtin_bswap64(bits);
  }
  return std::bit_cast<T>(bits);
}

/* A value's bytes, read one after the other; ValueError if they end too soon. */
class BinaryReader {
 public:
  BinaryReader(const char* data, int32_t length) : data_(data), end_(data + length) {}

  template <typename T>
  T read() {
    return big_endian<T>(bytes(sizeof(T)));
  }

  const char* bytes(int64_t count) {
    if (count < 0 || count > end_ - data_) throw ValueError("its binary form is damaged");
    const char* start = data_;
    data_ += count;
    return start;
  }

 private:
  const char *data_, *end_;
};

}  // namespace turbine::exporting
