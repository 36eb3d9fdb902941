/*
 * cuda_window.h - window functions on a GPU, for one query.
 *
 * Rows are sorted as in device_key_sort.h, and the order stays on the device. The columns that functions
 * read follow through pinned memory; scans and one kernel for all functions make their values there
 * (window_kernels.c). Device memory is charged to the query.
 */
#pragma once

#include "engine/device/cuda/sort/device_key_sort.h"
#include "engine/device/cuda/window/window_code.h"
#include "engine/device/device_window.h"

namespace turbine::cuda {

class CudaWindow : public DeviceWindow {
 public:
  /* All must outlive it. `driver` has the query's faults. */
  CudaWindow(CudaContext& context, RadixCode& sort, WindowCode& code, const Driver& driver, MemoryAccount& account)
      : context_(context), sort_(sort), code_(code), driver_(driver), account_(account) {}

  bool pays(uint64_t count, unsigned words, unsigned threads) const override;
  std::unique_ptr<DeviceWindowRun> run(const WindowInput& input, ParallelWork& work) override;

 private:
  CudaContext& context_;
  RadixCode& sort_;
  WindowCode& code_;
  const Driver& driver_;
  MemoryAccount& account_;
};

}  // namespace turbine::cuda
