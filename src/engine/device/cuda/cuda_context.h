/*
 * cuda_context.h - what all parts of one GPU share: its primary context, health,
 * properties and memory pools.
 *
 * Lifetime: held by shared_ptr from the device, its loaded code and its
 * queries; the last of them releases the primary context. One a GPU in the
 * process. Must never know what a query is.
 */
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/device/cuda/driver/driver.h"
#include "engine/device/cuda/driver/stream_pool.h"
#include "engine/device/cuda/memory/memory_pool.h"
#include "engine/topology/numa_binding.h"

namespace turbine::cuda {

/* Fixed properties of a GPU. */
struct GpuProperties {
  std::string name;
  DeviceOrdinal ordinal = 0;
  std::array<uint8_t, 16> uuid{};
  int major = 0, minor = 0;
  uint32_t multiprocessors = 0;
  uint64_t memory_total = 0;
  int driver_version = 0;  // 13000 = 13.0
  // What only people read; 0, "" or -1 if the driver or the kernel does not tell.
  uint32_t clock_mhz = 0;
  uint64_t l2_bytes = 0;
  std::string pci_address;  // "0000:19:00.0"
  int numa_node = -1;
};

/* Retains a primary context; releases it in the destructor. */
class PrimaryContext {
 public:
  PrimaryContext(const Driver& driver, DeviceOrdinal ordinal);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  Context handle() const { return handle_; }

 private:
  const Driver& driver_;
  const DeviceOrdinal ordinal_;
  Context handle_ = nullptr;
};

class CudaContext {
 public:
  /* `memory_budget` 0: 85 % of what is free now. Throws DeviceError. */
  CudaContext(const DriverFunctions& table, DeviceOrdinal ordinal, int driver_version, uint64_t memory_budget);

  /* Makes the context current for the calling thread; before any other call.
   * Throws DeviceError, also if the device has been lost. */
  void enter(const Driver& driver) const;

  /* The same where nothing may throw: releasing. */
  void enter_to_release() const noexcept { driver_.note(driver_.ctx_set_current(primary_.handle())); }

  const Driver& driver() const { return driver_; }
  /* A driver with a query's own faults (null: those of the process). */
  Driver driver_with(std::shared_ptr<FaultInjector> faults);

  const GpuProperties& properties() const { return properties_; }
  const DeviceHealth& health() const { return health_; }
  MemoryPool& device_memory() { return *device_memory_; }
  /* As the pool does, unless the budget was given. Enters. Throws DeviceError. */
  void raise_budget();
  MemoryPool& pinned_memory() { return *pinned_memory_; }
  StreamPool& streams() { return streams_; }
  /* The node that the GPU is connected to: for threads that serve it, and memory that it copies from. */
  const NumaBinding& numa() const { return numa_; }

  std::atomic<uint32_t> queries_running{0};
  std::atomic<uint64_t> queries_total{0};

 private:
  const DriverFunctions& table_;
  DeviceHealth health_;
  const Driver driver_;
  PrimaryContext primary_;  // after driver_, before the pools
  GpuProperties properties_;
  bool shares_free_ = false;  // the budget is a share of what is free
  const NumaBinding numa_;  // before the pools
  std::unique_ptr<MemoryPool> device_memory_;
  std::unique_ptr<MemoryPool> pinned_memory_;
  StreamPool streams_;
};

}  // namespace turbine::cuda
