/*
 * cuda_window_test.cc - window functions with the GPU's own kernels on a fake driver: values are the
 * host's, whatever the pass, and whichever driver call fails.
 */
#include <gtest/gtest.h>

#include "engine/device/cuda/testing/fake_driver.h"
#include "engine/device/cuda/testing/radix_on_host.h"
#include "engine/device/cuda/testing/window_on_host.h"
#include "engine/program/testing/long_form.h"
#include "engine/device/cuda/testing/window_passes.h"
#include "engine/device/cuda/window/window_kernels.h"

namespace turbine::cuda::testing {
namespace {

constexpr uint64_t kWindowMemory = uint64_t{1} << 30;

class CudaWindowTest : public ::testing::Test {
 protected:
  CudaWindowTest() { open({}); }
  ~CudaWindowTest() override {
    if (fake_) close();
  }

  void open(const FakeOptions& options) {
    if (fake_) close();
    fake_ = std::make_unique<FakeDriver>(options);
    set_radix_kernels(*fake_);
    set_window_kernels(*fake_);
    context_ = std::make_shared<CudaContext>(fake_->table(), 0, 13000, kWindowMemory);
    codes_ = std::make_unique<WindowCodes>(context_);
  }
  void close() {
    EXPECT_EQ(context_->device_memory().used(), 0u);
    EXPECT_EQ(context_->pinned_memory().used(), 0u);
    codes_.reset();
    context_.reset();
    EXPECT_EQ(fake_->leaks(), std::vector<std::string>());
    EXPECT_EQ(fake_->misuse(), std::vector<std::string>());
    fake_.reset();
  }

  std::unique_ptr<FakeDriver> fake_;
  std::shared_ptr<CudaContext> context_;
  std::unique_ptr<WindowCodes> codes_;
};

TEST_F(CudaWindowTest, RandomPasses) {
  static const size_t sizes[] = {1, 2, 33, 700, TB_SCAN_TILE, TB_SCAN_TILE + 1, 5000};
  const Driver driver = context_->driver();
  MemoryAccount account(kWindowMemory);
  CudaWindow window(*context_, codes_->all(), driver, account);
  AnyWindow any(window);
  WindowRounds{*context_, window, any, driver, account}.random_passes(5, 100, sizes);
}

/* Keys of every type, packed on the device; orders and limits of the plan. */
TEST_F(CudaWindowTest, KeysOfRowsOnDevice) {
  const Driver driver = context_->driver();
  MemoryAccount account(kWindowMemory);
  CudaWindow window(*context_, codes_->all(), driver, account);
  AnyWindow any(window);
  WindowRounds{*context_, window, any, driver, account}.random_keys(10, 50, 3000);
}

/* The pass's own order, which the plan names as its last. */
TEST_F(CudaWindowTest, OrderOfThePass) {
  std::mt19937_64 random(6);
  const Driver driver = context_->driver();
  MemoryAccount account(kWindowMemory);
  CudaWindow window(*context_, codes_->all(), driver, account);
  AnyWindow any(window);
  const TestTable table = window_table(random, TB_TYPE_INT4, 3000, true);
  for (const uint64_t limit : {uint64_t{40}, uint64_t{TB_NO_LIMIT}})
    for (const bool conditions : {false, true}) {
      PlanWriter writer(6);
      writer.pass({{0, 0}, {5, TB_SORT_DESCENDING}}, 1);
      const uint32_t rank = writer.function(TB_WINDOW_RANK);
      if (conditions) writer.conditions.push_back({rank, 0, 3});
      writer.order({{0, 0}, {5, TB_SORT_DESCENDING}}).limit(limit);
      expect_same(writer, table, false, any);
    }
  EXPECT_EQ(any.runs, 4);
  EXPECT_EQ(any.with_conditions, 2);
}

/* A sum of bigints that has to be one. */
TEST_F(CudaWindowTest, SumsThatDoNotFit) {
  TestTable table;
  table.columns = {{TB_TYPE_INT8, false}};
  for (int i = 0; i < 3; i++) table.rows.push_back({Cell(static_cast<__int128>(INT64_MAX))});
  PlanWriter writer(1);
  writer.pass({}, 0);
  writer.function(TB_WINDOW_SUM, 0, 1);
  const Driver driver = context_->driver();
  MemoryAccount account(kWindowMemory);
  CudaWindow window(*context_, codes_->all(), driver, account);
  AnyWindow any(window);
  WindowQuery query(table, true, &any);
  try {
    rows_of(writer, table, query, false);
    FAIL() << "a sum that does not fit";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.reason, TB_FALLBACK_VALUE);
  }
}

/* What fails on the device is computed by the host; every second call, since each makes a device of its own. */
TEST_F(CudaWindowTest, CallsFail) {
  std::mt19937_64 random(7);
  const TestTable table = window_table(random, TB_TYPE_INT4, 150, true);
  PlanWriter writer(6);
  writer.pass({{0, 0}, {5, 0}}, 1, TB_FRAME_ROWS);
  const uint32_t number = writer.function(TB_WINDOW_ROW_NUMBER);
  writer.function(TB_WINDOW_SUM, kArgument);
  writer.conditions.push_back({number, 0, 4});
  writer.order({{5, 0}});
  WindowQuery host(table, true, nullptr);
  const Rows expected = rows_of(writer, table, host, false);
  uint64_t failed = 0;
  for (const bool own_rows : {false, true})
    for (uint64_t nth = 1;; nth += turbine::testing::step_of(own_rows ? 5 : 13)) {
      open({});
      codes_->load(context_->driver());
      const auto faults = std::make_shared<FaultInjector>(nth, kOutOfMemory);
      const Driver driver = context_->driver_with(faults);
      MemoryAccount account(kWindowMemory);
      CudaWindow window(*context_, codes_->all(), driver, account);
      AnyWindow any(window);
      const Driver sound = context_->driver();
      std::optional<RowsOnDevice> resident;
      if (own_rows) {
        resident.emplace(*context_, sound, table, account);
        window.set_rows(&resident->rows());
      }
      WindowQuery query(table, true, &any);
      ASSERT_EQ(rows_of(writer, table, query, false), expected) << "call " << nth;
      if (faults->calls() < nth) break;
      failed++;
    }
  EXPECT_GT(failed, 15u);
}

TEST_F(CudaWindowTest, MemoryThatIsNotThere) {
  std::mt19937_64 random(8);
  const TestTable table = window_table(random, TB_TYPE_INT8, 5000, true);
  PlanWriter writer(6);
  writer.pass({{0, 0}}, 1);
  writer.function(TB_WINDOW_SUM, kArgument);
  writer.order({{5, 0}});
  const Driver driver = context_->driver();
  for (const uint64_t limit : {1u << 10, 64u << 10, 256u << 10, 400u << 10}) {
    MemoryAccount account(limit);
    CudaWindow window(*context_, codes_->all(), driver, account);
    AnyWindow any(window);
    expect_same(writer, table, false, any);
    EXPECT_EQ(account.available(), limit);
  }
}

}  // namespace
}  // namespace turbine::cuda::testing
