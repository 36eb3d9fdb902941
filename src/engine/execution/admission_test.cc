/*
 * admission_test.cc - grants, queues and their limits.
 */
#include "engine/execution/admission.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "engine/device/device.h"

namespace turbine {
namespace {

TbFallback refusal(Admission& admission, const Admission::Claim& claim, uint32_t wait_ms,
                   const IsCancelled& cancelled = {}) {
  try {
    admission.admit(claim, wait_ms, cancelled);
    return TB_FALLBACK_COUNT;
  } catch (const DeviceError& e) {
    return e.reason;
  }
}

TEST(Admission, NeverPossibleIsSaidAtOnce) {
  Admission admission({100, 50});
  EXPECT_EQ(refusal(admission, {0, 101, 0, false}, 60000), TB_FALLBACK_HOST_MEMORY);
  EXPECT_EQ(refusal(admission, {0, 60, 60, false}, 60000), TB_FALLBACK_HOST_MEMORY);
  EXPECT_EQ(refusal(admission, {1, 51, 0, false}, 60000), TB_FALLBACK_DEVICE_MEMORY);
  EXPECT_EQ(refusal(admission, {1, 1, 101, false}, 60000), TB_FALLBACK_HOST_MEMORY);
}

TEST(Admission, WaitsNoLongerThanAsked) {
  Admission admission({100});
  const auto held = admission.admit({0, 80, 0, false}, 0, {});
  EXPECT_EQ(refusal(admission, {0, 30, 0, false}, 0), TB_FALLBACK_ADMISSION);
  EXPECT_EQ(refusal(admission, {0, 30, 0, false}, 120), TB_FALLBACK_ADMISSION);
  EXPECT_EQ(refusal(admission, {0, 30, 0, false}, 60000, [] { return true; }), TB_FALLBACK_NONE);
  EXPECT_NO_THROW(admission.admit({0, 20, 0, false}, 0, {}));
}

TEST(Admission, AClaimOnSeveralDevicesIsGrantedWholeOrNotAtAll) {
  Admission admission({1000, 100, 100, 100});
  {
    const auto held = admission.admit({2, 70, 0, false}, 0, {});
    EXPECT_EQ(refusal(admission, {1, 40, 10, false, false, {2, 3}}, 20), TB_FALLBACK_ADMISSION);
    for (const uint32_t device : {0u, 1u, 3u}) EXPECT_EQ(admission.usage(device).used, 0u) << device;
    EXPECT_EQ(refusal(admission, {1, 101, 0, false, false, {3}}, 60000), TB_FALLBACK_DEVICE_MEMORY);
    // What grows gets of each what the fullest can spare.
    const auto several = admission.admit({1, 10, 10, true, false, {2, 3}}, 0, {});
    EXPECT_EQ(several.device_bytes(), 15u);
    EXPECT_EQ(admission.usage(0).used, 10u);
    EXPECT_EQ(admission.usage(1).used, 15u);
    EXPECT_EQ(admission.usage(2).used, 85u);
    EXPECT_EQ(admission.usage(3).queries_running, 1u);
  }
  for (const uint32_t device : {0u, 1u, 2u, 3u}) {
    EXPECT_EQ(admission.usage(device).used, 0u);
    EXPECT_EQ(admission.usage(device).queries_running, 0u);
  }
}

/* Claims on several devices in opposite orders, and on each of them, all get their turn. */
TEST(Admission, ClaimsOnSeveralDevicesDoNotBlockEachOther) {
  Admission admission({1000, 100, 100});
  std::atomic<int> granted{0};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 8; i++)
    threads.emplace_back([&, i] {
      for (int again = 0; again < 200; again++) {
        Admission::Claim claim{1 + i % 2, 60, 0, false};
        if (i % 4 < 2) claim.others = {2 - i % 2};
        const auto grant = admission.admit(claim, 60000, {});
        granted++;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted, 1600);
  EXPECT_EQ(admission.usage(1).used + admission.usage(2).used, 0u);
}

TEST(Admission, ARaisedBudgetLetsInWhoWaits) {
  Admission admission({1000, 100});
  const auto held = admission.admit({1, 80, 0, false}, 0, {});
  std::thread waiting([&] { EXPECT_NO_THROW(admission.admit({1, 60, 0, false}, 60000, {})); });
  admission.raise_budget(1, 90);
  EXPECT_EQ(admission.usage(1).budget, 100u);
  admission.raise_budget(1, 140);
  waiting.join();
  EXPECT_EQ(admission.usage(1).budget, 140u);
}

TEST(Admission, GivesBackAll) {
  Admission admission({100, 100});
  {
    const auto a = admission.admit({1, 10, 20, true}, 0, {});
    EXPECT_GT(a.device_bytes(), 10u);
    EXPECT_EQ(admission.usage(0).used, 20u);
    EXPECT_EQ(admission.usage(1).used, a.device_bytes());
    EXPECT_EQ(admission.usage(1).queries_running, 1u);
    const auto b = admission.admit({1, 10, 0, true}, 0, {});
    EXPECT_GE(b.device_bytes(), 10u);
  }
  EXPECT_EQ(admission.usage(0).used, 0u);
  EXPECT_EQ(admission.usage(1).used, 0u);
  EXPECT_EQ(admission.usage(1).queries_running, 0u);
  EXPECT_EQ(admission.usage(1).queries_total, 2u);
}

TEST(Admission, RoomToGrowShrinksWithCompany) {
  constexpr uint64_t kBudget = 1 << 20;
  Admission admission({kBudget});
  std::vector<Admission::Grant> grants;
  for (int i = 0; i < 50; i++) grants.push_back(admission.admit({0, 0, 0, true}, 0, {}));
  EXPECT_EQ(grants[0].device_bytes(), kBudget / 2);
  EXPECT_EQ(grants[1].device_bytes(), kBudget / 8);  // a quarter of the other half
  const uint64_t left = kBudget - admission.usage(0).used;
  EXPECT_GT(left, kBudget / 14);
  EXPECT_LT(left, kBudget / 11);
}

TEST(Admission, ServesInOrderOfArrival) {
  Admission admission({100});
  auto held = std::make_unique<Admission::Grant>(admission.admit({0, 90, 0, false}, 0, {}));
  std::atomic<int> turn{0};
  int large_turn = -1, small_turn = -1;
  std::thread large([&] {
    const auto grant = admission.admit({0, 100, 0, false}, 10000, {});
    large_turn = turn++;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  // The small one would fit at once, but must not starve the large one.
  std::thread small([&] {
    const auto grant = admission.admit({0, 5, 0, false}, 10000, {});
    small_turn = turn++;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(turn, 0);
  held.reset();
  large.join();
  small.join();
  EXPECT_EQ(large_turn, 0);
  EXPECT_EQ(small_turn, 1);
}

/* What a table keeps of its query's grant. */
TEST(Admission, PartsOfAGrantOutliveIt) {
  Admission admission({100});
  Admission::Grant table;
  {
    auto query = admission.admit({0, 60, 10, false}, 0, {});
    table = query.split(20);
    EXPECT_EQ(query.device_bytes(), 40u);
    EXPECT_EQ(admission.usage(0).used, 70u);
  }
  EXPECT_EQ(admission.usage(0).used, 20u);
  EXPECT_EQ(admission.usage(0).queries_running, 0u);
  EXPECT_EQ(table.split(1000).device_bytes(), 20u) << "no more than there is";
  EXPECT_EQ(admission.usage(0).used, 0u);
}

/* Two that hold memory and wait for more would wait for each other; one that
 * holds some must not wait for those that wait for it. */
TEST(Admission, WhoHoldsMemoryNeitherQueuesNorWaitsLong) {
  Admission admission({100});
  auto held = admission.admit({0, 50, 0, false}, 0, {});
  std::thread large([&] { EXPECT_NO_THROW(admission.admit({0, 90, 0, false}, 10000, {})); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_NO_THROW(admission.admit({0, 30, 0, false, true}, 0, {})) << "past the queue";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(refusal(admission, {0, 60, 0, false, true}, 10000), TB_FALLBACK_ADMISSION);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(2000));
  {
    const Admission::Grant given_back = std::move(held);
  }
  large.join();
}

TEST(Admission, ManyGrowingQueriesFitSideBySide) {
  Admission admission({1ull << 30});
  std::vector<Admission::Grant> grants;
  for (int i = 0; i < 30; i++) grants.push_back(admission.admit({0, 1 << 20, 1 << 20, true}, 0, {}));
  EXPECT_EQ(admission.usage(0).queries_running, 30u);
}

}  // namespace
}  // namespace turbine
