/*
 * bit_unpacking.h - numbers of some bits each, packed from the lowest bit of the first byte on, become 32 bits wide.
 */
#pragma once

#include <cstdint>

namespace turbine {

/* Bits that a packed number can have. */
inline constexpr uint32_t kMostPackedBits = 32;

/* Numbers [first, first + count) of those packed at `bytes`, of `width` bits each, 1 to kMostPackedBits. All of them
 * lie within `size` bytes. */
void unpack_bits(const uint8_t* bytes, uint64_t size, uint64_t first, uint32_t count, uint32_t width,
                 uint32_t* numbers);

/* Bits from `first` on, as bytes of 0 or 1; the same otherwise. Returns how many are 1. */
uint32_t unpack_flags(const uint8_t* bytes, uint64_t first, uint32_t count, uint8_t* flags);

}  // namespace turbine
