/*
 * find_gpus.cc - the usable GPUs of this machine.
 *
 * Called by find_devices.cc when turbined starts. It must never throw: without a GPU the
 * list is empty.
 */
#include "engine/device/cuda/find_gpus.h"

#include <algorithm>

#include "engine/device/cuda/cuda_device.h"
#include "engine/device/cuda/driver/driver_functions.h"

namespace turbine {

namespace {

using namespace cuda;

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/* Of what queries and columns have together. */
constexpr uint64_t kUsualCacheShare = 40;  // percent

/* One GPU; throws DeviceError if it is of no use. */
std::unique_ptr<Device> open_device(const DriverFunctions& table, const Driver& driver, int index, int driver_version,
                                    uint64_t memory_budget, uint64_t cache_size) {
  DeviceOrdinal ordinal = 0;
  driver.check(driver.device_get(&ordinal, index));
  auto context = std::make_shared<CudaContext>(table, ordinal, driver_version, memory_budget);
  const GpuProperties& gpu = context->properties();
  if (gpu.major * 10 + gpu.minor < kOldestCapability)
    throw DeviceError(TB_FALLBACK_NO_DEVICE, gpu.name + " is older than compute capability " +
                                                 std::to_string(kOldestCapability / 10) + "." +
                                                 std::to_string(kOldestCapability % 10));
  const uint64_t memory = context->device_memory().budget();
  const uint64_t cache = cache_size == kUsualGpuCache ? memory / 100 * kUsualCacheShare : std::min(cache_size, memory);
  return std::make_unique<CudaDevice>(std::move(context), static_cast<uint32_t>(index) + 1, cache);
}

std::vector<std::unique_ptr<Device>> open_all(const DriverFunctions& table, std::string* why_none,
                                              uint64_t memory_budget, uint64_t cache_size) {
  DeviceHealth health;
  const Driver driver(table, &health, fault_from_environment());
  driver.check(driver.init(0u));
  int version = 0, count = 0;
  driver.check(driver.driver_get_version(&version));
  if (version < kOldestDriver)
    throw DeviceError(TB_FALLBACK_NO_DEVICE, "the driver's CUDA version is " + version_text(version) + ", needed is " +
                                                 version_text(kOldestDriver));
  driver.check(driver.device_get_count(&count));

  std::vector<std::unique_ptr<Device>> devices;
  std::string reason = "the driver sees no GPU";
  for (int index = 0; index < count; index++) {
    try {
      devices.push_back(open_device(table, driver, index, version, memory_budget, cache_size));
    } catch (const DeviceError& error) {
      reason = "GPU " + std::to_string(index) + ": " + error.what();
    }
  }
  if (devices.empty() && why_none) *why_none = reason;
  return devices;
}

}  // namespace

std::vector<std::unique_ptr<Device>> find_gpus(const DriverFunctions& table, std::string* why_none,
                                               uint64_t memory_budget, uint64_t cache_size) noexcept {
  try {
    return open_all(table, why_none, memory_budget, cache_size);
  } catch (const std::exception& error) {
    if (why_none) *why_none = error.what();
    return {};
  }
}

std::vector<std::unique_ptr<Device>> find_gpus(std::string* why_none, uint64_t memory_budget,
                                               uint64_t cache_size) noexcept {
  const DriverFunctions* table = load_driver(why_none);
  if (!table) return {};
  return find_gpus(*table, why_none, memory_budget, cache_size);
}

}  // namespace turbine
