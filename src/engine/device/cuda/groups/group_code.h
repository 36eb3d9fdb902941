/*
 * group_code.h - the kernel of growth_kernels.c on one GPU.
 */
#pragma once

#include "engine/device/cuda/embedded_code.h"

namespace turbine::cuda {

/* Thread-safe. */
class GroupCode {
 public:
  explicit GroupCode(std::shared_ptr<CudaContext> context);

  /* As EmbeddedCode. */
  bool ready() { return code_.ready(); }
  Function grow(const Driver& driver) { return code_.functions(driver)[0]; }

 private:
  EmbeddedCode code_;
};

}  // namespace turbine::cuda
