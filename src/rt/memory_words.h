/*
 * memory_words.h - unaligned loads of words from bytes, and nothing outside
 * them: a load covers only bytes that the caller says exist.
 */
#pragma once

#include "rt/rt.h"

namespace turbine::rt {

RT_INLINE uint64_t load_u64(const char* bytes) {
  uint64_t word;
  __builtin_memcpy(&word, bytes, sizeof word);
  return word;
}

RT_INLINE uint32_t load_u32(const char* bytes) {
  uint32_t word;
  __builtin_memcpy(&word, bytes, sizeof word);
  return word;
}

RT_INLINE uint16_t load_u16(const char* bytes) {
  uint16_t word;
  __builtin_memcpy(&word, bytes, sizeof word);
  return word;
}

/* The first `length` < 8 bytes as a word, zero-extended. */
RT_INLINE uint64_t load_partial(const char* bytes, uint32_t length) {
  if (length >= 4) {
    uint64_t low = load_u32(bytes);
    uint64_t high = load_u32(bytes + length - 4);
    return low | high << (8 * (length - 4));
  }
  if (length == 0) return 0;
  uint64_t first = (uint8_t)bytes[0];
  uint64_t middle = (uint8_t)bytes[length >> 1];
  uint64_t last = (uint8_t)bytes[length - 1];
  return first | middle << (8 * (length >> 1)) | last << (8 * (length - 1));
}

}  // namespace turbine::rt
