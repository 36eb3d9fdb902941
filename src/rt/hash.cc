/*
 * hash.cc - hashes of grouping and join keys.
 *
 * Values that are equal as keys (group_key.cc) hash alike within one type;
 * nothing is promised across types. Called by generated code, once a row and
 * key; rt_hash_combine chains the keys. All 64 bits are mixed: tables use the
 * low ones.
 */
#include "rt/rt.h"

#include "rt/text_hash.h"

using namespace turbine::rt;

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

RT_EXPORT uint64_t rt_hash_text(const char* bytes, uint32_t length) { return text_hash(bytes, length); }

/* Of a grouping key, from the hash that a view may carry. */
RT_EXPORT uint32_t rt_short_text_hash(const char* bytes, uint32_t length) { return short_text_hash(bytes, length); }
