/*
 * find_devices.h - the devices of this machine: the only door through which the rest
 * of the engine gets at device/host and device/cuda.
 *
 * Called once, when turbined starts.
 */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/memory/idle_mappings.h"
#include "engine/threads/worker_pool.h"

namespace turbine {

struct DeviceOptions {
  unsigned host_threads = 0;        // 0: one per processor
  uint64_t host_memory_budget = 0;  // 0: a quarter of the memory
  bool use_gpus = true;
  uint64_t gpu_cache_size = kUsualGpuCache;  // of each GPU's memory, for columns of tables
};

struct FoundDevices {
  std::vector<std::unique_ptr<Device>> devices;  // 0: the host
  WorkerPool* host_workers;  // the host device's threads, also for work on other devices' results
  IdleMappings* idle_memory;  // the host device's
  std::string host_cpu;      // the processor's model and instruction sets: machine code is for it alone
  std::string why_no_gpu;    // for the log; "" if there is one
};

/* At most TB_MAX_DEVICES. Throws if the host device cannot start; a missing or unusable
 * GPU is only left out. */
FoundDevices find_devices(const DeviceOptions& options);

}  // namespace turbine
