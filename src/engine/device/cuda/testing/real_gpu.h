/*
 * real_gpu.h - the first GPU of a machine, for tests of kernels; they are skipped where there is none. Not part of the
 * product.
 */
#pragma once

#include <gtest/gtest.h>

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/cuda/driver/driver_functions.h"

namespace turbine::cuda::testing {

class RealGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    const DriverFunctions* table = load_driver(&why);
    if (!table) GTEST_SKIP() << why;
    try {
      const Driver driver(*table, &health_, nullptr);
      driver.check(driver.init(0u));
      int version = 0;
      driver.check(driver.driver_get_version(&version));
      DeviceOrdinal ordinal = 0;
      driver.check(driver.device_get(&ordinal, 0));
      context_ = std::make_shared<CudaContext>(*table, ordinal, version, 0);
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  DeviceHealth health_;
  std::shared_ptr<CudaContext> context_;
  MemoryAccount account_{UINT64_MAX};
};

}  // namespace turbine::cuda::testing
