/*
 * value_forms_test.cc - dates, times and timestamps of files become PostgreSQL's at every edge of both, or nothing.
 */
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <optional>

#include <arrow/type.h>

#include "engine/source/files/arrow/value_forms.h"
#include "file_values/int96.h"

namespace turbine {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kGreatest = std::numeric_limits<int64_t>::max();
constexpr int64_t kEpochMicroseconds = kEpochDays * kMicrosecondsPerDay;

std::optional<int64_t> converted(const IntegerForm& form, int64_t value) {
  int64_t result;
  return form.convert(value, &result) ? std::optional(result) : std::nullopt;
}

/* In 128 bits, where nothing overflows. */
std::optional<int64_t> right_timestamp(int64_t value, __int128 a_second) {
  const __int128 scaled = static_cast<__int128>(value) * 1'000'000;
  const __int128 moment = scaled / a_second - (scaled % a_second < 0) - kEpochMicroseconds;
  if (moment < kLeastTimestamp || moment > kGreatestTimestamp) return std::nullopt;
  return static_cast<int64_t>(moment);
}

TEST(IntegerForm, TimestampsOfEveryUnit) {
  const struct {
    arrow::TimeUnit::type unit;
    int64_t a_second;
  } units[] = {{arrow::TimeUnit::SECOND, 1},
               {arrow::TimeUnit::MILLI, 1'000},
               {arrow::TimeUnit::MICRO, 1'000'000},
               {arrow::TimeUnit::NANO, 1'000'000'000}};
  for (const auto& [unit, a_second] : units) {
    const IntegerForm form = timestamp_form(unit);
    for (const int64_t limit : {kLeast, kGreatest, int64_t{0}, kLeastTimestamp, kGreatestTimestamp}) {
      const __int128 near = limit == kLeast || limit == kGreatest
                                ? static_cast<__int128>(limit)
                                : (static_cast<__int128>(limit) + (limit == 0 ? 0 : kEpochMicroseconds)) * a_second /
                                      1'000'000;
      for (int step = -2000; step <= 2000; step++) {
        const __int128 value = near + step;
        if (value < kLeast || value > kGreatest) continue;
        ASSERT_EQ(converted(form, static_cast<int64_t>(value)), right_timestamp(static_cast<int64_t>(value), a_second))
            << static_cast<int64_t>(value) << " of " << a_second << " in a second";
      }
    }
  }
}

TEST(IntegerForm, SecondsBeyondMicrosecondsSince1970) {
  // 294270-06-15: as microseconds since 1970 it is beyond 64 bits.
  const int64_t seconds = 9'224'112'643'200;
  EXPECT_EQ(converted(timestamp_form(arrow::TimeUnit::SECOND), seconds), (seconds - 946'684'800) * 1'000'000);
  EXPECT_EQ(converted(timestamp_form(arrow::TimeUnit::MILLI), seconds * 1000), (seconds - 946'684'800) * 1'000'000);
}

TEST(IntegerForm, Dates) {
  EXPECT_EQ(converted(date_form(false), 0), -kEpochDays);
  EXPECT_EQ(converted(date_form(false), kGreatestDate + kEpochDays), kGreatestDate);
  EXPECT_EQ(converted(date_form(false), kGreatestDate + kEpochDays + 1), std::nullopt);
  EXPECT_EQ(converted(date_form(false), kLeastDate + kEpochDays), kLeastDate);
  EXPECT_EQ(converted(date_form(false), kLeastDate + kEpochDays - 1), std::nullopt);
  EXPECT_EQ(converted(date_form(true), -kMillisecondsPerDay), -kEpochDays - 1);
  EXPECT_EQ(converted(date_form(true), 1), std::nullopt);
  EXPECT_EQ(converted(date_form(true), -1), std::nullopt);
  EXPECT_EQ(converted(date_form(true), kLeast), std::nullopt);
  EXPECT_EQ(converted(date_form(true), kGreatest), std::nullopt);
}

TEST(IntegerForm, TimesOfDayAndDurations) {
  EXPECT_EQ(converted(time_form(arrow::TimeUnit::SECOND), 86'400), kMicrosecondsPerDay);
  EXPECT_EQ(converted(time_form(arrow::TimeUnit::SECOND), 86'401), std::nullopt);
  EXPECT_EQ(converted(time_form(arrow::TimeUnit::NANO), -1), std::nullopt);
  EXPECT_EQ(converted(time_form(arrow::TimeUnit::NANO), kNanosecondsPerDay - 1), kMicrosecondsPerDay - 1);
  EXPECT_EQ(converted(time_form(arrow::TimeUnit::NANO), kNanosecondsPerDay + 1), std::nullopt);
  EXPECT_EQ(converted(time_form(arrow::TimeUnit::NANO), 1'999), 1);
  EXPECT_EQ(converted(duration_form(arrow::TimeUnit::NANO), -1), -1);
  EXPECT_EQ(converted(duration_form(arrow::TimeUnit::SECOND), kGreatest), std::nullopt);
  EXPECT_EQ(converted(duration_form(arrow::TimeUnit::MICRO), kLeast), kLeast);
}

TEST(IntegerForm, DecimalsHaveNoMoreDigitsThanEitherType) {
  WantedColumn wanted;
  wanted.type = TB_TYPE_NUM64;
  wanted.scale = 3;
  wanted.digits = 10;
  IntegerForm form;
  ASSERT_TRUE(integer_form(*arrow::decimal64(4, 2), wanted, &form));
  EXPECT_EQ(converted(form, 9'999), 99'990);
  EXPECT_EQ(converted(form, -9'999), -99'990);
  EXPECT_EQ(converted(form, 10'000), std::nullopt);
}

std::optional<int64_t> int96(uint32_t day, int64_t nanoseconds) {
  uint8_t bytes[kInt96Bytes];
  memcpy(bytes, &nanoseconds, sizeof nanoseconds);
  memcpy(bytes + sizeof nanoseconds, &day, sizeof day);
  int64_t result;
  return int96_timestamp(bytes, &result) ? std::optional(result) : std::nullopt;
}

TEST(Int96, DaysAndNanoseconds) {
  EXPECT_EQ(int96(2'451'545, 0), 0);
  EXPECT_EQ(int96(2'451'545, 999), 0);
  EXPECT_EQ(int96(2'451'545, -1), -1);
  EXPECT_EQ(int96(2'451'546, -kNanosecondsPerDay + 1'000), 1);
  EXPECT_EQ(int96(2'451'545, kNanosecondsPerDay), std::nullopt);
  EXPECT_EQ(int96(2'451'545, -kNanosecondsPerDay), std::nullopt);
  EXPECT_EQ(int96(2'451'545, kGreatest), std::nullopt);
  EXPECT_EQ(int96(2'451'545, kLeast), std::nullopt);
  EXPECT_EQ(int96(0, 0), kLeastTimestamp);
  EXPECT_EQ(int96(0, -1), std::nullopt);
  EXPECT_EQ(int96(109'203'527, kNanosecondsPerDay - 1), kGreatestTimestamp);
  EXPECT_EQ(int96(109'203'528, -1), kGreatestTimestamp);
  EXPECT_EQ(int96(109'203'528, 0), std::nullopt);
  EXPECT_EQ(int96(1u << 31, 0), std::nullopt);
  EXPECT_EQ(int96(std::numeric_limits<uint32_t>::max(), -1), std::nullopt);
}

}  // namespace
}  // namespace turbine
