/*
 * engine.cc - everything that queries share.
 *
 * Owns devices, pools, caches and slot memory, and the order in which they end: whatever uses
 * a device goes before it. Made once, by the daemon's main.cc.
 */
#include "engine/execution/engine.h"

#include <algorithm>

#include "engine/limits/process_limits.h"

namespace turbine {
namespace {

/* Of the cache's memory, what kept join tables may have. */
constexpr uint64_t kKeptTablesShare = 16;

/* Readers mostly copy from the page cache, and else wait for the disk: a few
 * more than processors keep a drive's queue filled on small machines. */
unsigned reader_threads() { return std::clamp(usable_processors(), 4u, 16u); }

std::vector<uint64_t> budgets(const std::vector<std::unique_ptr<Device>>& devices) {
  std::vector<uint64_t> result;
  for (const auto& device : devices) result.push_back(device->info().memory_budget);
  return result;
}

/* Where the GPUs are among the machine's drives. */
MachineTopology topology_of(const std::vector<std::unique_ptr<Device>>& devices) {
  std::vector<TopologyGpu> gpus;
  for (const auto& device : devices) {
    const TbDeviceInfo info = device->info();
    if (info.kind != 0) gpus.push_back({info.name, info.pci_address, {}});
  }
  return MachineTopology(Sysfs(sysfs_root()), std::move(gpus));
}

}  // namespace

Engine::Engine(const EngineOptions& options) : Engine(options, find_devices(options.devices)) {}

Engine::Engine(const EngineOptions& options, FoundDevices found)
    : Engine(options, std::move(found),
             options.column_store_bytes != UINT64_MAX ? options.column_store_bytes : memory_limit() / 4) {}

Engine::Engine(const EngineOptions& options, FoundDevices found, uint64_t cache_bytes)
    : memory(memory_limit()),
      why_no_gpu(std::move(found.why_no_gpu)),
      devices(std::move(found.devices)),
      topology(topology_of(devices)),
      workers(*found.host_workers),
      idle_memory(*found.idle_memory),
      split_devices(devices, workers),
      compiler(options.compiler_path, options.compile_timeout_s),
      store(options.cache_directory, options.cache_bytes),
      code(compiler, store, std::move(found.host_cpu), options.max_loaded_programs),
      compile_ahead(code),
      column_store(cache_bytes - cache_bytes / kKeptTablesShare),
      kept_tables(cache_bytes / kKeptTablesShare),
      slot_memory(options.max_idle_slot_bytes),
      leases(slot_memory),
      admission(budgets(devices)),
      merger(column_store),
      readers("reader", reader_threads()),
      storage(readers) {}

TbDeviceInfo Engine::device_info(uint32_t index) {
  TbDeviceInfo info = devices[index]->info();
  const Admission::Usage usage = admission.usage(index);
  info.memory_budget = usage.budget;
  // Grants, unless the device has lent more than that: a leak must show.
  info.memory_used = std::max(usage.used, info.memory_used);
  info.queries_running = usage.queries_running;
  info.queries_total = usage.queries_total;
  return info;
}

}  // namespace turbine
