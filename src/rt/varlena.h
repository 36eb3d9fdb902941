/*
 * varlena.h - PostgreSQL's variable-length values as they lie in a tuple
 * (little-endian): the header forms, and where the bytes are.
 *
 *   xxxxxxx1            1-byte header: total size, itself included, in 7 bits
 *   00000001            toast pointer: tag byte, then a size that follows from it
 *   xxxxxx00 x3         4-byte header: total size in 30 bits
 *   xxxxxx10 x3         the same, compressed
 *
 * Used by the decoder's bodies only. Nothing here checks bounds: the size of a
 * value was checked by rt_decode_varlena_end before anything reads its bytes.
 */
#pragma once

#include "rt/rt.h"

namespace turbine::rt {

constexpr uint32_t kShortHeader = 1;
constexpr uint32_t kLongHeader = 4;
constexpr uint8_t kToastPointerByte = 0x01;
constexpr uint8_t kOnDiskTag = 18;
constexpr uint32_t kOnDiskToastPointer = 18;  // bytes, tag and header included

/* Fields may lie at any address. */
template <class T>
RT_INLINE T load_unaligned(const uint8_t* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof(T));
  return value;
}

RT_INLINE bool is_short(uint8_t first) { return first & 0x01; }
RT_INLINE bool is_compressed(uint8_t first) { return (first & 0x03) == 0x02; }

/* An inline, uncompressed value. */
struct Payload {
  const uint8_t* bytes;
  uint32_t length;
};

RT_INLINE Payload payload_of(const uint8_t* varlena) {
  if (is_short(*varlena)) return {varlena + kShortHeader, (*varlena >> 1) - kShortHeader};
  return {varlena + kLongHeader, (load_unaligned<uint32_t>(varlena) >> 2) - kLongHeader};
}

}  // namespace turbine::rt
