/*
 * device_key_sort_test.cc - the GPU's sort, with its own kernels on a fake driver: its order is
 * that of a stable sort, whatever keys are and whichever driver call fails.
 */
#include "engine/device/cuda/sort/device_key_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <random>

#include "engine/device/cuda/sort/radix_kernels.h"
#include "engine/device/cuda/sort/sort_tuning.h"
#include "engine/device/cuda/testing/fake_driver.h"
#include "engine/device/cuda/testing/radix_on_host.h"

namespace turbine::cuda::testing {
namespace {

using Key = std::array<uint32_t, kMostSortWords>;

constexpr uint64_t kEnough = uint64_t{1} << 30;

struct Sorted {
  std::vector<uint32_t> rows;
  std::vector<uint8_t> agree;
};

/* Keys of so many words, and what bit belongs to which of three keys. */
struct Keys {
  unsigned words;
  std::vector<Key> keys;
  std::vector<uint8_t> key_of_bit;

  explicit Keys(unsigned words, uint64_t count = 0) : words(words), keys(count) {
    for (unsigned bit = 0; bit < words * 32; bit++) key_of_bit.push_back(static_cast<uint8_t>(bit * 3 / (words * 32)));
  }
};

int compare(const Keys& keys, uint32_t a, uint32_t b) {
  for (unsigned w = 0; w < keys.words; w++)
    if (keys.keys[a][w] != keys.keys[b][w]) return keys.keys[a][w] < keys.keys[b][w] ? -1 : 1;
  return 0;
}

Sorted expected(const Keys& keys) {
  Sorted sorted;
  sorted.rows.resize(keys.keys.size());
  std::iota(sorted.rows.begin(), sorted.rows.end(), 0u);
  std::stable_sort(sorted.rows.begin(), sorted.rows.end(),
                   [&](uint32_t a, uint32_t b) { return compare(keys, a, b) < 0; });
  for (size_t i = 0; i < sorted.rows.size(); i++) {
    uint8_t agree = i ? 3 : 0;
    for (unsigned w = 0; w < keys.words && i > 0 && agree == 3; w++)
      if (const uint32_t differ = keys.keys[sorted.rows[i]][w] ^ keys.keys[sorted.rows[i - 1]][w]; differ != 0)
        agree = keys.key_of_bit[w * 32 + static_cast<unsigned>(std::countl_zero(differ))];
    sorted.agree.push_back(agree);
  }
  return sorted;
}

class DeviceKeySortTest : public ::testing::Test {
 protected:
  DeviceKeySortTest() : pool_("sort", 3), work_(pool_, {}) { open({}); }
  ~DeviceKeySortTest() override {
    if (fake_) close();
  }

  void open(const FakeOptions& options) {
    if (fake_) close();
    fake_ = std::make_unique<FakeDriver>(options);
    set_radix_kernels(*fake_);
    context_ = std::make_shared<CudaContext>(fake_->table(), 0, 13000, kEnough);
    code_ = std::make_unique<RadixCode>(context_, kSortRegisters);
  }
  void close() {
    EXPECT_EQ(context_->device_memory().used(), 0u);
    EXPECT_EQ(context_->pinned_memory().used(), 0u);
    code_.reset();
    context_.reset();
    EXPECT_EQ(fake_->leaks(), std::vector<std::string>());
    EXPECT_EQ(fake_->misuse(), std::vector<std::string>());
    fake_.reset();
  }

  Sorted sort(const Keys& keys, bool agree, uint64_t limit = kEnough, std::shared_ptr<FaultInjector> faults = nullptr) {
    const Driver driver = context_->driver_with(std::move(faults));
    MemoryAccount account(limit);
    DeviceKeySort device(*context_, *code_, driver, account);
    KeySortInput input{keys.keys.size(), keys.words, [&](uint64_t first, uint64_t n, uint32_t* const* words) {
                         for (uint64_t i = 0; i < n; i++)
                           for (unsigned w = 0; w < keys.words; w++) words[w][i] = keys.keys[first + i][w];
                       }};
    if (agree) {
      input.key_of_bit = keys.key_of_bit;
      input.nkeys = 3;
    }
    Sorted sorted{std::vector<uint32_t>(keys.keys.size(), ~0u), std::vector<uint8_t>(keys.keys.size(), 0xee)};
    device.sort(
        input,
        [&](uint64_t first, uint64_t n, const uint32_t* rows, const uint8_t* agreeing) {
          std::copy_n(rows, n, sorted.rows.begin() + static_cast<std::ptrdiff_t>(first));
          EXPECT_EQ(agreeing != nullptr, agree);
          if (agreeing) std::copy_n(agreeing, n, sorted.agree.begin() + static_cast<std::ptrdiff_t>(first));
        },
        work_);
    passes_ = device.figures().passes;
    return sorted;
  }

