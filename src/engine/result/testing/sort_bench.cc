/*
 * sort_bench.cc - rows a second of the sorts of results: `turbine_sort_bench
 * [threads]`; and of a GPU's beside them, `turbine_sort_bench --gpu [threads [registers]]`.
 * Not part of the product.
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "engine/device/cuda/sort/sort_tuning.h"
#include "engine/result/order/row_order.h"
#include "engine/result/testing/gpu_sort_bench.h"

namespace turbine {
namespace {

class Bench {
 public:
  explicit Bench(unsigned threads) : pool_("bench", threads), work_(pool_, {}) {}

  void integers(uint64_t count) {
    std::mt19937_64 random(1);
    std::vector<int64_t> values(count);
    for (int64_t& value : values) value = static_cast<int64_t>(random());
    ResultRows rows({{TB_TYPE_INT8, 0, false}}, budget_);
    rows.borrow(
        {count, {{reinterpret_cast<const uint8_t*>(values.data()), 8, nullptr, 1}}, nullptr, ResultBatch::Text::kView});
    sort("bigint", rows);
    time("bigint, the first 10", count, [&] {
      const RowOrder order{{&kKey, 1}, 0, 10, false};
      const RowList best = best_candidates(rows, order, work_);
      order_rows(rows, best.data(), best.size(), order, work_, nullptr);
    });
  }

  void texts(uint64_t count) {
    std::mt19937_64 random(2);
    std::string bytes;
    std::vector<TbTextView> views(count);
    for (TbTextView& view : views) {
      view = {static_cast<uint32_t>(6 + random() % 15), 0, 0, static_cast<uint32_t>(bytes.size())};
      for (uint32_t i = 0; i < view.length; i++) bytes += static_cast<char>('a' + random() % 26);
    }
    ResultRows rows({{TB_TYPE_TEXT, 0, false}}, budget_);
    rows.borrow({count,
                 {{reinterpret_cast<const uint8_t*>(views.data()), sizeof views[0], nullptr, 1}},
                 reinterpret_cast<const uint8_t*>(bytes.data()),
                 ResultBatch::Text::kView});
    sort("text", rows);
  }

 private:
  static constexpr TbSortKey kKey{0, 0};

  template <class F>
  static void time(const char* what, uint64_t count, F f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    printf("%s: %.1f million rows a second\n", what, static_cast<double>(count) / seconds / 1e6);
  }
  void sort(const char* what, const ResultRows& rows) {
    time(what, rows.size(), [&] { sort_rows(rows, nullptr, rows.size(), {&kKey, 1}, false, work_, nullptr); });
  }

  WorkerPool pool_;
  ParallelWork work_;
  MemoryBudget budget_{UINT64_MAX};
};

}  // namespace
}  // namespace turbine

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "--gpu") == 0)
    return turbine::bench_gpu_sort(
        argc > 2 ? static_cast<unsigned>(atoi(argv[2])) : std::thread::hardware_concurrency(),
        argc > 3 ? static_cast<unsigned>(atoi(argv[3])) : turbine::cuda::kSortRegisters);
  turbine::Bench bench(argc > 1 ? static_cast<unsigned>(atoi(argv[1])) : std::thread::hardware_concurrency());
  for (int round = 0; round < 3; round++) {
    bench.integers(10'000'000);
    bench.texts(5'000'000);
  }
}
