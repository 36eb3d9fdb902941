/*
 * cuda_context.cc - the primary context, health, properties and memory pools of one GPU.
 *
 * Shared by the device, its code and its queries. It must never know what a query is.
 */
#include "engine/device/cuda/cuda_context.h"

#include "engine/topology/machine_topology.h"

namespace turbine::cuda {

namespace {

/* Pinned blocks hold arguments, outcomes and results on their way out; more
 * than this is kept from the rest of the machine for nothing. */
constexpr uint64_t kMaxCachedPinned = uint64_t{256} << 20;

/* What a query can do without: a driver that does not tell is no reason to leave the GPU out. */
void read_description(const Driver& driver, DeviceOrdinal ordinal, GpuProperties& properties) {
  int clock_khz = 0, l2_bytes = 0;
  driver.note(driver.device_get_attribute(&clock_khz, kClockRate, ordinal));
  driver.note(driver.device_get_attribute(&l2_bytes, kL2CacheSize, ordinal));
  properties.clock_mhz = static_cast<uint32_t>(clock_khz / 1000);
  properties.l2_bytes = static_cast<uint64_t>(l2_bytes);
  char address[32] = "";
  driver.note(driver.device_get_pci_bus_id(address, static_cast<int>(sizeof(address)) - 1, ordinal));
  properties.pci_address = normal_pci_address(address);
  properties.numa_node = pci_path_of(Sysfs(sysfs_root()), properties.pci_address).numa_node;
}

GpuProperties read_properties(const Driver& driver, DeviceOrdinal ordinal, int driver_version) {
  GpuProperties properties;
  char name[128] = "";
  driver.check(driver.device_get_name(name, static_cast<int>(sizeof(name)) - 1, ordinal));
  properties.name = name;
  properties.ordinal = ordinal;
  driver.check(driver.device_get_uuid(static_cast<void*>(properties.uuid.data()), ordinal));
  int multiprocessors = 0;
  driver.check(driver.device_get_attribute(&properties.major, kComputeCapabilityMajor, ordinal));
  driver.check(driver.device_get_attribute(&properties.minor, kComputeCapabilityMinor, ordinal));
  driver.check(driver.device_get_attribute(&multiprocessors, kMultiprocessorCount, ordinal));
  properties.multiprocessors = static_cast<uint32_t>(multiprocessors > 0 ? multiprocessors : 1);
  size_t total = 0;
  driver.check(driver.device_total_mem(&total, ordinal));
  properties.memory_total = total;
  properties.driver_version = driver_version;
  read_description(driver, ordinal, properties);
  return properties;
}

}  // namespace

PrimaryContext::PrimaryContext(const Driver& driver, DeviceOrdinal ordinal) : driver_(driver), ordinal_(ordinal) {
  driver_.check(driver_.primary_ctx_retain(&handle_, ordinal_));
}

PrimaryContext::~PrimaryContext() { driver_.note(driver_.primary_ctx_release(ordinal_)); }

CudaContext::CudaContext(const DriverFunctions& table, DeviceOrdinal ordinal, int driver_version,
                         uint64_t memory_budget)
    : table_(table),
      driver_(table, &health_, fault_from_environment()),
      primary_(driver_, ordinal),
      properties_(read_properties(driver_, ordinal, driver_version)),
      numa_(Sysfs(sysfs_root()), properties_.numa_node),
      streams_(driver_, primary_.handle()) {
  enter(driver_);
  shares_free_ = memory_budget == 0;
  if (shares_free_) {
    size_t free = 0, total = 0;
    driver_.check(driver_.mem_get_info(&free, &total));
    memory_budget = static_cast<uint64_t>(free) / 100 * MemoryPool::kShareOfFree;
  }
  device_memory_ = std::make_unique<MemoryPool>(MemoryPool::Kind::DEVICE, driver_, primary_.handle(), memory_budget,
                                                memory_budget);
  pinned_memory_ = std::make_unique<MemoryPool>(MemoryPool::Kind::PINNED, driver_, primary_.handle(), UINT64_MAX / 2,
                                                kMaxCachedPinned);
  pinned_memory_->prefer_node(numa_);
}

void CudaContext::raise_budget() {
  if (!shares_free_) return;
  enter(driver_);
  device_memory_->raise_budget();
}

Driver CudaContext::driver_with(std::shared_ptr<FaultInjector> faults) {
  return faults ? Driver(table_, &health_, std::move(faults)) : driver_;
}

void CudaContext::enter(const Driver& driver) const {
  if (health_.lost())
    throw DeviceError(TB_FALLBACK_NO_DEVICE, properties_.name + " is out of use: " + health_.message());
  driver.check(driver.ctx_set_current(primary_.handle()));
}

}  // namespace turbine::cuda
