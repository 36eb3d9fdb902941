/*
 * radix_code.h - the kernels of radix_kernels.c on one GPU: their PTX is part of this
 * program, and is loaded when the first query sorts.
 */
#pragma once

#include <memory>
#include <mutex>
#include <string_view>

#include "engine/device/cuda/cuda_context.h"

namespace turbine::cuda {

/* Ends in a NUL, which is not counted. */
std::string_view radix_ptx();

struct RadixKernels {
  Function count = nullptr, pass = nullptr, agree = nullptr;
};

/* Thread-safe. */
class RadixCode {
 public:
  /* `max_registers` of a thread, see sort_tuning.h. */
  RadixCode(std::shared_ptr<CudaContext> context, unsigned max_registers);
  ~RadixCode();
  RadixCode(const RadixCode&) = delete;

  /* Loads them if nobody has; `driver` makes the calls. The context must be current. Throws
   * DeviceError, and then the next call tries again. */
  RadixKernels kernels(const Driver& driver);

 private:
  const std::shared_ptr<CudaContext> context_;
  const unsigned max_registers_;
  std::mutex mutex_;  // protects what follows
  Module module_ = nullptr;
  RadixKernels kernels_;
};

}  // namespace turbine::cuda
