/*
 * embedded_kernels.h - all kernels on one GPU that are a part of this program.
 */
#pragma once

#include "engine/device/cuda/build/table_code.h"
#include "engine/device/cuda/groups/group_code.h"
#include "engine/device/cuda/sort/radix_code.h"
#include "engine/device/cuda/sort/sort_tuning.h"
#include "engine/device/cuda/window/key_code.h"
#include "engine/device/cuda/window/window_code.h"

namespace turbine::cuda {

/* Thread-safe. */
struct EmbeddedKernels {
  explicit EmbeddedKernels(const std::shared_ptr<CudaContext>& context)
      : sort(context, kSortRegisters), tables(context), groups(context), windows(context), keys(context) {}

  RadixCode sort;
  TableCode tables;
  GroupCode groups;
  WindowCode windows;
  KeyCode keys;
};

}  // namespace turbine::cuda
