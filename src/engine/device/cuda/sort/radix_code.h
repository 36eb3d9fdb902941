/*
 * radix_code.h - the kernels of radix_kernels.c on one GPU.
 */
#pragma once

#include <string_view>

#include "engine/device/cuda/embedded_code.h"

namespace turbine::cuda {

/* Ends in a NUL, which is not counted. */
std::string_view radix_ptx();

struct RadixKernels {
  Function count, pass, agree;
};

/* Thread-safe. */
class RadixCode {
 public:
  /* `max_registers` of a thread, see sort_tuning.h. */
  RadixCode(std::shared_ptr<CudaContext> context, unsigned max_registers);

  /* As EmbeddedCode. */
  bool ready() { return code_.ready(); }
  RadixKernels kernels(const Driver& driver);

 private:
  EmbeddedCode code_;
};

}  // namespace turbine::cuda
