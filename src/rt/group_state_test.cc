/*
 * group_state_test.cc - the shared states of GPU kernels, as one thread sees
 * them; with a lane per thread there is no warp to fold, but every conversion
 * and every combination is the same code.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "turbine/kernel.h"
#include "turbine/state_text.h"

extern "C" {
void rt_state_add_i128(void* state, __int128 value);
void rt_state_add_f64(void* state, double value);
void rt_state_min_key(void* state, int64_t key, uint32_t type);
void rt_state_max_key(void* state, int64_t key, uint32_t type);
void rt_warp_mark(uint8_t* row, uint32_t marks, const uint32_t* places, uint32_t count);
void rt_block_put_f64(uint64_t* slot, void* state, double value);
void rt_block_put_u64(uint64_t* slot, void* state, uint64_t value);
void rt_block_put_i128(uint64_t* slot, void* state, __int128 value);
void rt_block_sum_f64(const uint64_t* slots, uint32_t count);
void rt_block_sum_u64(const uint64_t* slots, uint32_t count);
void rt_block_put_min(uint64_t* slot, void* state, int64_t key);
void rt_block_put_max(uint64_t* slot, void* state, int64_t key);
void rt_block_sum_i128(const uint64_t* slots, uint32_t count);
void rt_block_min_key(const uint64_t* slots, uint32_t count, uint32_t type);
void rt_block_max_key(const uint64_t* slots, uint32_t count, uint32_t type);
void rt_peers_sum_f64(void* state, uint8_t* valid, double value, bool pass, uint32_t peers);
void rt_peers_text_extreme(TbGroupTable* table, void* state, uint8_t* valid, const char* bytes, uint32_t length,
                           bool pass, bool want_min, uint32_t peers);
bool rt_key_eq_text_shared(const char* key, uint32_t key_length, const char* stored, uint32_t stored_length);
uint32_t rt_bucket_claim(uint32_t* bucket);
uint32_t rt_clock();
bool rt_stop_wanted(const uint32_t* stop, uint32_t started);
void rt_bucket_publish(uint32_t* bucket, uint32_t entry);
uint32_t rt_group_reserve(TbGroupTable* table, uint64_t text_bytes, uint64_t* arena_offset);
}

namespace {

/* As accumulators.cc makes keys of floats. */
template <class Float, class Int>
int64_t float_key(Float v) {
  Int bits;
  if (v != v) v = std::numeric_limits<Float>::quiet_NaN();
  std::memcpy(&bits, &v, sizeof v);
  return bits < 0 ? bits ^ std::numeric_limits<Int>::max() : bits;
}

/* Min and max over `values`, from the identities that fresh rows hold. */
template <class T, class Key>
void check_extremes(const std::vector<T>& values, T least, T most, uint32_t type, bool is_float, Key key) {
  alignas(8) uint8_t low[16], high[16];
  std::memset(low, 0xff, sizeof low);
  low[sizeof(T) - 1] = 0x7f;
  std::memset(high, is_float ? 0xff : 0, sizeof high);
  if (!is_float) high[sizeof(T) - 1] = 0x80;
  for (T v : values) {
    rt_state_min_key(low, key(v), type);
    rt_state_max_key(high, key(v), type);
  }
  EXPECT_EQ(std::memcmp(low, &least, sizeof(T)), 0) << "min of type " << type;
  EXPECT_EQ(std::memcmp(high, &most, sizeof(T)), 0) << "max of type " << type;
}