  void expect_sorted(const Keys& keys) {
    unsigned passes = 0;
    for (unsigned bit = 0; bit < keys.words * 32; bit += 8)
      passes += std::any_of(keys.keys.begin(), keys.keys.end(), [&](const Key& key) {
        return ((key[bit / 32] ^ keys.keys[0][bit / 32]) >> bit % 32 & 0xff) != 0;
      });
    const Sorted wanted = expected(keys);
    for (const bool agree : {false, true}) {
      const Sorted found = sort(keys, agree);
      EXPECT_TRUE(found.rows == wanted.rows) << keys.keys.size() << " rows, " << keys.words << " words";
      EXPECT_TRUE(!agree || found.agree == wanted.agree) << keys.keys.size() << " rows, " << keys.words << " words";
      EXPECT_EQ(passes_, passes);
    }
  }

  WorkerPool pool_;
  ParallelWork work_;
  std::unique_ptr<FakeDriver> fake_;
  std::shared_ptr<CudaContext> context_;
  std::unique_ptr<RadixCode> code_;
  unsigned passes_ = 0;
};

/* Around what a warp, a block and a tile take; keys of every width; the order of many equal keys. */
TEST_F(DeviceKeySortTest, AllSizesAndWidths) {
  std::mt19937 random(1);
  for (const uint64_t count : {1u, 2u, 31u, 32u, 33u, 255u, 257u, 4095u, 4096u, 4097u, 3u * 4096u, 13000u}) {
    const unsigned words = static_cast<unsigned>(1 + random() % kMostSortWords);
    Keys keys(words, count);
    for (Key& key : keys.keys)
      for (uint32_t& word : key) word = static_cast<uint32_t>(random()) & 0x01010101;
    expect_sorted(keys);
  }
}

/* Which digits differ decides which passes there are, and which words go along. */
TEST_F(DeviceKeySortTest, EveryPatternOfDigits) {
  std::mt19937 random(2);
  for (unsigned pattern = 0; pattern < 256; pattern++) {
    Keys keys(2, 300);
    for (Key& key : keys.keys)
      for (unsigned d = 0; d < 8; d++) {
        const uint32_t digit = pattern >> d & 1 ? random() % 3 * 100 : 77;
        key[1 - d / 4] |= digit << d % 4 * 8;
      }
    expect_sorted(keys);
  }
}

TEST_F(DeviceKeySortTest, AllValuesOfADigit) {
  std::mt19937 random(3);
  for (const unsigned distribution : {0u, 1u, 2u, 3u}) {
    Keys keys(1, 9000);
    for (size_t i = 0; i < keys.keys.size(); i++)
      keys.keys[i][0] = distribution == 0   ? static_cast<uint32_t>(random())
                        : distribution == 1 ? static_cast<uint32_t>(i) * 400009      // ascending
                        : distribution == 2 ? ~static_cast<uint32_t>(i) * 400009     // descending
                                            : (random() % 100 ? 0xffffffff : 255u);  // mostly the greatest
    expect_sorted(keys);
  }
}

TEST_F(DeviceKeySortTest, WidestKeys) {
  std::mt19937 random(4);
  Keys keys(4, 5000);
  for (Key& key : keys.keys)
    for (uint32_t& word : key) word = static_cast<uint32_t>(random());
  expect_sorted(keys);
  EXPECT_EQ(passes_, 16u);
}

TEST_F(DeviceKeySortTest, NoRows) { EXPECT_TRUE(sort(Keys(1), true).rows.empty()); }

Keys some_keys() {
  std::mt19937 random(5);
  Keys keys(2, 5000);
  for (Key& key : keys.keys) key = {static_cast<uint32_t>(random()) % 50, static_cast<uint32_t>(random()) & 0xff00};
  return keys;
}

/* Whatever fails, nothing is kept, and the next sort is right. */
TEST_F(DeviceKeySortTest, EveryCallFails) {
  const Keys keys = some_keys();
  const Sorted wanted = expected(keys);
  uint64_t call = 1, failed = 0;
  for (int quiet = 0; quiet < 40; call++) {
    code_ = std::make_unique<RadixCode>(context_, kSortRegisters);
    context_->device_memory().release_unused();
    context_->pinned_memory().release_unused();
    try {
      const Sorted found = sort(keys, true, kEnough, std::make_shared<FaultInjector>(call, kOutOfMemory));
      EXPECT_TRUE(found.rows == wanted.rows && found.agree == wanted.agree) << "call " << call;
      quiet++;
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.reason, TB_FALLBACK_DEVICE_MEMORY) << "call " << call << ": " << error.what();
      quiet = 0;
      failed++;
    }
    EXPECT_EQ(context_->device_memory().used(), 0u) << "call " << call;
    EXPECT_EQ(context_->pinned_memory().used(), 0u) << "call " << call;
  }
  EXPECT_GT(failed, 30u);
  EXPECT_TRUE(sort(keys, true).rows == wanted.rows);
}

/* Which call comes when is up to the threads, and what releases memory tells nobody of a failure. */
TEST_F(DeviceKeySortTest, DeviceIsLost) {
  const Keys keys = some_keys();
  uint64_t call = 3;
  for (int lost = 0; lost < 4; call += 7) {
    ASSERT_LT(call, 100u) << "lost " << lost << " times";
    open({});
    try {
      sort(keys, true, kEnough, std::make_shared<FaultInjector>(call, kIllegalAddress));
      continue;
    } catch (const DeviceError&) {
      lost++;
    }
    EXPECT_TRUE(context_->health().lost());
    try {
      sort(keys, true);
      FAIL() << "sorted on a lost device";
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.reason, TB_FALLBACK_NO_DEVICE);
    }
  }
}

