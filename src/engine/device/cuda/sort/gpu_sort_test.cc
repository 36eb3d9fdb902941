/*
 * gpu_sort_test.cc - the sort's kernels on a real GPU: the order of many tiles, by many blocks at once, is
 * that of a stable sort. Skipped where there is no GPU.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>

#include "engine/device/cuda/sort/device_key_sort.h"
#include "engine/device/cuda/sort/sort_tuning.h"
#include "engine/device/cuda/testing/real_gpu.h"

namespace turbine::cuda::testing {
namespace {

using Word = uint32_t (*)(std::mt19937&, uint64_t row);

struct Values {
  const char* name;
  Word word;
};

constexpr Values kValues[] = {
    {"random", [](std::mt19937& random, uint64_t) { return static_cast<uint32_t>(random()); }},
    {"few", [](std::mt19937& random, uint64_t) { return static_cast<uint32_t>(random() % 7) << 20; }},
    {"one in a thousand", [](std::mt19937& random, uint64_t) { return random() % 1000 ? ~0u : 3u; }},
    {"ascending", [](std::mt19937&, uint64_t row) { return static_cast<uint32_t>(row) * 5; }},
    {"descending", [](std::mt19937&, uint64_t row) { return ~static_cast<uint32_t>(row) * 5; }},
    {"equal", [](std::mt19937&, uint64_t) { return 42u; }},
};

class GpuSortTest : public RealGpuTest {
 protected:
  GpuSortTest() : pool_("sort", 4), work_(pool_, {}) {}

  void SetUp() override {
    RealGpuTest::SetUp();
    if (!context_) return;
    code_ = std::make_unique<RadixCode>(context_, kSortRegisters);
    sort_ = std::make_unique<DeviceKeySort>(*context_, *code_, context_->driver(), account_);
  }

  /* Sorts rows of so many words; `keys` word by word. */
  void expect_sorted(uint64_t count, unsigned words, const Values& values) {
    SCOPED_TRACE(std::string(values.name) + ", " + std::to_string(count) + " rows, " + std::to_string(words) +
                 " words");
    std::mt19937 random(static_cast<unsigned>(count));
    std::vector<std::vector<uint32_t>> keys(words, std::vector<uint32_t>(count));
    for (auto& column : keys)
      for (uint64_t i = 0; i < count; i++) column[i] = values.word(random, i);
    std::vector<uint8_t> key_of_bit(words * 32);
    std::iota(key_of_bit.begin(), key_of_bit.end(), uint8_t{0});
    std::vector<uint32_t> rows(count, ~0u);
    std::vector<uint8_t> agree(count, 0xee);
    KeySortInput input{count, words, [&](uint64_t first, uint64_t n, uint32_t* const* to) {
                         for (unsigned w = 0; w < words; w++)
                           std::copy_n(keys[w].begin() + static_cast<std::ptrdiff_t>(first), n, to[w]);
                       }};
    input.key_of_bit = key_of_bit;
    input.nkeys = words * 32;
    sort_->sort(
        input,
        [&](uint64_t first, uint64_t n, const uint32_t* found, const uint8_t* agreeing) {
          std::copy_n(found, n, rows.begin() + static_cast<std::ptrdiff_t>(first));
          std::copy_n(agreeing, n, agree.begin() + static_cast<std::ptrdiff_t>(first));
        },
        work_);
    // Each row once, since equal ones must ascend; and in order.
    for (uint64_t i = 0; i < count; i++) ASSERT_LT(rows[i], count) << "place " << i;
    ASSERT_EQ(agree[0], 0);
    for (uint64_t i = 1; i < count; i++) {
      unsigned bit = 0;
      for (; bit < words * 32; bit++) {
        const uint32_t a = keys[bit / 32][rows[i - 1]], b = keys[bit / 32][rows[i]];
        if (a == b) {
          bit |= 31;
          continue;
        }
        ASSERT_LT(a, b) << "place " << i;
        bit = bit / 32 * 32 + static_cast<unsigned>(std::countl_zero(a ^ b));
        break;
      }
      ASSERT_EQ(agree[i], bit) << "place " << i;
      ASSERT_TRUE(bit < words * 32 || rows[i - 1] < rows[i]) << "place " << i;
    }
  }

  WorkerPool pool_;
  ParallelWork work_;
  std::unique_ptr<RadixCode> code_;
  std::unique_ptr<DeviceKeySort> sort_;
};

TEST_F(GpuSortTest, EverySize) {
  for (const uint64_t count : {1u, 33u, 4095u, 4096u, 4097u, 100'000u, 1'000'000u})
    for (const Values& values : kValues) expect_sorted(count, 2, values);
}

TEST_F(GpuSortTest, EveryWidth) {
  for (unsigned words = 1; words <= kMostSortWords; words++)
    for (const Values& values : kValues) expect_sorted(300'000, words, values);
}

TEST_F(GpuSortTest, ManyRows) {
  for (const Values& values : kValues) expect_sorted(20'000'000, 2, values);
}

/* Blocks come in another order each time. */
TEST_F(GpuSortTest, AgainAndAgain) {
  for (int round = 0; round < 100; round++) expect_sorted(500'000, 1, kValues[round % std::size(kValues)]);
}

TEST_F(GpuSortTest, MemoryThatIsNotThere) {
  MemoryAccount little(1 << 20);
  DeviceKeySort sort(*context_, *code_, context_->driver(), little);
  const KeySortInput input{1'000'000, 2, [](uint64_t, uint64_t, uint32_t* const*) { FAIL() << "packed"; }};
  try {
    sort.sort(input, [](uint64_t, uint64_t, const uint32_t*, const uint8_t*) {}, work_);
    FAIL() << "sorted";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.reason, TB_FALLBACK_DEVICE_MEMORY);
  }
}

}  // namespace
}  // namespace turbine::cuda::testing
