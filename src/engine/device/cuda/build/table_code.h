/*
 * table_code.h - the kernels of table_kernels.c on one GPU.
 */
#pragma once

#include "engine/device/cuda/embedded_code.h"

namespace turbine::cuda {

struct TableKernels {
  Function bounds, mark, sums, scan, ranks, place, buckets;
};

/* Thread-safe. */
class TableCode {
 public:
  explicit TableCode(std::shared_ptr<CudaContext> context);

  /* As EmbeddedCode. */
  bool ready() { return code_.ready(); }
  TableKernels kernels(const Driver& driver);

 private:
  EmbeddedCode code_;
};

}  // namespace turbine::cuda