TEST(GroupState, ExtremesOfEveryWidth) {
  auto same = [](auto v) { return static_cast<int64_t>(v); };
  check_extremes<int16_t>({5, -7, 32767, -32768, 0}, -32768, 32767, TB_TYPE_INT2, false, same);
  check_extremes<int16_t>({-3, -9}, -9, -3, TB_TYPE_INT2, false, same);
  check_extremes<int32_t>({5, -7, 100}, -7, 100, TB_TYPE_INT4, false, same);
  check_extremes<int64_t>({5, -7, INT64_MAX}, -7, INT64_MAX, TB_TYPE_INT8, false, same);
  auto key4 = [](float v) { return float_key<float, int32_t>(v); };
  auto key8 = [](double v) { return float_key<double, int64_t>(v); };
  check_extremes<float>({230.0f, -250.0f, 0.5f}, -250.0f, 230.0f, TB_TYPE_FLOAT4, true, key4);
  check_extremes<float>({-1.0f, -2.0f}, -2.0f, -1.0f, TB_TYPE_FLOAT4, true, key4);
  check_extremes<double>({230.0, -250.0, -INFINITY}, -INFINITY, 230.0, TB_TYPE_FLOAT8, true, key8);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  check_extremes<double>({1.0, nan, INFINITY}, 1.0, nan, TB_TYPE_FLOAT8, true, key8);
}

TEST(GroupState, WideSumsCarry) {
  alignas(16) uint64_t state[2] = {0, 0};
  __int128 expected = 0;
  for (__int128 v : {(__int128)UINT64_MAX, (__int128)1, (__int128)-5, (__int128)1 << 100, -((__int128)1 << 90)}) {
    rt_state_add_i128(state, v);
    expected += v;
  }
  __int128 sum;
  std::memcpy(&sum, state, sizeof sum);
  EXPECT_TRUE(sum == expected);
}

TEST(GroupState, FloatSumsKeepTheSignOfZero) {
  double states[2] = {-0.0, -0.0};
  uint64_t slots[2 * TB_BLOCK_SLOT_WORDS];
  auto add = [&](double first, double second) {
    rt_block_put_f64(slots, &states[1], first);
    rt_block_put_f64(slots + TB_BLOCK_SLOT_WORDS, &states[0], second);
    rt_block_sum_f64(slots, 2);
  };
  add(-0.0, 7);
  EXPECT_TRUE(std::signbit(states[1]));
  EXPECT_EQ(states[0], 7);
  add(1.5, -0.0);
  rt_state_add_f64(&states[1], 2.25);
  EXPECT_EQ(states[1], 3.75);
  EXPECT_EQ(states[0], 7);
}

TEST(GroupState, SumsOfBlocksAreAdded) {
  uint64_t count = 5;
  alignas(16) uint64_t wide[2] = {UINT64_MAX, 0};
  uint64_t slots[2 * TB_BLOCK_SLOT_WORDS];
  rt_block_put_u64(slots, &count, 37);
  rt_block_put_i128(slots + TB_BLOCK_SLOT_WORDS, wide, (__int128)1 << 70 | 1);
  rt_block_sum_u64(slots, 1);
  rt_block_sum_i128(slots + TB_BLOCK_SLOT_WORDS, 1);
  EXPECT_EQ(count, 42u);
  EXPECT_EQ(wide[0], 0u);
  EXPECT_EQ(wide[1], 65u);
}

TEST(GroupState, ExtremesOfBlocksReplaceWorseStates) {
  int32_t least[2] = {5, -5};
  double largest = 2;
  uint64_t slots[2 * TB_BLOCK_SLOT_WORDS];
  rt_block_put_min(slots, &least[0], -3);
  rt_block_put_min(slots + TB_BLOCK_SLOT_WORDS, &least[1], -3);
  rt_block_min_key(slots, 2, TB_TYPE_INT4);
  EXPECT_EQ(least[0], -3);
  EXPECT_EQ(least[1], -5);
  rt_block_put_max(slots, &largest, static_cast<int64_t>(0x4008000000000000));  // 3.0
  rt_block_max_key(slots, 1, TB_TYPE_FLOAT8);
  EXPECT_EQ(largest, 3);
}