TEST_F(DeviceKeySortTest, MemoryThatIsNotThere) {
  const Keys keys = some_keys();
  try {
    sort(keys, true, 100 << 10);
    FAIL() << "sorted";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.reason, TB_FALLBACK_DEVICE_MEMORY);
  }
  FakeOptions small;
  small.memory = 100 << 10;
  open(small);
  EXPECT_THROW(sort(keys, true), DeviceError);
}

TEST_F(DeviceKeySortTest, ErrorsOfTheHostPass) {
  const Driver driver = context_->driver_with(nullptr);
  MemoryAccount account(kEnough);
  DeviceKeySort device(*context_, *code_, driver, account);
  auto nothing = [](uint64_t, uint64_t, const uint32_t*, const uint8_t*) {};
  KeySortInput input{100000, 1, [](uint64_t, uint64_t, uint32_t* const*) { throw std::runtime_error("no key"); }};
  EXPECT_THROW(device.sort(input, nothing, work_), std::runtime_error);
  input = {9000, 1, [](uint64_t first, uint64_t n, uint32_t* const* words) {
             std::iota(words[0], words[0] + n, static_cast<uint32_t>(first));
           }};
  auto refuse = [](uint64_t, uint64_t, const uint32_t*, const uint8_t*) { throw std::runtime_error("no room"); };
  EXPECT_THROW(device.sort(input, refuse, work_), std::runtime_error);
}

TEST_F(DeviceKeySortTest, ClosedQuery) {
  std::atomic<bool> closed{false};
  ParallelWork work(pool_, [&] { return closed.load(); });
  const Driver driver = context_->driver_with(nullptr);
  MemoryAccount account(kEnough);
  DeviceKeySort device(*context_, *code_, driver, account);
  const KeySortInput input{100000, 1, [&](uint64_t, uint64_t n, uint32_t* const* words) {
                             closed = true;
                             std::fill_n(words[0], n, 0u);
                             std::this_thread::sleep_for(std::chrono::milliseconds(60));
                           }};
  try {
    device.sort(input, [](uint64_t, uint64_t, const uint32_t*, const uint8_t*) {}, work);
    FAIL() << "not closed";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.reason, TB_FALLBACK_NONE);
  }
}

/* A block that never tells what its tile has: the others wait for a while, then all end and the sort fails. */
TEST_F(DeviceKeySortTest, ATileThatNeverTellsIsAnError) {
  lose_a_tile(*fake_);
  Keys keys(1, 5 * TB_SORT_TILE);
  for (size_t i = 0; i < keys.keys.size(); i++) keys.keys[i] = {static_cast<uint32_t>(i % 7)};
  try {
    sort(keys, false);
    FAIL() << "sorted without a tile";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.reason, TB_FALLBACK_DEVICE_LOST);
  }
}

TEST_F(DeviceKeySortTest, PaysForManyRows) {
  const Driver driver = context_->driver_with(nullptr);
  MemoryAccount account(kEnough);
  const DeviceKeySort device(*context_, *code_, driver, account);
  while (!code_->ready()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(device.pays(10'000'000, 2, 16));
  EXPECT_TRUE(device.pays(kSortRowsPerThread * 16, 2, 16));
  EXPECT_FALSE(device.pays(kLeastSortRows - 1, 2, 1));
  EXPECT_FALSE(device.pays(kSortRowsPerThread * 16 - 1, 2, 16));
  EXPECT_FALSE(device.pays(TB_SORT_MOST_ROWS, 2, 16));
  EXPECT_FALSE(device.pays(10'000'000, kMostSortWords + 1, 16));
}

/* What the driver is given: three kernels, complete in themselves. */
TEST(RadixPtx, IsWhole) {
  const std::string_view ptx = embedded_ptx("radix");
  for (const char* entry : {".entry tb_sort_count(", ".entry tb_sort_pass(", ".entry tb_sort_agree("})
    EXPECT_NE(ptx.find(entry), ptx.npos) << entry;
  EXPECT_NE(ptx.find(".target sm_70"), ptx.npos);
  EXPECT_NE(ptx.find(".version 8.0"), ptx.npos);
  EXPECT_EQ(ptx.find(".extern"), ptx.npos);
  // Arrays of a thread are in registers, or every row would go through memory.
  EXPECT_EQ(ptx.find(".local"), ptx.npos);
}

}  // namespace
}  // namespace turbine::cuda::testing
