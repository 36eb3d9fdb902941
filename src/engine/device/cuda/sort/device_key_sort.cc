/*
 * device_key_sort.cc - sorts packed keys on a GPU.
 *
 * Owns what a sort has on the device while it runs. Called by result/order through
 * key_sort.h on the query's thread; leaves nothing behind if it fails.
 */
#include "engine/device/cuda/sort/device_key_sort.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "engine/device/cuda/memory/pinned_staging.h"
#include "engine/device/cuda/sort/radix_kernels.h"
#include "engine/device/cuda/sort/sort_tuning.h"
#include "engine/profile/stopwatch.h"

namespace turbine::cuda {
namespace {

static_assert(kMostSortWords == TB_SORT_MOST_WORDS);

constexpr uint64_t kAlignment = 256;
constexpr uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/* What kernels are told, on the device and in pinned memory. */
struct Arguments {
  TbSortCount count;
  TbSortAgree agree;
  TbSortPass passes[TB_SORT_MOST_DIGITS];
};

/* One sort. */
class RadixRun {
 public:
  RadixRun(CudaContext& context, const RadixKernels& kernels, const Driver& driver, MemoryAccount& account,
           const KeySortInput& input, ParallelWork& work)
      : context_(context),
        kernels_(kernels),
        driver_(driver),
        input_(input),
        nrows_(static_cast<uint32_t>(input.count)),
        tiles_((nrows_ + TB_SORT_TILE - 1) / TB_SORT_TILE),
        array_bytes_(aligned(input.count * sizeof(uint32_t))),
        tiles_at_(2 * (input.words + 1) * array_bytes_),
        arguments_at_(tiles_at_ + tiles_bytes()),
        device_(context.device_memory().allocate(driver, arguments_at_ + sizeof(Arguments), &account)),
        pinned_(context.pinned_memory().allocate(driver, sizeof(Arguments), nullptr)),
        stream_(context.streams(), driver),
        staging_(context, driver, stream_.get(), input.count,
                 std::max<uint64_t>(input.words * sizeof(uint32_t), sizeof(uint32_t) + 1), work),
        wait_(driver, stream_.get()) {}

  uint64_t device_bytes() const { return device_.size(); }
  unsigned passes() const { return static_cast<unsigned>(digits_.size()); }

  /* Until the digits' counts are here. */
  void send() {
    auto word_memory = [this](uint8_t* memory, unsigned w) {
      return reinterpret_cast<uint32_t*>(memory) + w * staging_.piece_items();
    };
    staging_.send(
        [&](uint64_t first, uint64_t n, uint8_t* memory) {
          std::array<uint32_t*, kMostSortWords> words{};
          for (unsigned w = 0; w < input_.words; w++) words[w] = word_memory(memory, w);
          input_.pack(first, n, words.data());
        },
        [&](uint64_t first, uint64_t n, uint8_t* memory) {
          for (unsigned w = 0; w < input_.words; w++)
            driver_.check(driver_.memcpy_htod_async(array(w) + first * sizeof(uint32_t), word_memory(memory, w),
                                                    n * sizeof(uint32_t), stream_.get()));
        });
    TbSortCount& count = arguments().count;
    count = {};
    for (unsigned w = 0; w < input_.words; w++) count.words[w] = pointer(array(w));
    count.nrows = nrows_;
    count.nwords = input_.words;
    copy_arguments(&count, sizeof count);
    launch(kernels_.count, blocks(kCountBlocks), &count);
    driver_.check(driver_.memcpy_dtoh_async(count.counts, on_device(count.counts), counts_bytes(), stream_.get()));
    driver_.check(driver_.stream_synchronize(stream_.get()));
    choose_digits();
  }

