/*
 * key_code.h - the kernels of key_kernels.c on one GPU.
 */
#pragma once

#include "engine/device/cuda/embedded_code.h"

namespace turbine::cuda {

struct KeyKernels {
  Function ranges, pack, gather;
};

/* Thread-safe. */
class KeyCode {
 public:
  explicit KeyCode(std::shared_ptr<CudaContext> context);

  /* As EmbeddedCode. */
  bool ready() { return code_.ready(); }
  KeyKernels kernels(const Driver& driver);

 private:
  EmbeddedCode code_;
};

}  // namespace turbine::cuda
