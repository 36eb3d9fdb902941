/*
 * text_bytes.h - comparing and searching byte strings.
 *
 * Reads no byte outside the strings: short rests are read as overlapping
 * words or byte by byte. On the host searching compares 32, 16 or 8 positions
 * at a time in vectors that the code generator maps to what the CPU has.
 */
#pragma once

#include "rt/memory_words.h"

namespace turbine::rt {

RT_INLINE bool equal_bytes(const char* a, const char* b, uint32_t length) {
  if (length < 8) return load_partial(a, length) == load_partial(b, length);
  uint64_t difference = 0;
  for (uint32_t at = 0; at + 8 < length; at += 8) {
    difference = load_u64(a + at) ^ load_u64(b + at);
    if (difference != 0) return false;
  }
  return load_u64(a + length - 8) == load_u64(b + length - 8);
}

/* memcmp of the common part; < 0, 0 or > 0, then the shorter is less. */
RT_INLINE int compare_bytes(const char* a, uint32_t a_length, const char* b, uint32_t b_length) {
  uint32_t common = a_length < b_length ? a_length : b_length;
  uint32_t at = 0;
  for (; common - at >= 8; at += 8) {
    uint64_t left = load_u64(a + at), right = load_u64(b + at);
    if (left != right) return __builtin_bswap64(left) < __builtin_bswap64(right) ? -1 : 1;
  }
  uint64_t left = load_partial(a + at, common - at), right = load_partial(b + at, common - at);
  if (left != right) return __builtin_bswap64(left) < __builtin_bswap64(right) ? -1 : 1;
  return a_length < b_length ? -1 : a_length > b_length ? 1 : 0;
}

constexpr uint32_t kNotFound = 0xffffffffu;

#if defined(__NVPTX__)

/* First position of the needle from `from` on; its length is not 0. */
RT_INLINE uint32_t find_bytes(const char* text, uint32_t length, uint32_t from, const char* needle,
                              uint32_t needle_length) {
  if (length < needle_length) return kNotFound;
  char first = needle[0], last = needle[needle_length - 1];
  for (uint32_t at = from; at <= length - needle_length; at++) {
    if (text[at] != first || text[at + needle_length - 1] != last) continue;
    uint32_t same = 1;
    while (same + 1 < needle_length && text[at + same] == needle[same]) same++;
    if (same + 1 >= needle_length) return at;
  }
  return kNotFound;
}

#else

template <int kWidth>
struct ByteVector {
  typedef uint8_t bytes __attribute__((ext_vector_type(kWidth)));
  typedef bool flags __attribute__((ext_vector_type(kWidth)));
  typedef unsigned _BitInt(kWidth) mask;

  /* Bit i: position i of the window starts with the needle's first byte and
   * its last byte is where it should be. */
  RT_INLINE uint32_t candidates(const char* window, uint32_t needle_length, uint8_t first, uint8_t last) {
    bytes starts, ends;
    __builtin_memcpy(&starts, window, kWidth);
    __builtin_memcpy(&ends, window + needle_length - 1, kWidth);
    flags both = __builtin_convertvector((starts == (bytes)first) & (ends == (bytes)last), flags);
    return (uint32_t)__builtin_bit_cast(mask, both);
  }

  /* How many of the window's bytes continue a character. */
  RT_INLINE uint32_t continuing(const char* window) {
    bytes all;
    __builtin_memcpy(&all, window, kWidth);
    flags set = __builtin_convertvector((all & (bytes)(uint8_t)0xc0) == (bytes)(uint8_t)0x80, flags);
    return (uint32_t)__builtin_popcount((uint32_t)__builtin_bit_cast(mask, set));
  }
};

RT_INLINE uint32_t confirm(uint32_t candidates, const char* window, const char* needle, uint32_t needle_length) {
  for (; candidates != 0; candidates &= candidates - 1) {
    uint32_t at = (uint32_t)__builtin_ctz(candidates);
    if (needle_length <= 2 || equal_bytes(window + at + 1, needle + 1, needle_length - 2)) return at;
  }
  return kNotFound;
}

/* Scans `positions` (at least kWidth) windows of start positions; the last
 * window overlaps the one before. */
template <int kWidth>
RT_INLINE uint32_t find_in_windows(const char* text, uint32_t positions, const char* needle, uint32_t needle_length) {
  uint8_t first = (uint8_t)needle[0], last = (uint8_t)needle[needle_length - 1];
  for (uint32_t at = 0;; at += kWidth) {
    if (at + kWidth > positions) at = positions - kWidth;
    uint32_t found = ByteVector<kWidth>::candidates(text + at, needle_length, first, last);
    if (found != 0) {
      found = confirm(found, text + at, needle, needle_length);
      if (found != kNotFound) return at + found;
    }
    if (at + kWidth >= positions) return kNotFound;
  }
}

/* First position of the needle from `from` on; its length is not 0. */
RT_INLINE uint32_t find_bytes(const char* text, uint32_t length, uint32_t from, const char* needle,
                              uint32_t needle_length) {
  if (length < needle_length || from > length - needle_length) return kNotFound;
  const char* start = text + from;
  uint32_t positions = length - needle_length + 1 - from;
  uint32_t found;
  if (positions >= 32) {
    found = find_in_windows<32>(start, positions, needle, needle_length);
  } else if (positions >= 16) {
    found = find_in_windows<16>(start, positions, needle, needle_length);
  } else if (positions >= 8) {
    found = find_in_windows<8>(start, positions, needle, needle_length);
  } else {
    found = kNotFound;
    for (uint32_t at = 0; at < positions; at++) {
      if (start[at] == needle[0] && equal_bytes(start + at, needle, needle_length)) {
        found = at;
        break;
      }
    }
  }
  return found == kNotFound ? kNotFound : from + found;
}

#endif

/* Characters of valid UTF-8: the bytes that do not continue one. */
RT_INLINE bool continues_character(char byte) { return ((uint8_t)byte & 0xc0) == 0x80; }

/* Of 8 bytes. */
RT_INLINE uint32_t count_continuing(uint64_t word) {
  /* Bit 7 set and bit 6 clear, moved to each byte's lowest bit. */
  uint64_t continuing = (word >> 7) & ~(word >> 6) & 0x0101010101010101ull;
  return (uint32_t)((continuing * 0x0101010101010101ull) >> 56);
}

RT_INLINE uint32_t count_characters(const char* bytes, uint32_t length) {
  uint32_t continuing = 0;
  uint32_t at = 0;
#if !defined(__NVPTX__)
  for (; length - at >= 32; at += 32) continuing += ByteVector<32>::continuing(bytes + at);
#endif
  for (; length - at >= 8; at += 8) continuing += count_continuing(load_u64(bytes + at));
  if (at < length) continuing += count_continuing(load_partial(bytes + at, length - at));
  return length - continuing;
}

/* Byte offset of the character after `count` of them, from `from` on; the
 * length where the text ends before. */
RT_INLINE uint32_t skip_characters(const char* bytes, uint32_t length, uint32_t from, uint32_t count) {
  uint32_t at = from;
  for (; count > 0 && at < length; count--) {
    at++;
    while (at < length && continues_character(bytes[at])) at++;
  }
  return at;
}

}  // namespace turbine::rt
