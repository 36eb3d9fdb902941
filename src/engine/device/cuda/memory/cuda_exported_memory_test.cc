/* cuda_exported_memory_test.cc - what is written is what its descriptor shows, and every call may fail. */
#include "engine/device/cuda/memory/cuda_exported_memory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "engine/device/cuda/testing/fake_driver.h"

namespace turbine::cuda::testing {
namespace {

constexpr uint64_t kPage = uint64_t{2} << 20;
constexpr uint64_t kBudget = uint64_t{1} << 30;

std::vector<uint8_t> pattern(uint64_t bytes) {
  std::vector<uint8_t> data(bytes);
  for (uint64_t i = 0; i < bytes; i++) data[i] = static_cast<uint8_t>(i * 7 + i / 4096);
  return data;
}

/* Larger than both halves of what it crosses through, and not a multiple of them. */
TEST(CudaExportedMemory, ShowsWhatWasWritten) {
  FakeDriver fake{FakeOptions{}};
  auto context = std::make_shared<CudaContext>(fake.table(), 0, 13000, kBudget);
  const std::vector<uint8_t> data = pattern(21 * (uint64_t{1} << 20) + 5);
  {
    context->enter(context->driver());
    CudaExportedMemory memory(context, context->driver(), data.size() + 1000);
    EXPECT_EQ(memory.size(), 22 * (uint64_t{1} << 20));
    EXPECT_EQ(memory.size() % kPage, 0u);
    memory.write(1000, data.data(), data.size());
    memory.seal();
    std::vector<uint8_t> found(data.size());
    EXPECT_EQ(pread(memory.descriptor(), found.data(), found.size(), 1000), static_cast<ssize_t>(found.size()));
    EXPECT_EQ(found, data);
    EXPECT_THROW(memory.write(0, data.data(), 1), DeviceError);  // sealed
  }
  {
    CudaExportedMemory empty(context, context->driver(), 0);
    EXPECT_EQ(empty.size(), kPage);
    EXPECT_THROW(empty.write(kPage, data.data(), 1), DeviceError);
    EXPECT_THROW(empty.write(1, data.data(), UINT64_MAX), DeviceError);
  }
  context.reset();
  EXPECT_EQ(fake.leaks(), std::vector<std::string>());
  EXPECT_EQ(fake.misuse(), std::vector<std::string>());
}

/* A batch's memory is written again and again. */
TEST(CudaExportedMemory, IsWrittenAgainAfterFlush) {
  FakeDriver fake{FakeOptions{}};
  auto context = std::make_shared<CudaContext>(fake.table(), 0, 13000, kBudget);
  {
    context->enter(context->driver());
    CudaExportedMemory memory(context, context->driver(), kPage);
    for (uint8_t round = 1; round < 4; round++) {
      const std::vector<uint8_t> data(5000, round);
      memory.write_lasting(uint64_t{round} * 100, data.data(), data.size());
      memory.write(uint64_t{round} * 10000, data.data(), data.size());
      memory.flush();
      for (const uint64_t at : {100, 10000}) {
        std::vector<uint8_t> found(data.size());
        EXPECT_EQ(pread(memory.descriptor(), found.data(), found.size(), static_cast<off_t>(at * round)), 5000);
        EXPECT_EQ(found, data);
      }
    }
    const uint8_t byte = 0;
    EXPECT_THROW(memory.write_lasting(kPage, &byte, 1), DeviceError);
  }
  context.reset();
  EXPECT_EQ(fake.leaks(), std::vector<std::string>());
  EXPECT_EQ(fake.misuse(), std::vector<std::string>());
}

TEST(CudaExportedMemory, EveryCallMayFail) {
  for (const Result result : {kOutOfMemory, kInvalidValue}) {
    const std::vector<uint8_t> data = pattern(20 << 20);
    bool all_passed = false;
    for (uint32_t call = 1; !all_passed; call++) {
      ASSERT_LT(call, 100u);
      FakeDriver fake{FakeOptions{}};
      auto context = std::make_shared<CudaContext>(fake.table(), 0, 13000, kBudget);
      auto faults = std::make_shared<FaultInjector>(call, result);
      try {
        context->enter(context->driver());
        CudaExportedMemory memory(context, context->driver_with(faults), data.size());
        memory.write_lasting(0, data.data(), data.size());
        memory.flush();
        memory.write(0, data.data(), data.size());
        memory.seal();
        // A failure to give something back is none of the caller's.
        all_passed = faults->calls() < call;
      } catch (const DeviceError& error) {
        EXPECT_EQ(error.reason, result == kOutOfMemory ? TB_FALLBACK_DEVICE_MEMORY : TB_FALLBACK_DEVICE_LOST);
      }
      EXPECT_FALSE(context->health().lost());
      context.reset();
      EXPECT_EQ(fake.leaks(), std::vector<std::string>()) << "call " << call;
      EXPECT_EQ(fake.misuse(), std::vector<std::string>()) << "call " << call;
    }
  }
}

/* More than there is: the pool gives up what nobody uses, and then it fits. */
TEST(CudaExportedMemory, TakesWhatThePoolKeeps) {
  FakeOptions options;
  options.memory = uint64_t{64} << 20;
  FakeDriver fake{options};
  auto context = std::make_shared<CudaContext>(fake.table(), 0, 13000, uint64_t{60} << 20);
  context->enter(context->driver());
  {
    const Block block = context->device_memory().allocate(context->driver(), uint64_t{48} << 20, nullptr);
  }
  EXPECT_GE(fake.device_bytes(), uint64_t{48} << 20);
  {
    const CudaExportedMemory memory(context, context->driver(), uint64_t{40} << 20);
  }
  EXPECT_THROW(CudaExportedMemory(context, context->driver(), uint64_t{80} << 20), DeviceError);
  context.reset();
  EXPECT_EQ(fake.leaks(), std::vector<std::string>());
  EXPECT_EQ(fake.misuse(), std::vector<std::string>());
}

}  // namespace
}  // namespace turbine::cuda::testing
