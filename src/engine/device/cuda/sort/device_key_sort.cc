/*
 * device_key_sort.cc - sorts packed keys on a GPU.
 *
 * Called by result/order through key_sort.h on the query's thread; leaves nothing behind if it fails.
 */
#include "engine/device/cuda/sort/device_key_sort.h"

#include <algorithm>

#include "engine/device/cuda/sort/radix_run.h"
#include "engine/device/cuda/sort/sort_tuning.h"
#include "engine/profile/stopwatch.h"

namespace turbine::cuda {

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
