/*
 * cuda_exported_memory.cc - see cuda_exported_memory.h.
 *
 * Called by CudaDevice for the engine's exported copies. Every step that succeeded is undone by release(), whichever
 * step fails after it.
 */
#include "engine/device/cuda/memory/cuda_exported_memory.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace turbine::cuda {
namespace {

constexpr uint64_t kStagedHalf = uint64_t{8} << 20;
constexpr auto kCrossingLook = std::chrono::microseconds(20);

}  // namespace

CudaExportedMemory::Staging::Staging(CudaContext& context, const Driver& driver)
    : memory(context.pinned_memory().allocate(driver, 2 * kStagedHalf, nullptr)),
      crossed{UniqueEvent(driver), UniqueEvent(driver)} {}

CudaExportedMemory::CudaExportedMemory(std::shared_ptr<CudaContext> context, const Driver& driver, uint64_t bytes)
    : context_(std::move(context)), driver_(driver) {
  MemoryProperties properties{};
  properties.type = kMemoryPinned;
  properties.handle_types = kHandlePosixDescriptor;
  properties.location = {kLocationDevice, context_->properties().ordinal};
  size_t page = 0;
  driver_.check(driver_.mem_granularity(&page, &properties, kGranularityMinimum));
  page = std::max<size_t>(page, 1);
  size_ = (std::max<uint64_t>(bytes, 1) + page - 1) / page * page;
  try {
    create(properties);
    map(properties);
  } catch (...) {
    release();
    throw;
  }
}

/* What the pool keeps for queries to come is the driver's to give to others. */
void CudaExportedMemory::create(const MemoryProperties& properties) {
  CallResult call = driver_.mem_create(&handle_, static_cast<size_t>(size_), &properties, uint64_t{0});
  if (call.result == kOutOfMemory) {
    context_->device_memory().release_unused();
    call = driver_.mem_create(&handle_, static_cast<size_t>(size_), &properties, uint64_t{0});
  }
  driver_.check(call);
  created_ = true;
  driver_.check(driver_.mem_export(static_cast<void*>(&descriptor_), handle_, kHandlePosixDescriptor, uint64_t{0}));
}

void CudaExportedMemory::map(const MemoryProperties& properties) {
  DevicePtr address = 0;
  driver_.check(
      driver_.mem_address_reserve(&address, static_cast<size_t>(size_), size_t{0}, DevicePtr{0}, uint64_t{0}));
  address_ = address;
  driver_.check(driver_.mem_map(address_, static_cast<size_t>(size_), size_t{0}, handle_, uint64_t{0}));
  mapped_ = true;
  const MemoryAccess access{properties.location, kAccessReadWrite};
  driver_.check(driver_.mem_set_access(address_, static_cast<size_t>(size_), &access, size_t{1}));
}

CudaExportedMemory::~CudaExportedMemory() {
  context_->enter_to_release();
  release();
}

void CudaExportedMemory::unmap() noexcept {
  if (mapped_) driver_.note(driver_.mem_unmap(address_, static_cast<size_t>(size_)));
  if (address_ != 0) driver_.note(driver_.mem_address_free(address_, static_cast<size_t>(size_)));
  mapped_ = false;
  address_ = 0;
}

void CudaExportedMemory::release() noexcept {
  // A copy that failed half way may still read memory that others get now.
  if (stream_) driver_.note(driver_.stream_synchronize(stream_->get()));
  staging_.reset();
  stream_.reset();
  unmap();
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
  if (created_) driver_.note(driver_.mem_release(handle_));
  created_ = false;
}

void CudaExportedMemory::begin_write(uint64_t offset, uint64_t bytes) {
  context_->enter(driver_);
  if (!mapped_ || offset > size_ || bytes > size_ - offset)
    throw DeviceError(TB_FALLBACK_PROTOCOL, "a write beyond exported memory");
  if (!stream_) stream_.emplace(context_->streams(), driver_);
}

void CudaExportedMemory::write_lasting(uint64_t offset, const uint8_t* from, uint64_t bytes) {
  begin_write(offset, bytes);
  driver_.check(driver_.memcpy_htod_async(address_ + offset, from, static_cast<size_t>(bytes), stream_->get()));
}

void CudaExportedMemory::write(uint64_t offset, const uint8_t* from, uint64_t bytes) {
  begin_write(offset, bytes);
  if (!staging_) staging_.emplace(*context_, driver_);
  while (bytes > 0) {
    const size_t half = staging_->next;
    const uint64_t now = std::min(bytes, kStagedHalf);
    uint8_t* const place = staging_->memory.host() + half * kStagedHalf;
    // A half of the memory is filled while the other one crosses the bus.
    while (staging_->under_way[half] && !staging_->crossed[half].reached()) std::this_thread::sleep_for(kCrossingLook);
    std::memcpy(place, from, now);
    driver_.check(driver_.memcpy_htod_async(address_ + offset, place, static_cast<size_t>(now), stream_->get()));
    staging_->crossed[half].record(stream_->get());
    staging_->under_way[half] = true;
    staging_->next = 1 - half;
    from += now;
    offset += now;
    bytes -= now;
  }
}

void CudaExportedMemory::flush() {
  context_->enter(driver_);
  if (stream_) driver_.check(driver_.stream_synchronize(stream_->get()));
  staging_.reset();
  stream_.reset();
}

void CudaExportedMemory::seal() {
  flush();
  unmap();
}

}  // namespace turbine::cuda
