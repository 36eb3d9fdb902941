/*
 * md5.cc - one block of MD5, as RFC 1321 describes it.
 *
 * Called by points.cc for each row, so it allocates nothing. It knows nothing of
 * tables, and must never meet a text of more than one block.
 */
#include "md5.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>

namespace turbine::datagen {
namespace {

constexpr int kShift[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

/* floor(2^32 * |sin(i + 1)|), as the RFC defines the constants. */
std::array<uint32_t, 64> sine_table() {
  std::array<uint32_t, 64> table;
  for (int i = 0; i < 64; i++)
    table[i] = static_cast<uint32_t>(std::floor(std::ldexp(std::fabs(std::sin(i + 1.0)), 32)));
  return table;
}

/* The round function and the word it takes, for step i. */
template <int kRound>
uint32_t round_function(uint32_t b, uint32_t c, uint32_t d) {
  if constexpr (kRound == 0) return d ^ (b & (c ^ d));
  if constexpr (kRound == 1) return c ^ (d & (b ^ c));
  if constexpr (kRound == 2) return b ^ c ^ d;
  return c ^ (b | ~d);
}

template <int kRound>
void run_round(uint32_t state[4], const uint32_t words[16], const std::array<uint32_t, 64>& sines) {
  constexpr int kFactor[4] = {1, 5, 3, 7}, kOffset[4] = {0, 1, 5, 0};
  auto [a, b, c, d] = std::tuple{state[0], state[1], state[2], state[3]};
  for (int i = 0; i < 16; i++) {
    uint32_t sum = a + round_function<kRound>(b, c, d) + words[(i * kFactor[kRound] + kOffset[kRound]) & 15] +
                   sines[kRound * 16 + i];
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kShift[kRound][i & 3]);
  }
  state[0] = a, state[1] = b, state[2] = c, state[3] = d;
}

}  // namespace

void md5_hex(std::string_view text, char hex[32]) {
  static const std::array<uint32_t, 64> sines = sine_table();
  static constexpr uint32_t kInitial[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  uint32_t words[16] = {};
  std::memcpy(words, text.data(), text.size());
  reinterpret_cast<uint8_t*>(words)[text.size()] = 0x80;
  words[14] = static_cast<uint32_t>(text.size()) * 8;

  uint32_t state[4] = {kInitial[0], kInitial[1], kInitial[2], kInitial[3]};
  run_round<0>(state, words, sines);
  run_round<1>(state, words, sines);
  run_round<2>(state, words, sines);
  run_round<3>(state, words, sines);

  for (int i = 0; i < 16; i++) {
    uint8_t byte = static_cast<uint8_t>((state[i / 4] + kInitial[i / 4]) >> (8 * (i % 4)));
    hex[2 * i] = "0123456789abcdef"[byte >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[byte & 15];
  }
}

}  // namespace turbine::datagen
