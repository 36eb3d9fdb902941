/*
 * gpu_window_test.cc - window functions on a real GPU: values are the host's. Skipped where there is none.
 */
#include <gtest/gtest.h>

#include "engine/device/cuda/driver/driver_functions.h"
#include "engine/device/cuda/testing/window_passes.h"

namespace turbine::cuda::testing {
namespace {

class GpuWindowTest : public ::testing::Test {
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
    codes_ = std::make_unique<WindowCodes>(context_);
  }

  DeviceHealth health_;
  std::shared_ptr<CudaContext> context_;
  MemoryAccount account_{UINT64_MAX};
  std::unique_ptr<WindowCodes> codes_;
};

TEST_F(GpuWindowTest, RandomPasses) {
  std::mt19937_64 random(9);
  const Driver driver = context_->driver();
  CudaWindow window(*context_, codes_->all(), driver, account_);
  AnyWindow any(window);
  for (int round = 0; round < 80; round++) {
    SCOPED_TRACE("round " + std::to_string(round));
    const uint8_t argument = kArguments[random() % std::size(kArguments)];
    static const size_t sizes[] = {1, 777, 30'000, 100'000};
    const TestTable table = window_table(random, argument, sizes[round % std::size(sizes)], random() % 2);
    PlanWriter writer(6);
    for (size_t pass = 0, n = 1 + random() % 2; pass < n; pass++) add_random_pass(random, writer, has_sums(argument));
    if (random() % 2) add_random_conditions(random, writer);
    const bool any_order = random() % 2;
    if (!any_order) writer.order({{5, 0}});
    expect_same(writer, table, any_order, any);
    RowsOnDevice resident(*context_, driver, table, account_);
    window.set_rows(&resident.rows());
    expect_same(writer, table, any_order, any);
    window.set_rows(nullptr);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(any.of_own_rows, 20);
}

/* Keys of every type, packed on the device; orders and limits of the plan. */
TEST_F(GpuWindowTest, KeysOfRowsOnDevice) {
  std::mt19937_64 random(10);
  const Driver driver = context_->driver();
  CudaWindow window(*context_, codes_->all(), driver, account_);
  AnyWindow any(window);
  for (int round = 0; round < 100; round++) {
    SCOPED_TRACE("round " + std::to_string(round));
    const TestTable table = keys_table(random, 1 + random() % 60'000, random() % 2);
    const PlanWriter writer = keys_plan(random);
    RowsOnDevice resident(*context_, driver, table, account_);
    window.set_rows(&resident.rows());
    expect_same(writer, table, false, any);
    window.set_rows(nullptr);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(any.of_own_rows, 100 / 2);
}

}  // namespace
}  // namespace turbine::cuda::testing
