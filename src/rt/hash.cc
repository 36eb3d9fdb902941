/*
 * hash.cc - hashes of grouping and join keys.
 *
 * Values that are equal as keys (group_key.cc) hash alike within one type;
 * nothing is promised across types. Called by generated code, once a row and
 * key; rt_hash_combine chains the keys. All 64 bits are mixed: tables use the
 * low ones.
 */
#include "rt/rt.h"

#include "rt/memory_words.h"

using namespace turbine::rt;

namespace {

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

}  // namespace

RT_EXPORT uint64_t rt_hash_bool(bool value) { return mix(value + 1u); }

RT_EXPORT uint64_t rt_hash_int2(int16_t value) { return mix((uint16_t)value + kMultiplier1); }

RT_EXPORT uint64_t rt_hash_int4(int32_t value) { return mix((uint32_t)value + kMultiplier1); }

RT_EXPORT uint64_t rt_hash_int8(int64_t value) { return mix((uint64_t)value + kMultiplier1); }

RT_EXPORT uint64_t rt_hash_float8(double value) {
  /* Adding 0 turns -0 into 0; every NaN becomes the same one. */
  double canonical = value == value ? value + 0.0 : __builtin_nan("");
  return mix(__builtin_bit_cast(uint64_t, canonical) + kMultiplier1);
}

RT_EXPORT uint64_t rt_hash_float4(float value) { return rt_hash_float8(value); }

RT_EXPORT uint64_t rt_hash_num64(int64_t value) { return rt_hash_int8(value); }

RT_EXPORT uint64_t rt_hash_combine(uint64_t hash, uint64_t next) {
  return mix((hash << 23 | hash >> 41) * kMultiplier1 + next);
}

RT_EXPORT uint64_t rt_hash_num128(__int128 value) {
  uint64_t low = (uint64_t)value;
  uint64_t high = (uint64_t)((uint128)value >> 64);
  return mix(low + mix(high + kMultiplier1));
}

/* Eight bytes a step, one multiplication each; the last 1..8 bytes are read
 * as one word that overlaps what was read already, or zero-extended. The
 * length is mixed in, so that zero bytes at the end count. */
RT_EXPORT uint64_t rt_hash_text(const char* bytes, uint32_t length) {
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
