/*
 * bit_unpacking.cc - see bit_unpacking.h.
 *
 * Owns nothing. Eight numbers are as many bytes as one has bits, so that eight at a time begin with a byte. Must never
 * read beyond the bytes: what a wide load would read too much of is left to narrow ones.
 */
#include "engine/source/files/arrow/parquet/bit_unpacking.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace turbine {
namespace {

uint64_t mask_of(uint32_t width) { return (uint64_t{1} << width) - 1; }

/* Near the end of the bytes. */
uint32_t unpack_one(const uint8_t* bytes, uint64_t size, uint64_t place, uint32_t width) {
  const uint64_t bit = place * width;
  uint64_t word = 0;
  memcpy(&word, bytes + bit / 8, std::min<uint64_t>(sizeof word, size - bit / 8));
  return static_cast<uint32_t>(word >> bit % 8 & mask_of(width));
}

/* Eight numbers that begin with a byte; 8 bytes can be read from where each begins. */
void unpack_eight(const uint8_t* bytes, uint32_t width, uint32_t* numbers) {
  const uint64_t mask = mask_of(width);
  for (uint32_t i = 0, bit = 0; i < 8; i++, bit += width) {
    uint64_t word;
    memcpy(&word, bytes + bit / 8, sizeof word);
    numbers[i] = static_cast<uint32_t>(word >> bit % 8 & mask);
  }
}

#if defined(__x86_64__)

/* With 7 bits before it, a number fits 4 bytes. */
constexpr uint32_t kMostVectorBits = 25;

/* Where the 4 bytes of each of eight numbers are: the first four from the first byte on, the others from byte
 * width / 2, and the bits before each. */
struct Shuffle {
  alignas(32) std::array<uint8_t, 32> bytes;
  alignas(32) std::array<uint32_t, 8> bits_before;
};

constexpr std::array<Shuffle, kMostVectorBits + 1> make_shuffles() {
  std::array<Shuffle, kMostVectorBits + 1> shuffles{};
  for (uint32_t width = 1; width <= kMostVectorBits; width++) {
    for (uint32_t i = 0; i < 8; i++) {
      const uint32_t bit = i * width - (i < 4 ? 0 : width / 2 * 8);
      for (uint32_t byte = 0; byte < 4; byte++)
        shuffles[width].bytes[i * 4 + byte] = static_cast<uint8_t>(bit / 8 + byte);
      shuffles[width].bits_before[i] = bit % 8;
    }
  }
  return shuffles;
}

constexpr std::array<Shuffle, kMostVectorBits + 1> kShuffles = make_shuffles();

/* As many eights as can be read by vectors; returns how many that were. */
__attribute__((target("avx2"))) uint64_t unpack_eights(const uint8_t* bytes, uint64_t size, uint64_t eights,
                                                       uint32_t width, uint32_t* numbers) {
  const uint64_t reach = width / 2 + sizeof(__m128i);
  if (size < reach) return 0;
  eights = std::min(eights, (size - reach) / width + 1);
  const Shuffle& shuffle = kShuffles[width];
  const __m256i places = _mm256_load_si256(reinterpret_cast<const __m256i*>(shuffle.bytes.data()));
  const __m256i bits_before = _mm256_load_si256(reinterpret_cast<const __m256i*>(shuffle.bits_before.data()));
  const __m256i mask = _mm256_set1_epi32(static_cast<int>(mask_of(width)));
  for (uint64_t i = 0; i < eights; i++, bytes += width, numbers += 8) {
    const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + width / 2));
    const __m256i words = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), places);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(numbers),
                        _mm256_and_si256(_mm256_srlv_epi32(words, bits_before), mask));
  }
  return eights;
}

bool has_vectors() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}

#endif

/* By the bits of a byte: bytes of 0 or 1. */
constexpr std::array<uint64_t, 256> make_flags() {
  std::array<uint64_t, 256> flags{};
  for (uint32_t byte = 0; byte < 256; byte++)
    for (uint32_t bit = 0; bit < 8; bit++) flags[byte] |= uint64_t{byte >> bit & 1} << 8 * bit;
  return flags;
}

constexpr std::array<uint64_t, 256> kFlags = make_flags();

}  // namespace

void unpack_bits(const uint8_t* bytes, uint64_t size, uint64_t first, uint32_t count, uint32_t width,
                 uint32_t* numbers) {
  uint64_t place = first;
  const uint64_t end = first + count;
  for (; place < end && place % 8 != 0; place++) *numbers++ = unpack_one(bytes, size, place, width);
#if defined(__x86_64__)
  if (width <= kMostVectorBits && end - place >= 8 && has_vectors()) {
    const uint64_t from = place / 8 * width;
    const uint64_t eights = unpack_eights(bytes + from, size - from, (end - place) / 8, width, numbers);
    place += eights * 8;
    numbers += eights * 8;
  }
#endif
  for (; end - place >= 8 && place / 8 * width + width + sizeof(uint64_t) <= size; place += 8, numbers += 8)
    unpack_eight(bytes + place / 8 * width, width, numbers);
  for (; place < end; place++) *numbers++ = unpack_one(bytes, size, place, width);
}

uint32_t unpack_flags(const uint8_t* bytes, uint64_t first, uint32_t count, uint8_t* flags) {
  uint32_t ones = 0;
  uint64_t place = first;
  const uint64_t end = first + count;
  const auto one = [&] {
    *flags = bytes[place / 8] >> place % 8 & 1;
    ones += *flags++;
    place++;
  };
  while (place < end && place % 8 != 0) one();
  for (; end - place >= 8; place += 8, flags += 8) {
    const uint8_t byte = bytes[place / 8];
    memcpy(flags, &kFlags[byte], 8);
    ones += static_cast<uint32_t>(std::popcount(byte));
  }
  while (place < end) one();
  return ones;
}

}  // namespace turbine
