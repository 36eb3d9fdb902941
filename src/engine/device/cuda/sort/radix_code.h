/*
 * radix_code.h - the kernels of radix_kernels.c on one GPU: their PTX is part of this
 * program, and is loaded beside the first query that would sort there, which takes the driver 0.1 s.
 */
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

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

  /* Whether they are loaded; else somebody begins to, and the host may sort meanwhile. If they can not be loaded
   * they never will be. */
  bool ready();

  /* Loads them if nobody has; `driver` makes the calls. The context must be current. Throws
   * DeviceError, and then the next call tries again. */
  RadixKernels kernels(const Driver& driver);

 private:
  const std::shared_ptr<CudaContext> context_;
  const unsigned max_registers_;
  std::mutex mutex_;  // protects what follows
  Module module_ = nullptr;
  RadixKernels kernels_;
  std::thread loader_;
};

}  // namespace turbine::cuda
