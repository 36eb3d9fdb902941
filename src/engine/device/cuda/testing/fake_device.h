/*
 * fake_device.h - a GPU that a fake driver shows; for tests only.
 *
 * Checks when it goes that the device has given back all that it took.
 */
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/device/cuda/find_gpus.h"
#include "engine/device/cuda/testing/fake_driver.h"

namespace turbine::cuda::testing {

class FakeDevice {
 public:
  /* `set_kernels(FakeDriver&)`: before the GPU is found. `cache_size`: for columns of tables. */
  template <class SetKernels>
  FakeDevice(const FakeOptions& options, SetKernels set_kernels, uint64_t cache_size = 0) : fake_(options) {
    set_kernels(fake_);
    std::string why;
    devices_ = find_gpus(fake_.table(), &why, 0, cache_size);
    EXPECT_EQ(devices_.size(), 1u) << why;
  }
  ~FakeDevice() {
    EXPECT_EQ(devices_[0]->info().memory_used, 0u);
    devices_.clear();
    EXPECT_EQ(fake_.leaks(), std::vector<std::string>());
    EXPECT_EQ(fake_.misuse(), std::vector<std::string>());
  }
  Device& operator*() { return *devices_[0]; }
  FakeDriver& driver() { return fake_; }

 private:
  FakeDriver fake_;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace turbine::cuda::testing
