/*
 * text_hash.h - the hash of a text, for the device library and for dictionaries that keep it.
 */
#pragma once

#include "rt/memory_words.h"

namespace turbine::rt {

constexpr uint64_t kMultiplier1 = 0x9fb21c651e98df25ull;
constexpr uint64_t kMultiplier2 = 0xd6e8feb86659fd93ull;

/* Two multiply-xorshift rounds: a bijection of 64 bits. */
RT_INLINE uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= kMultiplier2;
  x ^= x >> 32;
  x *= kMultiplier2;
  x ^= x >> 32;
  return x;
}

/* Eight bytes a step, one multiplication each; the last 1..8 bytes are read
 * as one word that overlaps what was read already, or zero-extended. The
 * length is mixed in, so that zero bytes at the end count. */
RT_INLINE uint64_t text_hash(const char* bytes, uint32_t length) {
  uint64_t hash = length * kMultiplier1;
  uint32_t at = 0;
  for (; length - at > 8; at += 8) {
    uint64_t word = load_u64(bytes + at);
    hash = (hash ^ word ^ (word >> 29)) * kMultiplier1;
    hash ^= hash >> 32;
  }
  uint64_t last = length >= 8 ? load_u64(bytes + length - 8) : load_partial(bytes, length);
  return mix(hash ^ (last + kMultiplier1));
}

/* What a view of an entry of a dictionary carries. */
RT_INLINE uint32_t short_text_hash(const char* bytes, uint32_t length) { return (uint32_t)text_hash(bytes, length); }

}  // namespace turbine::rt
