/*
 * device_table_build_test.cc - tables that a GPU builds, by the kernels' own source on the host:
 * what look-ups find, the copy that stays on the device, little memory, and every driver call
 * failing in turn.
 */
#include "engine/device/cuda/build/device_table_build.h"

#include <gtest/gtest.h>

#include "engine/device/cuda/driver/fault.h"
#include "engine/device/cuda/driver/stream.h"
#include "engine/device/cuda/testing/fake_driver.h"
#include "engine/device/cuda/testing/table_kernels_on_host.h"
#include "engine/device/testing/join_table_cases.h"
#include "engine/program/testing/long_form.h"

namespace turbine {
namespace {

using cuda::testing::FakeDriver;
using cuda::testing::FakeOptions;

constexpr uint64_t kEnough = uint64_t{2} << 30;

/* A GPU of the fake driver's, which must have all its memory back in the end. */
class TableGpu {
 public:
  explicit TableGpu(const FakeOptions& options = {}) : fake_(options) {
    cuda::testing::set_table_kernels(fake_);
    context_ = std::make_shared<cuda::CudaContext>(fake_.table(), 0, 13000, kEnough);
    code_ = std::make_unique<cuda::TableCode>(context_);
  }
  ~TableGpu() {
    EXPECT_EQ(context_->device_memory().used(), 0u);
    EXPECT_EQ(context_->pinned_memory().used(), 0u);
    code_.reset();
    context_.reset();
    EXPECT_EQ(fake_.leaks(), std::vector<std::string>());
    EXPECT_EQ(fake_.misuse(), std::vector<std::string>());
  }
  FakeDriver& fake() { return fake_; }
  /* The query is closed from now on. */
  void close() { closed_ = true; }
  bool stop_was_set() const { return stopped_; }

  /* Of rows in several parts. Throws DeviceError. */
  std::shared_ptr<const JoinTable> build(const KeptRowLayout& shape, const KeptParts::Stores& stores, WorkerPool& pool,
                                         MemoryBudget& budget, uint64_t limit = kEnough,
                                         std::shared_ptr<cuda::FaultInjector> faults = nullptr) {
    const cuda::Driver driver = context_->driver_with(std::move(faults));
    context_->enter(driver);
    cuda::MemoryAccount account(limit);
    ParallelWork work(pool, [this] { return closed_; });
    cuda::DeviceRows parts(*context_, driver, shape, account);
    const cuda::UniqueStream stream(context_->streams(), driver);
    for (const auto& store : stores) send(parts, *store, driver, stream.get());
    const cuda::StopWord stop(*context_, driver);
    cuda::BuiltTable built;
    try {
      built = cuda::build_table(
          parts, {*context_, code_->kernels(driver), driver, account, kEnough, budget, stream.get(), stop, work});
    } catch (...) {
      stopped_ = stop.is_set();
      throw;
    }
    EXPECT_EQ(
        memcmp(built.table->raw(), reinterpret_cast<const void*>(built.copy->device()), built.table->raw()->total_size),
        0);
    return built.table;
  }

 private:
  /* As a lane leaves them. */
  void send(cuda::DeviceRows& parts, const HostRowStore& store, const cuda::Driver& driver, cuda::Stream stream) {
    std::vector<cuda::Block> blocks;
    const cuda::StreamWait wait(driver, stream);
    auto to_device = [&](const void* from, uint64_t bytes) -> void* {
      if (from == nullptr || bytes == 0) return nullptr;
      blocks.push_back(context_->device_memory().allocate(driver, bytes, nullptr));
      driver.check(driver.memcpy_htod_async(blocks.back().device(), from, static_cast<size_t>(bytes), stream));
      return reinterpret_cast<void*>(blocks.back().device());
    };
    TbRowStore raw{};
    raw.nrows = store.size();
    raw.arena_used = store.arena_used();
    std::vector<TbColumnData> columns;
    for (size_t i = 0; i < parts.shape().columns.size(); i++)
      columns.push_back({to_device(store.values(i), raw.nrows * tb_type_width(parts.shape().columns[i].type)),
                         static_cast<uint8_t*>(to_device(store.valid(i), raw.nrows)), nullptr});
    raw.hashes = static_cast<uint64_t*>(to_device(store.hashes(), raw.nrows * sizeof(uint64_t)));
    raw.arena = static_cast<uint8_t*>(to_device(store.arena(), raw.arena_used));
    parts.append(raw, columns, stream);
    driver.check(driver.stream_synchronize(stream));
  }

