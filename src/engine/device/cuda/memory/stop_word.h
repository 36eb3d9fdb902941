/*
 * stop_word.h - a word by which a query tells its kernels that nobody wants their results any more.
 *
 * It lies in pinned memory of the host, where kernels read it once they have run for 10 ms (rt_stop_wanted,
 * tb_stop_wanted). So setting it makes no call of the driver, and waits for no copy that is queued behind the very
 * kernel that is to end. What a stopped kernel leaves behind means nothing.
 */
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/device/cuda/cuda_context.h"

namespace turbine::cuda {

class StopWord {
 public:
  /* The context must be current. Throws DeviceError. */
  StopWord(CudaContext& context, const Driver& driver)
      : word_(context.pinned_memory().allocate(driver, sizeof(uint32_t), nullptr)) {
    value().store(0, std::memory_order_relaxed);
  }

  /* Any thread; for good. */
  void set() const { value().store(1, std::memory_order_relaxed); }
  bool is_set() const { return value().load(std::memory_order_relaxed) != 0; }

  /* Pinned memory has one address for the host and for all GPUs. */
  const uint32_t* address() const { return reinterpret_cast<const uint32_t*>(word_.host()); }

 private:
  std::atomic_ref<uint32_t> value() const {
    return std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(word_.host()));
  }

  const Block word_;
};

}  // namespace turbine::cuda
