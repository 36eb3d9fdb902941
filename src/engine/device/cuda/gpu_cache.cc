/*
 * gpu_cache.cc - see gpu_cache.h.
 *
 * Owned by cuda_device.cc, shared by its queries.
 */
#include "engine/device/cuda/gpu_cache.h"

#include <algorithm>

#include "engine/limits/process_limits.h"

namespace turbine::cuda {
namespace {

/* Join tables are small beside the columns that are looked up in them. */
constexpr uint64_t kShareOfJoinTables = 16;

/* Each collects a few GB/s, which is waiting for memory for the most part. */
constexpr unsigned kMostThreads = 16;

}  // namespace

GpuCache::GpuCache(const std::shared_ptr<CudaContext>& context, uint32_t device, uint64_t capacity)
    : tier(context, device, capacity - capacity / kShareOfJoinTables),
      join_tables(context, capacity / kShareOfJoinTables) {}

WorkerPool& GpuCache::threads() {
  std::lock_guard lock(mutex_);
  if (!threads_)
    threads_ = std::make_unique<WorkerPool>("gpu columns", std::clamp(usable_processors(), 1u, kMostThreads));
  return *threads_;
}

}  // namespace turbine::cuda
