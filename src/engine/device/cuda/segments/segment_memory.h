/*
 * segment_memory.h - what the queries of one GPU share to read stored columns: the copies that it has, and
 * threads that collect what it has not.
 */
#pragma once

#include <memory>
#include <mutex>

#include "engine/device/cuda/segments/segment_tier.h"
#include "engine/threads/worker_pool.h"

namespace turbine::cuda {

class SegmentMemory {
 public:
  /* As SegmentTier. */
  SegmentMemory(const std::shared_ptr<CudaContext>& context, uint32_t device, uint64_t capacity)
      : tier(context, device, capacity) {}

  SegmentTier tier;

  /* Started when they are first needed. Thread-safe. */
  WorkerPool& threads();

 private:
  std::mutex mutex_;
  std::unique_ptr<WorkerPool> threads_;
};

}  // namespace turbine::cuda
