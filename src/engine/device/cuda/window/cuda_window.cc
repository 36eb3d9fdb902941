/*
 * cuda_window.cc - window functions on a GPU.
 *
 * Called by result/window through device_window.h on the query's thread.
 */
#include "engine/device/cuda/window/cuda_window.h"

#include <algorithm>

#include "engine/device/cuda/sort/sort_tuning.h"
#include "engine/device/cuda/window/cuda_window_run.h"

namespace turbine::cuda {

bool CudaWindow::pays(uint64_t count, unsigned words, unsigned threads) const {
  return words <= kMostSortWords && count >= std::max(kLeastSortRows, kSortRowsPerThread * threads) &&
         count < TB_SORT_MOST_ROWS && sort_.ready() && code_.ready();
}

std::unique_ptr<DeviceWindowRun> CudaWindow::run(const WindowInput& input, ParallelWork& work) {
  context_.enter(driver_);
  auto run = std::make_unique<CudaWindowRun>(context_, sort_.kernels(driver_), code_.kernels(driver_), driver_,
                                             account_, input, work);
  run->compute(work);
  return run;
}

}  // namespace turbine::cuda
