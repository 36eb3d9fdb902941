/*
 * gpu_memory.h - what a pass needs of a GPU: pinned host memory, and copies from it.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/cuda/driver/driver_api.h"

namespace turbine {

/* Names as the engine's GPUs have them: the driver's order. */
struct TestGpu {
  std::string name;
  std::string pci_address;
};

/* One GPU. Any thread; each thread calls enter() first. */
class GpuMemory {
 public:
  /* Null with `why`: there is no driver, or no such GPU. */
  static std::unique_ptr<GpuMemory> open(int gpu, std::string* why);
  ~GpuMemory();
  GpuMemory(const GpuMemory&) = delete;

  const TestGpu& gpu() const { return gpu_; }
  void enter() const;

  /* A buffer in pinned host memory, with a place on the GPU of the same size and a stream that copies to it. */
  class Buffer {
   public:
    Buffer(const GpuMemory& memory, uint64_t bytes);  // throws std::runtime_error
    ~Buffer();
    Buffer(const Buffer&) = delete;
    uint8_t* host() const { return host_; }
    void copy_to_gpu(uint64_t bytes);  // starts it; throws std::runtime_error
    void await_copy();

   private:
    const GpuMemory& memory_;
    uint8_t* host_ = nullptr;
    cuda::DevicePtr device_ = 0;
    cuda::Stream stream_ = nullptr;
  };

 private:
  explicit GpuMemory(const cuda::DriverFunctions& driver) : driver_(driver) {}
  void check(cuda::Result result, const char* doing) const;

  const cuda::DriverFunctions& driver_;
  TestGpu gpu_;
  cuda::DeviceOrdinal ordinal_ = 0;
  cuda::Context context_ = nullptr;
};

/* All GPUs of the driver; none, with `why`, if there is no driver. */
std::vector<TestGpu> list_test_gpus(std::string* why);

}  // namespace turbine
