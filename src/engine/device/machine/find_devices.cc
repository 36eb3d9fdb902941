/*
 * find_devices.cc - makes the host device, and a device for each usable GPU.
 *
 * Owns nothing; the engine keeps what is returned. The only file outside device/host
 * and device/cuda that names their classes.
 */
#include "engine/device/machine/find_devices.h"

#include "engine/device/cuda/find_gpus.h"
#include "engine/device/host/host_device.h"

namespace turbine {

FoundDevices find_devices(const DeviceOptions& options) {
  FoundDevices found;
  auto host = std::make_unique<HostDevice>(HostDeviceOptions{options.host_threads, options.host_memory_budget});
  found.host_workers = &host->pool();
  found.idle_memory = &host->idle_memory();
  found.host_cpu = host_cpu_fingerprint();
  found.devices.push_back(std::move(host));
  if (!options.use_gpus) {
    found.why_no_gpu = "switched off";
    return found;
  }
  for (auto& gpu : find_gpus(&found.why_no_gpu, 0, options.gpu_cache_size))
    if (found.devices.size() < TB_MAX_DEVICES) found.devices.push_back(std::move(gpu));
  return found;
}

}  // namespace turbine
