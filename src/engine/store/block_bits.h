/*
 * block_bits.h - sets of a file's blocks: a bit a block, eight a byte, as messages have them; and of one segment's
 * blocks as a mask.
 */
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "engine/store/segment.h"

namespace turbine {

/* Bytes for so many blocks. */
inline size_t block_bits_size(uint32_t nblocks) { return (size_t{nblocks} + 7) / 8; }

inline bool has_bit(std::span<const uint8_t> bits, uint32_t block) {
  return block / 8 < bits.size() && (bits[block / 8] >> block % 8 & 1) != 0;
}
inline void set_bit(std::span<uint8_t> bits, uint32_t block) {
  bits[block / 8] |= static_cast<uint8_t>(1u << block % 8);
}
inline void clear_bit(std::span<uint8_t> bits, uint32_t block) {
  bits[block / 8] &= static_cast<uint8_t>(~(1u << block % 8));
}
inline uint64_t count_bits(std::span<const uint8_t> bits) {
  uint64_t count = 0;
  for (const uint8_t byte : bits) count += static_cast<uint64_t>(std::popcount(byte));
  return count;
}

/* Segments begin with a byte. */
static_assert(TB_BLOCKS_PER_MAP_PAGE % 8 == 0 && TB_SEGMENT_BLOCKS % 8 == 0);

/* Of a segment's blocks, those whose bits are set among the first `nblocks` of a file. Null: none is. */
inline BlockMask bits_of(const uint8_t* bits, uint32_t nblocks, uint32_t first_block) {
  if (!bits || first_block >= nblocks) return 0;
  const uint32_t count = std::min(nblocks - first_block, segment_blocks(segment_number(first_block)));
  BlockMask mask = 0;
  memcpy(&mask, bits + first_block / 8, (count + 7) / 8);
  return count < TB_SEGMENT_BLOCKS ? mask & ((BlockMask{1} << count) - 1) : mask;
}

inline void set_bits(const TakenSegment& taken, std::span<uint8_t> bits) {
  size_t byte = taken.segment->first_block / 8;
  for (BlockMask blocks = taken.blocks; blocks != 0; blocks >>= 8) bits[byte++] |= static_cast<uint8_t>(blocks);
}

/* All of a segment, as far as the file has it. */
inline void clear_segment_bits(std::span<uint8_t> bits, uint32_t number) {
  const size_t first = std::min<size_t>(segment_first_block(number) / 8, bits.size());
  const size_t end = std::min<size_t>(first + segment_blocks(number) / 8, bits.size());
  std::fill(bits.begin() + static_cast<ptrdiff_t>(first), bits.begin() + static_cast<ptrdiff_t>(end), uint8_t{0});
}

}  // namespace turbine
