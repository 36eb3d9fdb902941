/* Time zones: a table with a gap, a repeated hour and boundaries, against their
 * definition; and bytes that are no table. */
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "rt/zone.h"

using namespace turbine::rt;

extern "C" {
int64_t rt_timestamptz_to_timestamp(int64_t, const char*, uint32_t, uint32_t*);
int64_t rt_timestamp_to_timestamptz(int64_t, const char*, uint32_t, uint32_t*);
int64_t rt_date_trunc_day_timestamptz(int64_t, const char*, uint32_t, uint32_t*);
int64_t rt_date_trunc_hour_timestamptz(int64_t, const char*, uint32_t, uint32_t*);
int64_t rt_timestamptz_add_days(int64_t, int32_t, const char*, uint32_t, uint32_t*);
}

namespace {

constexpr int64_t kHour = 3600 * kMicrosPerSecond;

struct Entry {
  int64_t start, offset;
};

std::string zone_table(const std::vector<Entry>& entries, int64_t end) {
  const int64_t begin = entries[0].start;
  const uint32_t counts[] = {static_cast<uint32_t>(entries.size()),
                             static_cast<uint32_t>(((end - begin) >> TB_ZONE_BUCKET_BITS) + 1)};
  std::string out;
  auto add = [&](const void* bytes, size_t size) { out.append(static_cast<const char*>(bytes), size); };
  add(&begin, 8);
  add(&end, 8);
  add(counts, 8);
  for (const Entry& e : entries) add(&e, 16);
  for (uint32_t b = 0; b < counts[1]; b++) {
    const int64_t start = begin + (int64_t{b} << TB_ZONE_BUCKET_BITS);
    uint16_t index = 0;
    while (index + 1u < entries.size() && entries[index + 1].start <= start) index++;
    add(&index, 2);
  }
  return out;
}

/* Forward an hour on day 90 at 1:00 UTC, back on day 300; one hour east before. */
struct Zones : ::testing::Test {
  const int64_t spring = 90 * kMicrosPerDay + kHour, autumn = 300 * kMicrosPerDay + kHour;
  const std::string table = zone_table({{-1000 * kMicrosPerDay, kHour}, {spring, 2 * kHour}, {autumn, kHour}},
                                       3000 * kMicrosPerDay);
  uint32_t errors = 0;
  int64_t local(int64_t t) {
    return rt_timestamptz_to_timestamp(t, table.data(), static_cast<uint32_t>(table.size()), &errors);
  }
  int64_t utc(int64_t t) {
    return rt_timestamp_to_timestamptz(t, table.data(), static_cast<uint32_t>(table.size()), &errors);
  }
};

TEST_F(Zones, LocalTimeChangesAtTheTransition) {
  EXPECT_EQ(local(spring - 1), spring - 1 + kHour);
  EXPECT_EQ(local(spring), spring + 2 * kHour);
  EXPECT_EQ(local(autumn - 1), autumn - 1 + 2 * kHour);
  EXPECT_EQ(local(autumn), autumn + kHour);
  EXPECT_EQ(local(2999 * kMicrosPerDay), 2999 * kMicrosPerDay + kHour);
  EXPECT_EQ(errors, 0u);
}

TEST_F(Zones, SkippedHourCountsAsBeforeTheTransition) {
  EXPECT_EQ(utc(spring + kHour - 1), spring - 1);
  EXPECT_EQ(utc(spring + kHour), spring);
  EXPECT_EQ(utc(spring + kHour + kHour / 2), spring + kHour / 2);
  EXPECT_EQ(utc(spring + 2 * kHour), spring);
  EXPECT_EQ(errors, 0u);
}

TEST_F(Zones, RepeatedHourCountsAsAfterTheTransition) {
  EXPECT_EQ(utc(autumn + kHour - 1), autumn - kHour - 1);
  EXPECT_EQ(utc(autumn + kHour), autumn);
  EXPECT_EQ(utc(autumn + 2 * kHour - 1), autumn + kHour - 1);
  EXPECT_EQ(utc(autumn + 2 * kHour), autumn + kHour);
  EXPECT_EQ(errors, 0u);
}

TEST_F(Zones, DaysAndHours) {
  const uint32_t size = static_cast<uint32_t>(table.size());
  EXPECT_EQ(rt_date_trunc_day_timestamptz(spring + 5 * kHour, table.data(), size, &errors), 90 * kMicrosPerDay - kHour);
  EXPECT_EQ(rt_date_trunc_hour_timestamptz(autumn + 5, table.data(), size, &errors), autumn);
  EXPECT_EQ(rt_timestamptz_add_days(spring - 2 * kHour, 1, table.data(), size, &errors),
            spring - 3 * kHour + kMicrosPerDay);
  EXPECT_EQ(errors, 0u);
}

TEST_F(Zones, OutsideTheTableIsAVerdict) {
  for (const int64_t t : {-1000 * kMicrosPerDay - 1, 3000 * kMicrosPerDay, kTimestampMin}) {
    errors = 0;
    local(t);
    EXPECT_EQ(errors, TB_ERR_UNREPRESENTABLE) << t;
    errors = 0;
    utc(t);
    EXPECT_EQ(errors, TB_ERR_UNREPRESENTABLE) << t;
  }
  errors = 0;
  EXPECT_EQ(local(kTimestampInfinity), kTimestampInfinity);
  EXPECT_EQ(utc(kTimestampMinusInfinity), kTimestampMinusInfinity);
  EXPECT_EQ(errors, 0u);
}

/* Every cut and every changed byte: no read leaves the table (the sanitizers see to that). */
TEST_F(Zones, DamagedTables) {
  for (uint32_t length = 0; length < table.size(); length++) {
    const std::vector<char> cut(table.begin(), table.begin() + length);
    errors = 0;
    rt_timestamptz_to_timestamp(spring, cut.data(), length, &errors);
    EXPECT_EQ(errors, TB_ERR_UNREPRESENTABLE) << length;
  }
  for (size_t i = 0; i < table.size(); i++) {
    for (const char bits : {'\x01', '\x80', '\xff'}) {
      std::vector<char> damaged(table.begin(), table.end());
      damaged[i] = static_cast<char>(damaged[i] ^ bits);
      rt_timestamptz_to_timestamp(spring, damaged.data(), static_cast<uint32_t>(damaged.size()), &errors);
      rt_timestamp_to_timestamptz(autumn, damaged.data(), static_cast<uint32_t>(damaged.size()), &errors);
    }
  }
}

}  // namespace
