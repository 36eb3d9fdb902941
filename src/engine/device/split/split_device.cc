/*
 * split_device.cc - see split_device.h.
 *
 * Called by execution/ as any device is. It must not choose GPUs, nor keep anything of a query.
 */
#include "engine/device/split/split_device.h"

#include <algorithm>
#include <utility>

#include "engine/device/split/segment_homes.h"
#include "engine/device/split/split_query.h"

namespace turbine {

bool can_split(const Program& program) {
  return program.sink() == TB_SINK_AGGREGATE || program.sink() == TB_SINK_PROJECT;
}

SplitDevice::SplitDevice(std::vector<Device*> devices, WorkerPool& workers)
    : devices_(std::move(devices)), workers_(workers) {}

TbDeviceInfo SplitDevice::info() const {
  TbDeviceInfo info = first().info();
  for (const Device* device : devices_) {
    const TbDeviceInfo other = device->info();
    info.memory_budget = std::min(info.memory_budget, other.memory_budget);
    info.cache_size = std::min(info.cache_size, other.cache_size);
    if (!other.usable) info.usable = 0;
  }
  return info;
}

Device::SegmentShape SplitDevice::segment_shape(const Program& program, uint64_t nblocks) const {
  SegmentShape shape = first().segment_shape(program, nblocks);
  if (shape.rows == 0) return shape;
  shape.range_blocks = home_range_blocks(nblocks);
  shape.threads *= static_cast<uint32_t>(devices_.size());
  return shape;
}

/* Each GPU overlaps chunks of its own. Their size tells needs() whether tasks are large, so it is that of one GPU. */
Device::ChunkShape SplitDevice::chunk_shape(uint64_t nblocks, bool copied) const {
  const auto gpus = static_cast<uint32_t>(devices_.size());
  ChunkShape shape = first().chunk_shape(nblocks, copied);
  shape.nslots = std::min<uint32_t>(shape.nslots * gpus, TB_MAX_SLOTS);
  return shape;
}

bool SplitDevice::has_memory(uint64_t bytes) const {
  return std::all_of(devices_.begin(), devices_.end(),
                     [bytes](const Device* device) { return device->has_memory(bytes); });
}

void SplitDevice::raise_budget() {
  for (Device* device : devices_) device->raise_budget();
}

std::shared_ptr<LoadedCode> SplitDevice::load(std::span<const uint8_t> artifact, const Program& program) {
  std::vector<std::shared_ptr<LoadedCode>> codes;
  for (Device* device : devices_) codes.push_back(device->load(artifact, program));
  return std::make_shared<SplitCode>(std::move(codes));
}

QueryNeeds SplitDevice::needs(const Program& program, double estimated_rows, uint32_t slot_pages,
                              uint32_t nslots) const {
  QueryNeeds most{0};
  for (const Device* device : devices_)
    most.device_bytes = std::max(most.device_bytes,
                                 device->needs(program, estimated_rows, slot_pages, nslots).device_bytes);
  return most;
}

uint64_t SplitDevice::table_bytes(const Program& program, const JoinTables& tables) const {
  uint64_t most = 0;
  for (const Device* device : devices_) most = std::max(most, device->table_bytes(program, tables));
  return most;
}

std::unique_ptr<DeviceQuery> SplitDevice::start(std::shared_ptr<const Program> program,
                                                std::shared_ptr<const std::string> params,
                                                std::shared_ptr<LoadedCode> code, JoinTables tables,
                                                double estimated_rows, uint64_t budget, QueryProfile* profile) {
  if (!can_split(*program)) throw DeviceError(TB_FALLBACK_NO_DEVICE, "the query cannot run on several GPUs");
  const auto split = std::dynamic_pointer_cast<const SplitCode>(code);
  if (!split || split->size() != devices_.size())
    throw DeviceError(TB_FALLBACK_COMPILE, "code that was not loaded on these GPUs");
  std::vector<std::unique_ptr<DeviceQuery>> queries;
  for (size_t i = 0; i < devices_.size(); i++)
    queries.push_back(devices_[i]->start(program, params, split->of(i), tables, estimated_rows, budget, profile));
  return std::make_unique<SplitQuery>(std::move(program), std::move(queries), workers_);
}

Device& SplitDevices::of(const std::vector<uint32_t>& indexes) {
  std::lock_guard lock(mutex_);
  std::unique_ptr<SplitDevice>& set = sets_[indexes];
  if (!set) {
    std::vector<Device*> devices;
    for (const uint32_t index : indexes) devices.push_back(devices_[index].get());
    set = std::make_unique<SplitDevice>(std::move(devices), workers_);
  }
  return *set;
}

}  // namespace turbine
