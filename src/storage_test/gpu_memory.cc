/*
 * gpu_memory.cc - see gpu_memory.h.
 *
 * Called by main.cc and storage_pass.cc. It owns the primary context of one GPU while it lives. Every driver call goes
 * through the table of the engine's driver, so that the stand-in driver works here too.
 */
#include "storage_test/gpu_memory.h"

#include <cstring>
#include <stdexcept>

#include "engine/device/cuda/driver/driver_functions.h"
#include "engine/topology/pci_path.h"

namespace turbine {

using namespace cuda;

std::vector<TestGpu> list_test_gpus(std::string* why) {
  const DriverFunctions* driver = load_driver(why);
  int count = 0;
  if (!driver) return {};
  if (driver->init(0) != kSuccess || driver->device_get_count(&count) != kSuccess || count == 0) {
    *why = "the driver sees no GPU";
    return {};
  }
  std::vector<TestGpu> gpus;
  for (int i = 0; i < count; i++) {
    DeviceOrdinal ordinal = 0;
    char name[128] = "", address[32] = "";
    if (driver->device_get(&ordinal, i) != kSuccess) continue;
    driver->device_get_name(name, sizeof name - 1, ordinal);
    driver->device_get_pci_bus_id(address, sizeof address - 1, ordinal);
    gpus.push_back({name, normal_pci_address(address)});
  }
  return gpus;
}

void GpuMemory::check(Result result, const char* doing) const {
  if (result == kSuccess) return;
  const char* name = nullptr;
  driver_.get_error_name(result, &name);
  throw std::runtime_error(std::string(doing) + ": " + (name ? name : "error " + std::to_string(result)));
}

std::unique_ptr<GpuMemory> GpuMemory::open(int gpu, std::string* why) {
  const std::vector<TestGpu> gpus = list_test_gpus(why);
  if (gpus.empty()) return nullptr;
  if (gpu < 0 || static_cast<size_t>(gpu) >= gpus.size()) {
    *why = "there is no GPU " + std::to_string(gpu);
    return nullptr;
  }
  std::unique_ptr<GpuMemory> memory(new GpuMemory(*load_driver(why)));
  memory->gpu_ = gpus[static_cast<size_t>(gpu)];
  try {
    memory->check(memory->driver_.device_get(&memory->ordinal_, gpu), "finding the GPU");
    memory->check(memory->driver_.primary_ctx_retain(&memory->context_, memory->ordinal_), "opening the GPU");
  } catch (const std::runtime_error& error) {
    *why = error.what();
    return nullptr;
  }
  return memory;
}

GpuMemory::~GpuMemory() {
  if (context_) driver_.primary_ctx_release(ordinal_);
}

void GpuMemory::enter() const { check(driver_.ctx_set_current(context_), "entering the GPU"); }

GpuMemory::Buffer::Buffer(const GpuMemory& memory, uint64_t bytes) : memory_(memory) {
  memory.enter();
  try {
    void* host = nullptr;
    memory.check(memory.driver_.mem_host_alloc(&host, bytes, kHostAllocPortable), "allocating pinned memory");
    host_ = static_cast<uint8_t*>(host);
    memory.check(memory.driver_.mem_alloc(&device_, bytes), "allocating GPU memory");
    memory.check(memory.driver_.stream_create(&stream_, kStreamNonBlocking), "making a stream");
  } catch (const std::runtime_error&) {
    if (device_) memory.driver_.mem_free(device_);
    if (host_) memory.driver_.mem_free_host(host_);
    throw;
  }
}

GpuMemory::Buffer::~Buffer() {
  memory_.driver_.ctx_set_current(memory_.context_);
  memory_.driver_.stream_synchronize(stream_);
  memory_.driver_.stream_destroy(stream_);
  memory_.driver_.mem_free(device_);
  memory_.driver_.mem_free_host(host_);
}

void GpuMemory::Buffer::copy_to_gpu(uint64_t bytes) {
  memory_.check(memory_.driver_.memcpy_htod_async(device_, host_, bytes, stream_), "copying to the GPU");
}

void GpuMemory::Buffer::await_copy() {
  memory_.check(memory_.driver_.stream_synchronize(stream_), "copying to the GPU");
}

}  // namespace turbine