  /* Until the order is there, on the device. */
  void sort() {
    for (size_t i = 0; i < digits_.size(); i++) prepare_pass(i);
    if (!digits_.empty()) copy_arguments(arguments().passes, digits_.size() * sizeof(TbSortPass));
    for (size_t i = 0; i < digits_.size(); i++) {
      driver_.check(driver_.memset_d8_async(device_.device() + tiles_at_, 0, tiles_bytes(), stream_.get()));
      launch(kernels_.pass, tiles_, &arguments().passes[i]);
    }
    if (wants_agree() && !digits_.empty()) compare_neighbours();
    driver_.check(driver_.stream_synchronize(stream_.get()));
  }

  void fetch(const TakeSortedRows& take) {
    auto rows_of = [](uint8_t* memory) { return reinterpret_cast<uint32_t*>(memory); };
    auto agree_of = [this](uint8_t* memory) { return memory + staging_.piece_items() * sizeof(uint32_t); };
    staging_.fetch(
        [&](uint64_t first, uint64_t n, uint8_t* memory) {
          if (digits_.empty()) return;
          driver_.check(driver_.memcpy_dtoh_async(rows_of(memory), array(input_.words) + first * sizeof(uint32_t),
                                                  n * sizeof(uint32_t), stream_.get()));
          if (wants_agree())
            driver_.check(driver_.memcpy_dtoh_async(agree_of(memory), agree_array() + first, n, stream_.get()));
        },
        [&](uint64_t first, uint64_t n, uint8_t* memory) {
          if (digits_.empty()) {  // all keys are equal
            std::iota(rows_of(memory), rows_of(memory) + n, static_cast<uint32_t>(first));
            std::memset(agree_of(memory), static_cast<int>(input_.nkeys), n);
            if (first == 0) *agree_of(memory) = 0;
          }
          take(first, n, rows_of(memory), wants_agree() ? agree_of(memory) : nullptr);
        });
  }

 private:
  struct Digit {
    unsigned word, digit;  // digit of the word, from the least significant
  };

  Arguments& arguments() const { return *reinterpret_cast<Arguments*>(pinned_.host()); }
  bool wants_agree() const { return !input_.key_of_bit.empty(); }
  uint64_t tiles_bytes() const { return uint64_t{tiles_} * TB_SORT_BINS * sizeof(uint32_t); }
  uint64_t counts_bytes() const { return uint64_t{input_.words} * sizeof(TbSortCount::counts) / TB_SORT_MOST_WORDS; }
  unsigned blocks(unsigned a_multiprocessor) const {
    return std::min((nrows_ + TB_SORT_THREADS - 1) / TB_SORT_THREADS,
                    context_.properties().multiprocessors * a_multiprocessor);
  }

  /* A word of the keys, or, behind them, the rows' numbers: where it lies now. */
  DevicePtr array(unsigned a) const { return place(a, moved_[a]); }
  DevicePtr place(unsigned a, bool moved) const { return device_.device() + (2 * a + (moved ? 1 : 0)) * array_bytes_; }
  /* A byte a row, where the rows' numbers do not lie. */
  DevicePtr agree_array() const { return place(input_.words, !moved_[input_.words]); }

  static uint32_t* pointer(DevicePtr address) { return reinterpret_cast<uint32_t*>(address); }

  DevicePtr on_device(const void* argument) const {
    return device_.device() + arguments_at_ +
           static_cast<uint64_t>(static_cast<const uint8_t*>(argument) - pinned_.host());
  }
  void copy_arguments(const void* from, uint64_t bytes) const {
    driver_.check(driver_.memcpy_htod_async(on_device(from), from, bytes, stream_.get()));
  }
  void launch(Function kernel, unsigned grid, const void* argument) const {
    DevicePtr on_gpu = on_device(argument);
    void* parameters[] = {&on_gpu};
    driver_.check(driver_.launch_kernel(kernel, grid, 1u, 1u, TB_SORT_THREADS, 1u, 1u, 0u, stream_.get(), parameters,
                                        static_cast<void**>(nullptr)));
  }

