/*
 * fill_admission_test.cc - which segments a full store takes.
 */
#include "engine/store/fill_admission.h"

#include <gtest/gtest.h>

#include <set>

namespace turbine {
namespace {

constexpr uint64_t kCapacity = 1 << 20;
constexpr uint64_t kLarge = 5 * kCapacity, kSmall = kCapacity / 8;

std::set<uint32_t> admitted(const FillAdmission& admission, uint64_t table, uint64_t bytes) {
  std::set<uint32_t> segments;
  for (uint32_t i = 0; i < 4096; i++)
    if (admission.admits(table, i, bytes)) segments.insert(i);
  return segments;
}

TEST(FillAdmissionTest, TakesAllAtFirst) {
  const FillAdmission admission(kCapacity);
  EXPECT_EQ(admitted(admission, 1, kLarge).size(), 4096u);
}

TEST(FillAdmissionTest, TakesFewerWhereNothingWasFound) {
  FillAdmission admission(kCapacity);
  std::set<uint32_t> before = admitted(admission, 1, kLarge);
  for (int level = 1; level <= 4; level++) {
    admission.evicted(10, 90);
    const std::set<uint32_t> now = admitted(admission, 1, kLarge);
    EXPECT_NEAR(static_cast<double>(now.size()), 4096 >> level, 4096 >> (level + 2));
    for (const uint32_t segment : now) EXPECT_TRUE(before.contains(segment)) << "what is there stays welcome";
    EXPECT_EQ(admitted(admission, 1, kSmall).size(), 4096u);
    before = now;
  }
  admission.evicted(10, 90);
  EXPECT_EQ(admitted(admission, 1, kLarge), before) << "not fewer than one in sixteen";
  EXPECT_NE(admitted(admission, 2, kLarge), before) << "of another table others";
}

TEST(FillAdmissionTest, TakesMoreWhereMostWasFound) {
  FillAdmission admission(kCapacity);
  for (int i = 0; i < 3; i++) admission.evicted(0, 1);
  admission.evicted(50, 50);
  EXPECT_NEAR(static_cast<double>(admitted(admission, 1, kLarge).size()), 512, 128);
  for (int i = 0; i < 4; i++) admission.evicted(2, 1);
  EXPECT_EQ(admitted(admission, 1, kLarge).size(), 4096u);
}

}  // namespace
}  // namespace turbine