  bool closed_ = false, stopped_ = false;
  FakeDriver fake_;
  std::shared_ptr<cuda::CudaContext> context_;
  std::unique_ptr<cuda::TableCode> code_;
};

std::shared_ptr<const JoinTable> make_table(const KeptRowLayout& shape, KeptParts::Stores stores, WorkerPool& pool,
                                            MemoryBudget& budget) {
  TableGpu gpu;
  return gpu.build(shape, stores, pool, budget);
}

/* A key in most rows: a chain has each of them once. */
TEST_F(TableTest, HotKeysAmongMany) {
  for (const int64_t apart : {int64_t{1}, int64_t{1} << 40}) {
    shape_ = {};
    rows_.clear();
    shape({TB_TYPE_INT8}, {{TB_TYPE_INT4, 0, false}});
    for (int32_t i = 0; i < 6000; i++) {
      const int64_t key = i % 4 ? 5 : i * apart;
      add({value_of(key)}, {value_of(i)}, static_cast<size_t>(i) % 3);
    }
    build();
    for (int64_t key : {int64_t{5}, 4 * apart, 5996 * apart})
      EXPECT_EQ(look_up({value_of(key)}, key), expected({value_of(key)})) << key;
  }
}

class EveryCallOfABuildFails : public TableTest, public ::testing::WithParamInterface<int64_t> {};

/* Keys this far apart: DENSE, HASH, and of repeated ones DIRECT. */
TEST_P(EveryCallOfABuildFails, RightOrRefused) {
  const int64_t apart = GetParam();
  shape({TB_TYPE_INT8}, {{TB_TYPE_TEXT, 0, true}});
  for (int64_t i = 0; i < 300; i++) {
    const int64_t key = apart == 0 ? i / 2 : i * apart;
    add({value_of(key)}, {i % 3 ? "row " + std::to_string(i) : "-"}, static_cast<size_t>(i) % 3);
  }
  // How often threads look whether a copy has come is chance: until no call was left to fail for many times.
  constexpr uint64_t kRightInARow = 30, kMostCalls = 3000;
  uint64_t refused = 0;
  for (const cuda::Result result : {cuda::kOutOfMemory, cuda::kIllegalAddress}) {
    uint64_t right = 0;
    for (uint64_t n = 1; n <= kMostCalls && right < kRightInARow; n += testing::step_of(3)) {
      TableGpu gpu({.most_delay_us = 0});
      try {
        table_ = gpu.build(shape_, stores_, pool_, budget_, kEnough, std::make_shared<cuda::FaultInjector>(n, result));
        const int64_t key = apart == 0 ? 7 : 14 * apart;
        EXPECT_EQ(look_up({value_of(key)}, key), expected({value_of(key)}));
        right++;
      } catch (const DeviceError& error) {
        EXPECT_EQ(error.reason, result == cuda::kOutOfMemory ? TB_FALLBACK_DEVICE_MEMORY : TB_FALLBACK_DEVICE_LOST);
        refused++;
        right = 0;
      }
      table_.reset();
    }
    EXPECT_EQ(right, kRightInARow) << "all calls have failed once";
  }
  EXPECT_GT(refused, 20u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryCallOfABuildFails, ::testing::Values(0, 1, int64_t{1} << 40));

/* Once the query is closed, kernels leave rows out and no table comes of it. */
TEST_F(TableTest, AClosedQueryBuildsNothing) {
  shape({TB_TYPE_INT8}, {{TB_TYPE_INT4, 0, false}});
  for (int32_t i = 0; i < 20000; i++) add({value_of(int64_t{5})}, {value_of(i)});
  TableGpu gpu({.most_delay_us = 60'000});  // so that somebody asks whether it is
  gpu.close();
  try {
    gpu.build(shape_, stores_, pool_, budget_);
    FAIL() << "built";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.reason, TB_FALLBACK_NONE);
  }
  EXPECT_TRUE(gpu.stop_was_set());
}

TEST_F(TableTest, LittleMemoryIsAnError) {
  shape({TB_TYPE_INT4}, {{TB_TYPE_INT8, 0, false}});
  for (int32_t i = 0; i < 20000; i++) add({value_of(i * 7)}, {value_of(int64_t{i})});
  TableGpu gpu;
  EXPECT_THROW(gpu.build(shape_, stores_, pool_, budget_, 300 << 10), DeviceError);
  MemoryBudget little(100 << 10);
  EXPECT_THROW(gpu.build(shape_, stores_, pool_, little), DeviceError);
  EXPECT_EQ(little.used(), 0u);
}

}  // namespace
}  // namespace turbine