TEST(GroupState, MarksAreThoseOfTheirBits) {
  uint8_t row[6] = {};
  const uint32_t places[] = {0, 1, 31, 3, 4, 4, 31, 5};
  rt_warp_mark(row, 1u << 31, places, 4);
  EXPECT_EQ(std::vector<uint8_t>(row, row + 6), (std::vector<uint8_t>{0, 0, 0, 1, 0, 1}));
  rt_warp_mark(row, 1u, places, 4);
  EXPECT_EQ(std::vector<uint8_t>(row, row + 6), (std::vector<uint8_t>{0, 1, 0, 1, 0, 1}));
}

/* As where an aggregate's FILTER drops every row of the group. */
TEST(GroupState, FloatSumsOfPeersThatDoNotPassStayNull) {
  double state = -0.0;
  uint8_t valid = 0;
  rt_peers_sum_f64(&state, &valid, -0.0, false, 1);
  EXPECT_EQ(valid, 0);
  rt_peers_sum_f64(&state, &valid, INFINITY, true, 1);
  EXPECT_EQ(valid, 1);
  EXPECT_EQ(state, INFINITY);
}

/* A state word and the arena that it names, as the threads of a kernel share them. */
struct TextState {
  alignas(8) uint8_t arena[4096];
  TbGroupTable table{};
  uint64_t word = TB_STATE_TEXT_NONE;
  uint8_t valid = 0;

  explicit TextState(uint64_t capacity = sizeof arena) {
    std::memset(arena, 0x5a, sizeof arena);
    table.arena = arena;
    table.arena_capacity = capacity;
  }
  void add(const std::string& text, bool want_min, bool pass = true) {
    rt_peers_text_extreme(&table, &word, &valid, text.data(), static_cast<uint32_t>(text.size()), pass, want_min, 1);
  }
  std::string text() const {
    return {reinterpret_cast<const char*>(arena) + tb_state_text_offset(word), tb_state_text_length(word)};
  }
};

TEST(GroupState, TextExtremesAreThoseOfBytes) {
  std::vector<std::string> texts = {"m",   "",    "abcdefgh", "abcdefghi", "abcdefgh\xff",
                                    "abc", "abd", "zz",       "\xff\x01",  "\xff"};
  std::mt19937 random(3);
  for (int round = 0; round < 50; round++) {
    std::shuffle(texts.begin(), texts.end(), random);
    TextState least, most;
    EXPECT_EQ(least.valid, 0);
    for (size_t i = 0; i < texts.size(); i++) {
      least.add(texts[i], true);
      most.add(texts[i], false);
      const auto unsigned_order = [](const std::string& a, const std::string& b) { return a.compare(b) < 0; };
      EXPECT_EQ(least.text(), *std::min_element(texts.begin(), texts.begin() + i + 1, unsigned_order));
      EXPECT_EQ(most.text(), *std::max_element(texts.begin(), texts.begin() + i + 1, unsigned_order));
    }
    EXPECT_EQ(least.valid, 1);
    EXPECT_EQ(least.table.arena_used % 8, 0u);
  }
}

TEST(GroupState, TextExtremesOfRowsThatDoNotPassAreNone) {
  TextState state;
  state.add("abc", true, false);
  EXPECT_EQ(state.valid, 0);
  EXPECT_EQ(state.word, TB_STATE_TEXT_NONE);
  EXPECT_EQ(state.table.arena_used, 0u);
}

/* The state stays as it was, and the row combines once there is room. */
TEST(GroupState, TextExtremesWithoutRoomComeAgain) {
  TextState state(24);
  state.add("middle", true);
  state.add("longer than the arena has room for", false);
  EXPECT_EQ(state.table.full, 0u) << "it is less";
  state.add("a longer text than there is room for", true);
  EXPECT_EQ(state.table.full, 1u);
  EXPECT_EQ(state.text(), "middle");
  const uint64_t used = state.table.arena_used;
  state.add("a", true);
  EXPECT_EQ(state.table.arena_used, used) << "a full table takes nothing in";
  state.table.full = 0;
  state.table.arena_capacity = sizeof state.arena;
  state.add("a longer text than there is room for", true);
  EXPECT_EQ(state.text(), "a longer text than there is room for");
}

