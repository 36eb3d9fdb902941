/*
 * gpu_window_test.cc - window functions on a real GPU: values are the host's. Skipped where there is none.
 */
#include <gtest/gtest.h>

#include "engine/device/cuda/testing/real_gpu.h"
#include "engine/device/cuda/testing/window_passes.h"

namespace turbine::cuda::testing {
namespace {

class GpuWindowTest : public RealGpuTest {
 protected:
  void SetUp() override {
    RealGpuTest::SetUp();
    if (!context_) return;
    codes_ = std::make_unique<WindowCodes>(context_);
    window_.emplace(*context_, codes_->all(), context_->driver(), account_);
    any_.emplace(*window_);
  }
  WindowRounds rounds() { return {*context_, *window_, *any_, context_->driver(), account_}; }

  std::unique_ptr<WindowCodes> codes_;
  std::optional<CudaWindow> window_;
  std::optional<AnyWindow> any_;
};

TEST_F(GpuWindowTest, RandomPasses) {
  static const size_t sizes[] = {1, 777, 30'000, 100'000};
  rounds().random_passes(9, 80, sizes);
}

TEST_F(GpuWindowTest, KeysOfRowsOnDevice) { rounds().random_keys(10, 100, 60'000); }

}  // namespace
}  // namespace turbine::cuda::testing
