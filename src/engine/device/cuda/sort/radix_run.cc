/*
 * radix_run.cc - one sort of packed keys on a GPU.
 *
 * Owns what a sort has on the device. Leaves nothing behind if it fails.
 */
#include "engine/device/cuda/sort/radix_run.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/device/cuda/sort/sort_tuning.h"
#include "engine/memory/alignment.h"

namespace turbine::cuda {
namespace {

static_assert(kMostSortWords == TB_SORT_MOST_WORDS);

uint32_t* pointer(DevicePtr address) { return reinterpret_cast<uint32_t*>(address); }

}  // namespace

RadixRun::RadixRun(CudaContext& context, const RadixKernels& kernels, const Driver& driver, MemoryAccount& account,
                   const KeySortInput& input, ParallelWork& work)
    : context_(context),
      kernels_(kernels),
      driver_(driver),
      input_(input),
      nrows_(static_cast<uint32_t>(input.count)),
      tiles_((nrows_ + TB_SORT_TILE - 1) / TB_SORT_TILE),
      array_bytes_(device_aligned(input.count * sizeof(uint32_t))),
      tiles_at_(2 * (input.words + 1) * array_bytes_),
      device_(context.device_memory().allocate(driver, tiles_at_ + tiles_bytes(), &account)),
      stream_(context.streams(), driver),
      arguments_(context, driver, account, stream_.get()),
      staging_(context, driver, stream_.get(), input.count,
               std::max<uint64_t>(input.words * sizeof(uint32_t), sizeof(uint32_t) + 1), work),
      wait_(driver, stream_.get()) {}

void RadixRun::send() {
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
  count();
}

void RadixRun::count() {
  TbSortCount& count = arguments_.host().count;
  count = {};
  for (unsigned w = 0; w < input_.words; w++) count.words[w] = pointer(array(w));
  count.nrows = nrows_;
  count.nwords = input_.words;
  arguments_.send(&count, sizeof count);
  arguments_.launch(kernels_.count, blocks(kCountBlocks), TB_SORT_THREADS, &count);
  arguments_.fetch(count.counts, counts_bytes());
  driver_.check(driver_.stream_synchronize(stream_.get()));
  choose_digits();
}

void RadixRun::sort() {
  for (size_t i = 0; i < digits_.size(); i++) prepare_pass(i);
  if (!digits_.empty()) arguments_.send(arguments_.host().passes, digits_.size() * sizeof(TbSortPass));
  for (size_t i = 0; i < digits_.size(); i++) {
    driver_.check(driver_.memset_d8_async(device_.device() + tiles_at_, 0, tiles_bytes(), stream_.get()));
    arguments_.launch(kernels_.pass, tiles_, TB_SORT_THREADS, &arguments_.host().passes[i]);
  }
  if (wants_agree() && !digits_.empty()) compare_neighbours();
  if (!digits_.empty()) arguments_.fetch(arguments_.host().passes, digits_.size() * sizeof(TbSortPass));
  driver_.check(driver_.stream_synchronize(stream_.get()));
  const auto failed = [](const TbSortPass& pass) { return pass.failed != 0; };
  if (std::any_of(arguments_.host().passes, arguments_.host().passes + digits_.size(), failed))
    throw DeviceError(TB_FALLBACK_DEVICE_LOST, "a tile of a sort waited in vain for the tiles before it");
}

void RadixRun::fetch(const TakeSortedRows& take) {
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

unsigned RadixRun::blocks(unsigned a_multiprocessor) const {
  return std::min((nrows_ + TB_SORT_THREADS - 1) / TB_SORT_THREADS,
                  context_.properties().multiprocessors * a_multiprocessor);
}

/* Those that tell rows apart, least significant first. */
void RadixRun::choose_digits() {
  for (unsigned w = input_.words; w-- > 0;)
    for (unsigned d = 0; d < TB_SORT_WORD_DIGITS; d++) {
      const uint32_t* counts = arguments_.host().count.counts[w * TB_SORT_WORD_DIGITS + d];
      if (std::find(counts, counts + TB_SORT_BINS, nrows_) == counts + TB_SORT_BINS) digits_.push_back({w, d});
    }
}

/* Is the word needed once pass `i` has run? */
bool RadixRun::needed_after(size_t i, unsigned word) const {
  auto has_it = [word](const Digit& digit) { return digit.word == word; };
  const auto after = digits_.begin() + static_cast<std::ptrdiff_t>(i) + 1;
  return std::any_of(wants_agree() ? digits_.begin() : after, digits_.end(), has_it);
}

void RadixRun::prepare_pass(size_t i) {
  TbSortPass& pass = arguments_.host().passes[i];
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
  const uint32_t* counts = arguments_.host().count.counts[digit.word * TB_SORT_WORD_DIGITS + digit.digit];
  std::exclusive_scan(counts, counts + TB_SORT_BINS, pass.starts, 0u);
}

/* Words without a pass are equal in all rows, so any order of theirs will do. */
void RadixRun::compare_neighbours() {
  TbSortAgree& agree = arguments_.host().agree;
  agree = {};
  for (unsigned w = 0; w < input_.words; w++) agree.words[w] = pointer(array(w));
  agree.agree = reinterpret_cast<uint8_t*>(agree_array());
  agree.nrows = nrows_;
  agree.nwords = input_.words;
  agree.nkeys = input_.nkeys;
  std::copy_n(input_.key_of_bit.begin(), std::min(input_.key_of_bit.size(), sizeof agree.key_of_bit), agree.key_of_bit);
  arguments_.send(&agree, sizeof agree);
  arguments_.launch(kernels_.agree, blocks(kAgreeBlocks), TB_SORT_THREADS, &agree);
}

}  // namespace turbine::cuda
