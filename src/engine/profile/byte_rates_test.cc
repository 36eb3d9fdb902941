/* byte_rates_test.cc - bytes are neither lost nor made, and pauses show. */
#include "engine/profile/byte_rates.h"

#include <gtest/gtest.h>

namespace turbine {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(ByteRates, SpreadBytesEvenly) {
  ByteRates rates;
  rates.add(TB_SPAN_RATE_DRIVE, 3000, 10 * kMs + kMs / 2, 12 * kMs);
  rates.add(TB_SPAN_RATE_DRIVE, 500, 11 * kMs, 11 * kMs);
  rates.add(TB_SPAN_RATE_DRIVE, 0, 50 * kMs, 60 * kMs);
  rates.add(TB_SPAN_RATE_KERNELS, 7, 20 * kMs, 21 * kMs);
  const std::vector<TbSpan> spans = rates.take();
  ASSERT_EQ(spans.size(), 5u);
  EXPECT_EQ(spans[0].begin_ns, 10 * kMs);
  EXPECT_EQ(spans[0].end_ns, 11 * kMs);
  EXPECT_EQ(spans[0].number, 1000u);
  EXPECT_EQ(spans[1].number, 2500u);
  EXPECT_EQ(spans[2].begin_ns, 12 * kMs);
  EXPECT_EQ(spans[2].number, 0u);
  EXPECT_EQ(spans[3].kind, uint32_t{TB_SPAN_RATE_KERNELS});
  EXPECT_EQ(spans[3].number, 7u);
  EXPECT_EQ(spans[4].number, 0u);
  EXPECT_TRUE(rates.take().empty());
}

TEST(ByteRates, ShowPauses) {
  ByteRates rates;
  rates.add(TB_SPAN_RATE_DRIVE, 10, 0, kMs);
  rates.add(TB_SPAN_RATE_DRIVE, 10, 5 * kMs, 6 * kMs);
  const std::vector<TbSpan> spans = rates.take();
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[1].begin_ns, kMs);
  EXPECT_EQ(spans[1].number, 0u);
  EXPECT_EQ(spans[2].begin_ns, 5 * kMs);
}

TEST(ByteRates, StayBounded) {
  ByteRates rates;
  rates.add(TB_SPAN_RATE_DRIVE, 1'000'000'000, 0, 1'000'000 * kMs);
  EXPECT_LE(rates.take().size(), (size_t{1} << 18) + 1);
}

}  // namespace
}  // namespace turbine
