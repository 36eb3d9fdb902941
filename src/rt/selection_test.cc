/* Selection vectors of every length around the step, keys and their hashes. */
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <vector>

extern "C" {
uint32_t rt_mask_to_selection(const uint8_t*, uint32_t, uint32_t*);
uint32_t rt_mask_to_selection_from(const uint8_t*, const uint32_t*, uint32_t, uint32_t*);
uint64_t rt_hash_bool(bool);
uint64_t rt_hash_int2(int16_t);
uint64_t rt_hash_int4(int32_t);
uint64_t rt_hash_int8(int64_t);
uint64_t rt_hash_float4(float);
uint64_t rt_hash_float8(double);
uint64_t rt_hash_num128(__int128);
uint64_t rt_hash_combine(uint64_t, uint64_t);
bool rt_key_eq_float4(float, float);
bool rt_key_eq_float8(double, double);
bool rt_key_eq_num128(__int128, __int128);
}

namespace {

TEST(SelectionTest, EveryLengthAndDensity) {
  std::mt19937_64 random(1);
  for (uint32_t n = 0; n < 300; n++)
    for (int density : {0, 1, 4, 7, 8}) {
      /* Exact sizes: ASAN sees what leaves them. Any non-zero byte selects. */
      std::vector<uint8_t> mask(n);
      for (uint8_t& byte : mask) byte = (int)(random() % 8) < density ? (uint8_t)(1 + random() % 255) : 0;
      std::vector<uint32_t> expected;
      for (uint32_t i = 0; i < n; i++)
        if (mask[i] != 0) expected.push_back(i);
      std::vector<uint32_t> selection(n);
      uint32_t count = rt_mask_to_selection(mask.data(), n, selection.data());
      selection.resize(count);
      ASSERT_EQ(selection, expected);

      std::vector<uint32_t> rows(n), filtered;
      for (uint32_t i = 0; i < n; i++) rows[i] = i * 3 + 5;
      for (uint32_t i : expected) filtered.push_back(rows[i]);
      uint32_t in_place = rt_mask_to_selection_from(mask.data(), rows.data(), n, rows.data());
      rows.resize(in_place);
      ASSERT_EQ(rows, filtered);
    }
}

TEST(KeyTest, FloatsThatAreOneGroup) {
  double nan = std::nan(""), other_nan = -std::numeric_limits<double>::signaling_NaN();
  EXPECT_TRUE(rt_key_eq_float8(nan, other_nan));
  EXPECT_EQ(rt_hash_float8(nan), rt_hash_float8(other_nan));
  EXPECT_TRUE(rt_key_eq_float8(0.0, -0.0));
  EXPECT_EQ(rt_hash_float8(0.0), rt_hash_float8(-0.0));
  EXPECT_FALSE(rt_key_eq_float8(nan, 1));
  EXPECT_TRUE(rt_key_eq_float4(NAN, -NAN));
  EXPECT_EQ(rt_hash_float4(NAN), rt_hash_float4(-NAN));
  EXPECT_EQ(rt_hash_float4(0.0f), rt_hash_float4(-0.0f));
  EXPECT_FALSE(rt_key_eq_float4(1, 2));
  EXPECT_FALSE(rt_key_eq_num128((__int128)1 << 64, 1));
}

/* No two of many close keys collide, and each table bit is set by half. */
template <typename Hash>
void check_spread(Hash hash) {
  constexpr int count = 1 << 16;
  std::set<uint64_t> seen;
  int ones[64] = {};
  for (int i = 0; i < count; i++) {
    uint64_t h = hash(i);
    seen.insert(h);
    for (int bit = 0; bit < 64; bit++) ones[bit] += h >> bit & 1;
  }
  EXPECT_EQ(seen.size(), (size_t)count);
  for (int bit = 0; bit < 64; bit++) EXPECT_NEAR(ones[bit], count / 2, count / 40) << bit;
}

TEST(KeyTest, HashesSpread) {
  check_spread([](int i) { return rt_hash_int2((int16_t)i); });
  check_spread([](int i) { return rt_hash_int4(i); });
  check_spread([](int i) { return rt_hash_int8((int64_t)i << 32); });
  check_spread([](int i) { return rt_hash_float8(i); });
  check_spread([](int i) { return rt_hash_float4((float)i); });
  check_spread([](int i) { return rt_hash_num128((__int128)i << 64); });
  check_spread([](int i) { return rt_hash_combine(rt_hash_int4(i % 256), rt_hash_int4(i / 256)); });
  EXPECT_NE(rt_hash_bool(false), rt_hash_bool(true));
  EXPECT_NE(rt_hash_combine(1, 2), rt_hash_combine(2, 1));
}

}  // namespace
