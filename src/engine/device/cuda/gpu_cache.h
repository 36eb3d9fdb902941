/*
 * gpu_cache.h - what a GPU keeps between queries: copies of stored columns and of join tables; and threads
 * that collect columns that it has no copy of.
 */
#pragma once

#include <memory>
#include <mutex>

#include "engine/device/cuda/memory/join_table_copies.h"
#include "engine/device/cuda/segments/segment_tier.h"
#include "engine/threads/worker_pool.h"

namespace turbine::cuda {

class GpuCache {
 public:
  /* As SegmentTier. */
  GpuCache(const std::shared_ptr<CudaContext>& context, uint32_t device, uint64_t capacity);

  SegmentTier tier;
  JoinTableCopies join_tables;

  uint64_t capacity() const { return tier.capacity() + join_tables.capacity(); }
  uint64_t used() const { return tier.used() + join_tables.used(); }

  /* Gives back copies of what the host has forgotten. */
  void forget_dropped() {
    tier.forget_dropped();
    join_tables.forget_dropped();
  }

  /* Started when they are first needed. Thread-safe. */
  WorkerPool& threads();

 private:
  std::mutex mutex_;
  std::unique_ptr<WorkerPool> threads_;
};

}  // namespace turbine::cuda
