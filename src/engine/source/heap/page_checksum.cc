/*
 * page_checksum.cc - PostgreSQL's checksum of a heap page.
 *
 * The page is 64 rows of 32 words. Each of the 32 lanes is an FNV-1a variant
 * with an extra shift (hash = (hash ^ word) * prime ^ ((hash ^ word) >> 17))
 * and a start value of its own; after two more rounds with zero words the
 * lanes are xor'ed, the block number is xor'ed in, and the result is reduced
 * to 1 .. 65535. The lanes are independent, so that compilers vectorise the
 * loop.
 */
#include "engine/source/heap/page_checksum.h"

#include <cstring>

#include "rt/heap_page.h"
#include "turbine/types.h"

// Resolvers of clones run before a sanitizer has started.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TB_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define TB_VECTOR_CLONES
#endif

namespace turbine {
namespace {

constexpr uint32_t kLanes = 32;
constexpr uint32_t kRows = TB_PAGE_SIZE / sizeof(uint32_t) / kLanes;
constexpr uint32_t kPrime = 16777619;

/* Part of the format: where each lane starts. */
constexpr uint32_t kStart[kLanes] = {0x5B1F36E9, 0xB8525960, 0x02AB50AA, 0x1DE66D2A, 0x79FF467A, 0x9BB9F8A3, 0x217E7CD2,
                                     0x83E13D2C, 0xF8D4474F, 0xE39EB970, 0x42C6AE16, 0x993216FA, 0x7B093B5D, 0x98DAFF3C,
                                     0xF718902A, 0x0B1C9CDB, 0xE58F764B, 0x187636BC, 0x5D7B3BB1, 0xE73DE7DE, 0x92BEC979,
                                     0xCCA6C0B2, 0x304A0979, 0x85AA43D4, 0x783125BB, 0x6CA8EAA2, 0xE407EAC6, 0x4B5CFC3E,
                                     0x9FBF8C76, 0x15CA20BE, 0xF2CA9FD3, 0x959BD756};

inline uint32_t round(uint32_t hash, uint32_t word) {
  const uint32_t mixed = hash ^ word;
  return (mixed * kPrime) ^ (mixed >> 17);
}

TB_VECTOR_CLONES void add_rows(uint32_t* lanes, const uint8_t* page, uint32_t first_row) {
  for (uint32_t row = first_row; row < kRows; row++) {
    uint32_t words[kLanes];
    memcpy(words, page + row * sizeof words, sizeof words);
    for (uint32_t lane = 0; lane < kLanes; lane++) lanes[lane] = round(lanes[lane], words[lane]);
  }
}

}  // namespace

uint16_t page_checksum(const uint8_t* page, uint32_t block) {
  uint32_t lanes[kLanes];
  uint32_t words[kLanes];
  memcpy(lanes, kStart, sizeof lanes);

  // The first row holds the stored checksum, which counts as zero.
  memcpy(words, page, sizeof words);
  memset(reinterpret_cast<uint8_t*>(words) + kPageChecksumOffset, 0, sizeof(uint16_t));
  for (uint32_t lane = 0; lane < kLanes; lane++) lanes[lane] = round(lanes[lane], words[lane]);
  add_rows(lanes, page, 1);

  uint32_t hash = 0;
  for (uint32_t lane = 0; lane < kLanes; lane++) hash ^= round(round(lanes[lane], 0), 0);
  return static_cast<uint16_t>((hash ^ block) % 65535 + 1);
}

bool page_checksum_ok(const uint8_t* page, uint32_t block) {
  uint16_t upper, stored;
  memcpy(&upper, page + kPageUpperOffset, sizeof upper);
  memcpy(&stored, page + kPageChecksumOffset, sizeof stored);
  if (upper != 0) return page_checksum(page, block) == stored;
  // No upper bound of free space: a page that was never initialised, or damage.
  static const uint8_t zeros[TB_PAGE_SIZE] = {};
  return memcmp(page, zeros, TB_PAGE_SIZE) == 0;
}

}  // namespace turbine
