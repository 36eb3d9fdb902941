/*
 * segment_kernels.h - the kernels that are the same for all programs, loaded on one GPU when they
 * are first needed.
 *
 * Thread-safe. The device's context must be current.
 */
#pragma once

#include <memory>
#include <mutex>
#include <string_view>

#include "engine/device/cuda/cuda_context.h"

namespace turbine::cuda {

/* Their PTX. */
std::string_view segment_kernels_ptx();

class SegmentKernels {
 public:
  explicit SegmentKernels(std::shared_ptr<CudaContext> context) : context_(std::move(context)) {}
  ~SegmentKernels();
  SegmentKernels(const SegmentKernels&) = delete;

  /* kernels/decode_segments.h. Throws DeviceError. */
  Function decode(const Driver& driver);

 private:
  const std::shared_ptr<CudaContext> context_;
  std::mutex mutex_;  // protects what follows
  Module module_ = nullptr;
  Function decode_ = nullptr;
};

}  // namespace turbine::cuda