/* As threads of different warps do. */
TEST(GroupState, TextExtremesOfManyThreads) {
  for (bool want_min : {true, false}) {
    std::vector<uint64_t> arena(1 << 20);
    TbGroupTable table{};
    table.arena = reinterpret_cast<uint8_t*>(arena.data());
    table.arena_capacity = arena.size() * sizeof(uint64_t);
    uint64_t word = TB_STATE_TEXT_NONE;
    uint8_t valid = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
      threads.emplace_back([&, t] {
        std::mt19937 random(t);
        for (int i = 0; i < 20000; i++) {
          const std::string text = std::to_string(100000 + random() % 800000) + " and more";
          rt_peers_text_extreme(&table, &word, &valid, text.data(), static_cast<uint32_t>(text.size()), true, want_min,
                                1);
        }
        const std::string last = want_min ? "1000" + std::to_string(t) : "9999" + std::to_string(t);
        rt_peers_text_extreme(&table, &word, &valid, last.data(), static_cast<uint32_t>(last.size()), true, want_min,
                              1);
      });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(table.full, 0u);
    EXPECT_EQ(
        std::string(reinterpret_cast<char*>(table.arena) + tb_state_text_offset(word), tb_state_text_length(word)),
        want_min ? "10000" : "99993");
  }
}

TEST(GroupState, SharedTextsCompareWithoutTheirPadding) {
  for (uint32_t length = 0; length <= 33; length++) {
    std::vector<char> key(length);
    for (uint32_t i = 0; i < length; i++) key[i] = static_cast<char>(i * 37);
    alignas(8) char stored[48];
    std::memset(stored, 0x5a, sizeof stored);
    if (length) std::memcpy(stored, key.data(), length);
    EXPECT_TRUE(rt_key_eq_text_shared(key.data(), length, stored, length));
    EXPECT_FALSE(rt_key_eq_text_shared(key.data(), length, stored, length + 1));
    for (uint32_t i = 0; i < length; i++) {
      stored[i] ^= 1;
      EXPECT_FALSE(rt_key_eq_text_shared(key.data(), length, stored, length)) << length << " " << i;
      stored[i] ^= 1;
    }
  }
}

TEST(GroupState, BucketsAreClaimedOnceAndTablesFillUp) {
  uint32_t bucket = 0;
  EXPECT_EQ(rt_bucket_claim(&bucket), 0u);
  EXPECT_EQ(rt_bucket_claim(&bucket), TB_BUCKET_BUSY);
  rt_bucket_publish(&bucket, 7);
  EXPECT_EQ(rt_bucket_claim(&bucket), 7u);

  TbGroupTable table{};
  table.group_capacity = 2;
  table.arena_capacity = 20;
  uint64_t at = 99;
  EXPECT_EQ(rt_group_reserve(&table, 16, &at), 0u);
  EXPECT_EQ(at, 0u);
  EXPECT_EQ(table.full, 0u);
  EXPECT_EQ(rt_group_reserve(&table, 8, &at), TB_NONE);
  EXPECT_EQ(table.full, 1u);
  EXPECT_EQ(rt_group_reserve(&table, 0, &at), TB_NONE) << "until it has grown";
  EXPECT_EQ(table.ngroups, 1u);
  table.full = 0;
  EXPECT_EQ(rt_group_reserve(&table, 0, &at), 1u);
  EXPECT_EQ(rt_group_reserve(&table, 0, &at), TB_NONE);
  EXPECT_EQ(table.full, 1u);
}

TEST(GroupState, AStopIsSeenAndNobodyMayBeThereToAskForIt) {
  uint32_t stop = 0;
  EXPECT_FALSE(rt_stop_wanted(nullptr, rt_clock()));
  EXPECT_FALSE(rt_stop_wanted(&stop, rt_clock()));
  stop = 1;
  EXPECT_TRUE(rt_stop_wanted(&stop, rt_clock()));
}

}  // namespace
