/*
 * deferred_build_test.cc - a BUILD's device query starts with its first task, once, and fails that task if it cannot.
 */
#include "engine/execution/deferred_build.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "engine/memory/host_memory.h"
#include "engine/wire/device_error.h"

namespace turbine {
namespace {

struct Calls {
  int starts = 0, tasks = 0, stops = 0;
  bool cancelled = false;
};

class CountedBuild final : public DeviceQuery {
 public:
  explicit CountedBuild(Calls& calls) : calls_(calls) { calls_.starts++; }
  void stop() override { calls_.stops++; }
  void cancelled_by(std::function<bool()> cancelled) override { calls_.cancelled = cancelled && cancelled(); }
  void submit(const Task&, Done done) override {
    std::lock_guard lock(mutex_);
    calls_.tasks++;
    done({}, nullptr);
  }
  uint64_t finish() override { return 7; }
  ResultBatch fetch(uint64_t, uint64_t) override { return {}; }
  MemoryBudget& host_memory() override { return memory_; }
  DeviceQueryStats stats() const override {
    DeviceQueryStats stats;
    stats.compute_us = 3;
    return stats;
  }

 private:
  Calls& calls_;
  std::mutex mutex_;
  MemoryBudget memory_{0};
};

DeferredBuild::Start counted(Calls& calls) {
  return [&calls] { return std::make_unique<CountedBuild>(calls); };
}

TEST(DeferredBuildTest, WithoutATaskNothingStarts) {
  Calls calls;
  {
    DeferredBuild build(counted(calls));
    build.cancelled_by([] { return true; });
    EXPECT_EQ(build.waiting(), 0u);
    EXPECT_EQ(build.stats().compute_us, 0u);
    build.stop();
  }
  EXPECT_EQ(calls.starts, 0);
}

TEST(DeferredBuildTest, ManyThreadsStartItOnce) {
  Calls calls;
  DeferredBuild build(counted(calls));
  build.cancelled_by([] { return true; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++)
    threads.emplace_back([&build] {
      for (int task = 0; task < 100; task++)
        build.submit({}, [](const TaskOutcome&, std::exception_ptr error) { EXPECT_FALSE(error); });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls.starts, 1);
  EXPECT_EQ(calls.tasks, 800);
  EXPECT_TRUE(calls.cancelled);
  EXPECT_EQ(build.finish(), 7u);
  EXPECT_EQ(build.stats().compute_us, 3u);
  build.stop();
  EXPECT_EQ(calls.stops, 1);
}

TEST(DeferredBuildTest, AnEmptyTableStartsItAtTheEnd) {
  Calls calls;
  DeferredBuild build(counted(calls));
  EXPECT_EQ(build.finish(), 7u);
  EXPECT_EQ(calls.starts, 1);
}

TEST(DeferredBuildTest, WhatDoesNotStartFailsItsTasks) {
  DeferredBuild build(
      []() -> std::unique_ptr<DeviceQuery> { throw DeviceError(TB_FALLBACK_DEVICE_LOST, "the driver has failed"); });
  for (int task = 0; task < 2; task++) {
    bool failed = false;
    build.submit({}, [&failed](const TaskOutcome&, std::exception_ptr error) { failed = error != nullptr; });
    EXPECT_TRUE(failed);
  }
  EXPECT_FALSE(build.decode_ahead({}, {}, {}));
  EXPECT_EQ(build.stage_columns(1), nullptr);
  EXPECT_THROW(build.finish(), DeviceError);
}

TEST(DeferredBuildTest, WhatWasStoppedDoesNotStart) {
  Calls calls;
  DeferredBuild build(counted(calls));
  build.stop();
  bool failed = false;
  build.submit({}, [&failed](const TaskOutcome&, std::exception_ptr error) { failed = error != nullptr; });
  EXPECT_TRUE(failed);
  EXPECT_EQ(calls.starts, 0);
}

}  // namespace
}  // namespace turbine
