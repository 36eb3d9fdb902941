/*
 * window_code.h - the kernels of window_kernels.c on one GPU.
 */
#pragma once

#include <string_view>

#include "engine/device/cuda/embedded_code.h"

namespace turbine::cuda {

struct WindowKernels {
  Function totals, before, scan, emit, take;
};

/* Thread-safe. */
class WindowCode {
 public:
  explicit WindowCode(std::shared_ptr<CudaContext> context);

  /* As EmbeddedCode. */
  bool ready() { return code_.ready(); }
  WindowKernels kernels(const Driver& driver);

 private:
  EmbeddedCode code_;
};

}  // namespace turbine::cuda
