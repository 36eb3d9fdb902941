/*
 * radix_run.h - one sort of packed keys on a GPU, from their coming to the order, which stays on the device
 * as long as this.
 *
 * Made by device_key_sort.cc, and by cuda_window.cc, whose window functions run over the order. Driver calls are
 * made by the query's thread, and by threads of the host that pack and take. All functions throw DeviceError.
 */
#pragma once

#include <array>
#include <vector>

#include "engine/device/cuda/embedded_kernels.h"
#include "engine/device/cuda/memory/kernel_arguments.h"
#include "engine/device/cuda/memory/pinned_staging.h"
#include "engine/device/cuda/sort/radix_kernels.h"
#include "engine/device/key_sort.h"

namespace turbine::cuda {

class RadixRun {
 public:
  /* All must outlive it. The context must be current, here and in all that follows. */
  RadixRun(CudaContext& context, const RadixKernels& kernels, const Driver& driver, MemoryAccount& account,
           const KeySortInput& input, ParallelWork& work);

  /* Packs and copies the keys; until the digits' counts are here. */
  void send();
  /* Or somebody else has put the keys where they belong, on the stream. */
  DevicePtr word(unsigned w) const { return array(w); }
  void count();
  /* Until the order is there, on the device. */
  void sort();
  /* The order, as KeySort::sort() gives it. */
  void fetch(const TakeSortedRows& take);

  /* After sort(): rows by their places in the order, and what each agrees in with the one before, if that was
   * wanted; 0: all keys are equal, so rows have their own order. */
  DevicePtr order() const { return digits_.empty() ? 0 : array(input_.words); }
  DevicePtr agree() const { return digits_.empty() ? 0 : agree_array(); }

  Stream stream() const { return stream_.get(); }
  uint64_t device_bytes() const { return device_.size(); }
  unsigned passes() const { return static_cast<unsigned>(digits_.size()); }

 private:
  /* What kernels are told, on the device and in pinned memory. */
  struct Arguments {
    TbSortCount count;
    TbSortAgree agree;
    TbSortPass passes[TB_SORT_MOST_DIGITS];
  };
  struct Digit {
    unsigned word, digit;  // digit of the word, from the least significant
  };

  bool wants_agree() const { return !input_.key_of_bit.empty(); }
  uint64_t tiles_bytes() const { return uint64_t{tiles_} * TB_SORT_BINS * sizeof(uint32_t); }
  uint64_t counts_bytes() const { return uint64_t{input_.words} * sizeof(TbSortCount::counts) / TB_SORT_MOST_WORDS; }
  unsigned blocks(unsigned a_multiprocessor) const;

  /* A word of the keys, or, behind them, the rows' numbers: where it lies now. */
  DevicePtr array(unsigned a) const { return place(a, moved_[a]); }
  DevicePtr place(unsigned a, bool moved) const { return device_.device() + (2 * a + (moved ? 1 : 0)) * array_bytes_; }
  /* A byte a row, where the rows' numbers do not lie. */
  DevicePtr agree_array() const { return place(input_.words, !moved_[input_.words]); }

  void choose_digits();
  bool needed_after(size_t i, unsigned word) const;
  void prepare_pass(size_t i);
  void compare_neighbours();

  CudaContext& context_;
  const RadixKernels kernels_;
  const Driver& driver_;
  const KeySortInput& input_;
  const uint32_t nrows_, tiles_;
  const uint64_t array_bytes_, tiles_at_;
  std::array<bool, kMostSortWords + 1> moved_{};  // words, and the rows' numbers: the second of two places
  std::vector<Digit> digits_;
  Block device_;
  UniqueStream stream_;
  KernelArguments<Arguments> arguments_;
  PinnedStaging staging_;
  StreamWait wait_;  // last
};

}  // namespace turbine::cuda
