/*
 * device_row_sort_test.cc - rows that a device sorts come as the host's sort brings them, and the host
 * sorts where the device fails.
 */
#include "engine/result/order/device_row_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>

#include "engine/result/order/row_sort.h"

namespace turbine {
namespace {

/* A device whose sort is the library's. */
class PlainSort : public KeySort {
 public:
  TbFallback failure = TB_FALLBACK_NONE;

  bool pays(uint64_t, unsigned, unsigned) const override { return true; }
  void sort(const KeySortInput& input, const TakeSortedRows& take, ParallelWork&) override {
    if (failure != TB_FALLBACK_NONE) throw DeviceError(failure, "no sort");
    std::vector<std::vector<uint32_t>> words(input.words, std::vector<uint32_t>(input.count));
    for (uint64_t first = 0; first < input.count; first += kPiece) {
      uint32_t* to[kMostSortWords] = {};
      for (unsigned w = 0; w < input.words; w++) to[w] = words[w].data() + first;
      input.pack(first, std::min(kPiece, input.count - first), to);
    }
    std::vector<uint32_t> rows(input.count);
    std::iota(rows.begin(), rows.end(), 0u);
    auto differ = [&](uint32_t a, uint32_t b) {
      unsigned w = 0;
      while (w < input.words && words[w][a] == words[w][b]) w++;
      return w;
    };
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
      const unsigned w = differ(a, b);
      return w < input.words && words[w][a] < words[w][b];
    });
    std::vector<uint8_t> agree(input.count);
    for (uint64_t i = 1; i < input.count && !input.key_of_bit.empty(); i++) {
      const unsigned w = differ(rows[i - 1], rows[i]);
      agree[i] = static_cast<uint8_t>(input.nkeys);
      if (w < input.words)
        agree[i] = input.key_of_bit[w * 32 +
                                    static_cast<unsigned>(std::countl_zero(words[w][rows[i - 1]] ^ words[w][rows[i]]))];
    }
    take(0, input.count, rows.data(), input.key_of_bit.empty() ? nullptr : agree.data());
  }

 private:
  static constexpr uint64_t kPiece = 1500;
};

class DeviceRowSortTest : public ::testing::Test {
 protected:
  /* Two nullable columns, in two batches; few different values, so that many rows are equal. */
  DeviceRowSortTest() : pool_("sort", 2), work_(pool_, {}) {
    std::mt19937_64 random(1);
    for (size_t c = 0; c < 2; c++)
      for (size_t i = 0; i < kRows; i++) {
        values_[c].push_back(static_cast<int64_t>(random() % 40) * (c ? 1 : int64_t{1} << 33) - 9);
        valid_[c].push_back(random() % 5 > 0);
      }
    for (const auto& [first, n] : {std::pair<size_t, size_t>{0, 3000}, {3000, kRows - 3000}}) {
      ResultBatch batch{n, {}, nullptr, ResultBatch::Text::kView};
      for (size_t c = 0; c < 2; c++)
        batch.columns.push_back(
            {reinterpret_cast<const uint8_t*>(values_[c].data() + first), 8, valid_[c].data() + first, 1});
      rows_.borrow(batch);
    }
  }

  void expect_same(std::span<const TbSortKey> keys, const RowRef* list, uint64_t count, bool agree) {
    SortPlace device;
    device.device = &sort_;
    const SortedRows host = sort_rows(rows_, list, count, keys, agree, work_, nullptr);
    const SortedRows found = sort_rows(rows_, list, count, keys, agree, work_, &device);
    EXPECT_EQ(device.rows_on_device, sort_.failure == TB_FALLBACK_NONE ? count : 0u);
    EXPECT_EQ(device.failure, sort_.failure);
    ASSERT_EQ(found.size(), host.size());
    std::vector<RowRef> all(found.rows().refs().begin(), found.rows().refs().end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
    for (uint64_t i = 0; i < host.size(); i++) {
      for (const TbSortKey& key : keys) EXPECT_EQ(cell(found[i], key.column), cell(host[i], key.column));
      EXPECT_TRUE(!agree || i == 0 || found.agree()[i] == host.agree()[i]);
    }
  }

  std::pair<bool, int64_t> cell(RowRef ref, uint32_t column) const {
    const uint64_t at = rows_.number(ref);
    return {valid_[column][at] != 0, valid_[column][at] ? values_[column][at] : 0};
  }

  static constexpr size_t kRows = 7000;
  WorkerPool pool_;
  ParallelWork work_;
  MemoryBudget budget_{uint64_t{1} << 30};
  std::vector<int64_t> values_[2];
  std::vector<uint8_t> valid_[2];
  ResultRows rows_{{{TB_TYPE_INT8, 0, true}, {TB_TYPE_INT8, 0, true}}, budget_};
  PlainSort sort_;
};

TEST_F(DeviceRowSortTest, AsTheHostSorts) {
  const TbSortKey orders[][2] = {{{0, 0}, {1, 0}},
                                 {{1, TB_SORT_DESCENDING}, {0, TB_SORT_NULLS_FIRST}},
                                 {{0, TB_SORT_DESCENDING | TB_SORT_NULLS_FIRST}, {1, 0}}};
  std::vector<RowRef> list;
  for (uint64_t i = 0; i < kRows; i += 3) list.push_back(rows_.ref(kRows - 1 - i));
  for (const auto& order : orders)
    for (size_t nkeys : {1u, 2u})
      for (const bool agree : {false, true}) {
        expect_same({order, nkeys}, nullptr, kRows, agree);
        expect_same({order, nkeys}, list.data(), list.size(), agree);
      }
}

TEST_F(DeviceRowSortTest, TheHostSortsInstead) {
  const TbSortKey key{0, 0};
  for (const TbFallback failure :
       {TB_FALLBACK_DEVICE_MEMORY, TB_FALLBACK_DEVICE_LOST, TB_FALLBACK_NO_DEVICE, TB_FALLBACK_COMPILE}) {
    sort_.failure = failure;
    expect_same({&key, 1}, nullptr, kRows, true);
  }
}

/* What the host's sort would meet as well is the query's end. */
TEST_F(DeviceRowSortTest, OtherErrorsEndTheQuery) {
  const TbSortKey key{0, 0};
  SortPlace place;
  place.device = &sort_;
  sort_.failure = TB_FALLBACK_HOST_MEMORY;
  EXPECT_THROW(sort_rows(rows_, nullptr, kRows, {&key, 1}, false, work_, &place), DeviceError);
  EXPECT_EQ(place.failure, TB_FALLBACK_NONE);
}

}  // namespace
}  // namespace turbine
