/*
 * segment_memory.cc - see segment_memory.h.
 *
 * Owned by cuda_device.cc. Called by segment_batch.cc.
 */
#include "engine/device/cuda/segments/segment_memory.h"

#include <algorithm>
#include <thread>

namespace turbine::cuda {
namespace {

/* Each collects some 10 GB/s: enough for a bus of 64, and no more than half of the machine. */
constexpr unsigned kMostThreads = 8;

}  // namespace

WorkerPool& SegmentMemory::threads() {
  std::lock_guard lock(mutex_);
  if (!threads_)
    threads_ = std::make_unique<WorkerPool>("gpu columns",
                                            std::clamp(std::thread::hardware_concurrency() / 2, 1u, kMostThreads));
  return *threads_;
}

}  // namespace turbine::cuda
