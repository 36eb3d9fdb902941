/*
 * gpu_sort_bench.cc - sorts on a GPU of 10^5 to 10^7.5 rows, by 8 and by 16 bytes, checked
 * against the host's sort.
 */
#include "engine/result/testing/gpu_sort_bench.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>

#include "engine/device/cuda/driver/driver_functions.h"
#include "engine/device/cuda/sort/device_key_sort.h"
#include "engine/result/order/row_sort.h"

namespace turbine {
namespace {

constexpr int kRounds = 5;
constexpr TbSortKey kKeys[] = {{0, 0}, {1, 0}};

enum class Distribution { kRandom, kFew, kSorted };

const char* name_of(Distribution distribution) {
  switch (distribution) {
    case Distribution::kRandom: return "random";
    case Distribution::kFew: return "few";
    default: return "sorted";
  }
}

/* The product's sort, however few the rows are. */
class AnyNumber : public KeySort {
 public:
  explicit AnyNumber(KeySort& sort) : sort_(sort) {}
  bool pays(uint64_t, unsigned, unsigned) const override { return true; }
  void sort(const KeySortInput& input, const TakeSortedRows& take, ParallelWork& work) override {
    sort_.sort(input, take, work);
  }

 private:
  KeySort& sort_;
};

/* Rows of one or two bigints. */
class Table {
 public:
  Table(uint64_t count, unsigned columns, Distribution distribution, MemoryBudget& budget)
      : rows_(std::vector<ColumnShape>(columns, ColumnShape{TB_TYPE_INT8, 0, false}), budget) {
    std::mt19937_64 random(count);
    ResultBatch batch{count, {}, nullptr, ResultBatch::Text::kView};
    for (unsigned c = 0; c < columns; c++) {
      values_.emplace_back(count);
      for (uint64_t i = 0; i < count; i++)
        values_[c][i] = distribution == Distribution::kRandom ? static_cast<int64_t>(random())
                        : distribution == Distribution::kFew  ? static_cast<int64_t>(random() % 1000) << 40
                        : c == 0                              ? static_cast<int64_t>(i / columns) * 1000003
                                                              : static_cast<int64_t>(i) * 1000003;
    }
    for (const auto& values : values_)
      batch.columns.push_back({reinterpret_cast<const uint8_t*>(values.data()), 8, nullptr, 1});
    rows_.borrow(batch);
  }

  const ResultRows& rows() const { return rows_; }
  std::span<const TbSortKey> keys() const { return {kKeys, values_.size()}; }

  /* Is it the order of the other, and that of equal rows that of their numbers? */
  bool agrees(const SortedRows& sorted, const SortedRows& host) const {
    if (sorted.size() != host.size()) return false;
    for (uint64_t i = 0; i < sorted.size(); i++) {
      if (!equal(ref_row(sorted[i]), ref_row(host[i]))) return false;
      if (i > 0 && equal(ref_row(sorted[i]), ref_row(sorted[i - 1])) && sorted[i] <= sorted[i - 1]) return false;
    }
    return true;
  }

 private:
  bool equal(uint64_t a, uint64_t b) const {
    for (const auto& values : values_)
      if (values[a] != values[b]) return false;
    return true;
  }

  std::vector<std::vector<int64_t>> values_;
  ResultRows rows_;
};

class GpuSortBench {
 public:
  GpuSortBench(std::shared_ptr<cuda::CudaContext> context, unsigned threads, unsigned registers)
      : pool_("bench", threads),
        work_(pool_, {}),
        context_(std::move(context)),
        code_(context_, registers),
        sort_(*context_, code_, context_->driver(), account_),
        any_number_(sort_) {}