  /* Those that tell rows apart, least significant first. */
  void choose_digits() {
    for (unsigned w = input_.words; w-- > 0;)
      for (unsigned d = 0; d < TB_SORT_WORD_DIGITS; d++) {
        const uint32_t* counts = arguments().count.counts[w * TB_SORT_WORD_DIGITS + d];
        if (std::find(counts, counts + TB_SORT_BINS, nrows_) == counts + TB_SORT_BINS) digits_.push_back({w, d});
      }
  }

  /* Is the word needed once pass `i` has run? */
  bool needed_after(size_t i, unsigned word) const {
    auto has_it = [word](const Digit& digit) { return digit.word == word; };
    const auto after = digits_.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    return std::any_of(wants_agree() ? digits_.begin() : after, digits_.end(), has_it);
  }

  void prepare_pass(size_t i) {
    TbSortPass& pass = arguments().passes[i];
    pass = {};
    auto move = [&](unsigned a, bool keep) {
      pass.from[pass.narrays] = pointer(array(a));
      if (keep) {
        moved_[a] = !moved_[a];
        pass.to[pass.narrays] = pointer(array(a));
      }
      pass.narrays++;
    };
    const Digit& digit = digits_[i];
    move(digit.word, needed_after(i, digit.word));
    for (unsigned w = 0; w < input_.words; w++)
      if (w != digit.word && needed_after(i, w)) move(w, true);
    pass.numbers = i == 0 ? pass.narrays : 0;
    move(input_.words, true);
    pass.tiles = pointer(device_.device() + tiles_at_);
    pass.nrows = nrows_;
    pass.shift = digit.digit * TB_SORT_DIGIT_BITS;
    const uint32_t* counts = arguments().count.counts[digit.word * TB_SORT_WORD_DIGITS + digit.digit];
    std::exclusive_scan(counts, counts + TB_SORT_BINS, pass.starts, 0u);
  }

  /* Words without a pass are equal in all rows, so any order of theirs will do. */
  void compare_neighbours() {
    TbSortAgree& agree = arguments().agree;
    agree = {};
    for (unsigned w = 0; w < input_.words; w++) agree.words[w] = pointer(array(w));
    agree.agree = reinterpret_cast<uint8_t*>(agree_array());
    agree.nrows = nrows_;
    agree.nwords = input_.words;
    agree.nkeys = input_.nkeys;
    std::copy_n(input_.key_of_bit.begin(), std::min(input_.key_of_bit.size(), sizeof agree.key_of_bit),
                agree.key_of_bit);
    copy_arguments(&agree, sizeof agree);
    launch(kernels_.agree, blocks(kAgreeBlocks), &agree);
  }

  CudaContext& context_;
  const RadixKernels kernels_;
  const Driver& driver_;
  const KeySortInput& input_;
  const uint32_t nrows_, tiles_;
  const uint64_t array_bytes_, tiles_at_, arguments_at_;
  std::array<bool, kMostSortWords + 1> moved_{};  // words, and the rows' numbers: the second of two places
  std::vector<Digit> digits_;
  Block device_, pinned_;
  UniqueStream stream_;
  PinnedStaging staging_;
  StreamWait wait_;  // last
};

}  // namespace

bool DeviceKeySort::pays(uint64_t count, unsigned words, unsigned threads) const {
  return words <= kMostSortWords && count >= std::max(kLeastSortRows, kSortRowsPerThread * threads) &&
         count < TB_SORT_MOST_ROWS && code_.ready();
}

void DeviceKeySort::sort(const KeySortInput& input, const TakeSortedRows& take, ParallelWork& work) {
  if (input.count == 0) return;
  context_.enter(driver_);
  KeySortFigures figures;
  RadixRun run(context_, code_.kernels(driver_), driver_, account_, input, work);
  const Stopwatch sending;
  run.send();
  figures.send_us = sending.microseconds();
  const Stopwatch sorting;
  run.sort();
  figures.passes_us = sorting.microseconds();
  const Stopwatch fetching;
  run.fetch(take);
  figures.fetch_us = fetching.microseconds();
  figures.passes = run.passes();
  figures.device_bytes = run.device_bytes();
  figures_ = figures;
}

}  // namespace turbine::cuda
