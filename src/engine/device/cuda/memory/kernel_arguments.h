/*
 * kernel_arguments.h - what kernels are told, in pinned memory and on the device: parts of a struct go there one by
 * one, each before the kernel whose argument it is.
 */
#pragma once

#include "engine/device/cuda/cuda_context.h"

namespace turbine::cuda {

template <class T>
class KernelArguments {
 public:
  /* All must outlive it; what is in flight on the stream must end before it does. The context must be current. Throws
   * DeviceError. */
  KernelArguments(CudaContext& context, const Driver& driver, MemoryAccount& account, Stream stream)
      : driver_(driver),
        stream_(stream),
        pinned_(context.pinned_memory().allocate(driver, sizeof(T), nullptr)),
        device_(context.device_memory().allocate(driver, sizeof(T), &account)) {}

  T& host() const { return *reinterpret_cast<T*>(pinned_.host()); }

  /* The address there of a part of host(). */
  DevicePtr on_device(const void* part) const {
    return device_.device() + static_cast<uint64_t>(static_cast<const uint8_t*>(part) - pinned_.host());
  }
  /* Both start a copy. */
  void send(const void* part, uint64_t bytes) const {
    driver_.check(driver_.memcpy_htod_async(on_device(part), part, static_cast<size_t>(bytes), stream_));
  }
  void fetch(void* part, uint64_t bytes) const {
    driver_.check(driver_.memcpy_dtoh_async(part, on_device(part), static_cast<size_t>(bytes), stream_));
  }
  /* Starts a kernel whose argument is there. */
  void launch(Function kernel, unsigned grid, unsigned threads, const void* part) const {
    DevicePtr argument = on_device(part);
    void* parameters[] = {&argument};
    driver_.check(driver_.launch_kernel(kernel, grid, 1u, 1u, threads, 1u, 1u, 0u, stream_,
                                        static_cast<void**>(parameters), static_cast<void**>(nullptr)));
  }

 private:
  const Driver& driver_;
  const Stream stream_;
  const Block pinned_, device_;
};

}  // namespace turbine::cuda
