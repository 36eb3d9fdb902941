/*
 * device_key_sort.h - sorts packed keys on a GPU, for one query.
 *
 * Keys go to the device word by word, through pinned memory that the host's threads fill
 * while earlier pieces cross the bus; then a kernel counts the values of all digits, one pass
 * follows for each digit that is not the same in all rows, and the rows' numbers come back the
 * same way. Device memory is charged to the query.
 */
#pragma once

#include <memory>
#include <optional>

#include "engine/device/cuda/driver/stream.h"
#include "engine/device/cuda/embedded_kernels.h"
#include "engine/device/key_sort.h"

namespace turbine::cuda {

/* Of one sort, for whoever measures. */
struct KeySortFigures {
  uint64_t send_us = 0;     // packing keys and copying them, until they are counted
  uint64_t passes_us = 0;   // all passes, and comparing neighbours
  uint64_t fetch_us = 0;    // copying the order back, and taking it
  unsigned passes = 0;
  uint64_t device_bytes = 0;
};

class DeviceKeySort : public KeySort {
 public:
  /* All must outlive it. `driver` has the query's faults. */
  DeviceKeySort(CudaContext& context, RadixCode& code, const Driver& driver, MemoryAccount& account)
      : context_(context), code_(code), driver_(driver), account_(account) {}

  bool pays(uint64_t count, unsigned words, unsigned threads) const override;
  void sort(const KeySortInput& input, const TakeSortedRows& take, ParallelWork& work) override;

  /* Of the last sort() that came to its end. */
  const KeySortFigures& figures() const { return figures_; }

 private:
  CudaContext& context_;
  RadixCode& code_;
  const Driver& driver_;
  MemoryAccount& account_;
  KeySortFigures figures_;
};

}  // namespace turbine::cuda
