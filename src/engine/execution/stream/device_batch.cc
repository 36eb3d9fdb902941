/*
 * device_batch.cc - see device_batch.h.
 *
 * Called by row_stream.cc on the pool's threads.
 */
#include "engine/execution/stream/device_batch.h"

namespace turbine {
namespace {

struct RegionOfBatch {
  ExportRegion ExportRegions::* device;
  BatchMemory::Region host;
};
constexpr RegionOfBatch kRegionsOfBatch[] = {{&ExportRegions::values, BatchMemory::kValues},
                                             {&ExportRegions::validity, BatchMemory::kValidity},
                                             {&ExportRegions::bytes, BatchMemory::kBytes},
                                             {&ExportRegions::bits, BatchMemory::kBits}};

}  // namespace

void DeviceBatch::fill(std::span<const TbExportColumn> shapes, uint64_t rows, BatchMemory& from) {
  try {
    copy_columns(shapes, rows, from);
  } catch (...) {
    // Copies that are under way read memory that others may get now.
    for (const DeviceColumn& column : columns_) try {
        if (column.memory) column.memory->flush();
      } catch (const DeviceError&) {
      }
    throw;
  }
}

void DeviceBatch::copy_columns(std::span<const TbExportColumn> shapes, uint64_t rows, BatchMemory& from) {
  // All columns cross the bus side by side.
  for (uint32_t i = 0; i < columns_.size(); i++) {
    DeviceColumn& column = columns_[i];
    column.regions = export_regions(shapes[i], rows);
    const uint64_t bytes = place_on_device(column.regions);
    if (!column.memory || column.memory->size() < bytes) {
      column.memory.reset();
      const uint64_t have = bytes_used();
      if (have + device_pages(bytes) > charged_) charge(have + device_pages(bytes) - charged_);
      column.memory = device_.export_memory(bytes);
      if (!column.memory) throw DeviceError(TB_FALLBACK_NO_DEVICE, "the device has no memory for other processes");
    }
    for (const RegionOfBatch& region : kRegionsOfBatch) {
      const ExportRegion& to = column.regions.*region.device;
      if (to.bytes > 0) column.memory->write_lasting(to.offset, from.content(i, region.host, to.bytes), to.bytes);
    }
  }
  for (const DeviceColumn& column : columns_) column.memory->flush();
}

void DeviceBatch::charge(uint64_t bytes) {
  grants_.push_back(admission_.reserve(number_, bytes));
  charged_ += bytes;
}

uint64_t DeviceBatch::bytes_used() const {
  uint64_t bytes = 0;
  for (const DeviceColumn& column : columns_) bytes += column.memory ? column.memory->size() : 0;
  return bytes;
}

void DeviceBatch::hand_over() {
  grants_.clear();
  charged_ = 0;
}

}  // namespace turbine