  bool run(double exponent, unsigned columns, Distribution distribution) {
    const auto count = static_cast<uint64_t>(std::pow(10, exponent));
    const Table table(count, columns, distribution, budget_);
    SortPlace host, gpu;
    gpu.device = &any_number_;
    auto sort = [&](SortPlace& place, bool agree) {
      return sort_rows(table.rows(), nullptr, count, table.keys(), agree, work_, &place);
    };
    const SortedRows by_host = sort(host, true);
    const auto start = now();
    const SortedRows by_gpu = sort(gpu, true);
    const double first_ms = ms_since(start);
    bool right = gpu.rows_on_device == count && table.agrees(by_gpu, by_host);
    for (uint64_t i = 1; right && i < count; i++) right = by_gpu.agree()[i] == by_host.agree()[i];

    const double host_ms = best([&] { sort(host, false); });
    const double host_agree_ms = best([&] { sort(host, true); });
    cuda::KeySortFigures figures;
    double gpu_ms = 1e9;
    for (int round = 0; round < kRounds; round++) {
      const double ms = best_of(1, [&] { sort(gpu, false); });
      if (ms < gpu_ms) figures = sort_.figures();
      gpu_ms = std::min(gpu_ms, ms);
    }
    const double gpu_agree_ms = best([&] { sort(gpu, true); });
    printf("%9llu %3u %-7s %8.2f %8.2f %8.2f %8.2f %6u %8.2f %8.2f %8.2f %8.2f %6.2f %5llu  %s\n",
           static_cast<unsigned long long>(count), columns * 8, name_of(distribution), host_ms, gpu_ms, host_agree_ms,
           gpu_agree_ms, figures.passes, ms(figures.send_us), ms(figures.passes_us), ms(figures.fetch_us), first_ms,
           host_ms / gpu_ms, static_cast<unsigned long long>(figures.device_bytes >> 20),
           right         ? "right"
           : gpu.failure ? gpu.message.c_str()
                         : "WRONG");
    fflush(stdout);
    return right;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static Clock::time_point now() { return Clock::now(); }
  static double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(now() - start).count();
  }
  static double ms(uint64_t us) { return static_cast<double>(us) / 1000; }
  template <class F>
  static double best_of(int rounds, F f) {
    double least = 1e9;
    for (int round = 0; round < rounds; round++) {
      const auto start = now();
      f();
      least = std::min(least, ms_since(start));
    }
    return least;
  }
  template <class F>
  static double best(F f) {
    return best_of(kRounds, f);
  }

  WorkerPool pool_;
  ParallelWork work_;
  MemoryBudget budget_{UINT64_MAX};
  std::shared_ptr<cuda::CudaContext> context_;
  cuda::MemoryAccount account_{UINT64_MAX};
  cuda::RadixCode code_;
  cuda::DeviceKeySort sort_;
  AnyNumber any_number_;
};

std::shared_ptr<cuda::CudaContext> open_gpu() {
  std::string why;
  const cuda::DriverFunctions* table = cuda::load_driver(&why);
  if (!table) throw DeviceError(TB_FALLBACK_NO_DEVICE, why);
  cuda::DeviceHealth health;
  const cuda::Driver driver(*table, &health, nullptr);
  driver.check(driver.init(0u));
  int version = 0;
  driver.check(driver.driver_get_version(&version));
  cuda::DeviceOrdinal ordinal = 0;
  driver.check(driver.device_get(&ordinal, 0));
  return std::make_shared<cuda::CudaContext>(*table, ordinal, version, 0);
}

}  // namespace

int bench_gpu_sort(unsigned threads, unsigned registers) try {
  auto context = open_gpu();
  printf("%s, %u threads of the host, at most %u registers; times in ms, the best of %d\n",
         context->properties().name.c_str(), threads, registers, kRounds);
  GpuSortBench bench(std::move(context), threads, registers);
  printf("%9s %3s %-7s %8s %8s %8s %8s %6s %8s %8s %8s %8s %6s %5s\n", "rows", "key", "values", "host", "gpu",
         "host+agr", "gpu+agr", "passes", "send", "sort", "fetch", "first", "times", "MiB");
  bool right = true;
  for (unsigned columns : {1u, 2u})
    for (const Distribution distribution : {Distribution::kRandom, Distribution::kFew, Distribution::kSorted})
      for (double exponent = 4.5; exponent < 7.6; exponent += 0.5) right &= bench.run(exponent, columns, distribution);
  printf("%s\n", right ? "all right" : "SOME WRONG");
  return right ? 0 : 1;
} catch (const std::exception& error) {
  fprintf(stderr, "no sort on a GPU: %s\n", error.what());
  return 1;
}

}  // namespace turbine
