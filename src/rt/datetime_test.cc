/* Dates: the calendar against a day-by-day walk, known fields, borders. */
#include <gtest/gtest.h>

#include "rt/datetime.h"

using namespace turbine::rt;

#define DAY_FIELDS(apply)                                                                                           \
  apply(millennium) apply(century) apply(decade) apply(year) apply(isoyear) apply(quarter) apply(month) apply(week) \
      apply(day) apply(dow) apply(isodow) apply(doy)
#define DECLARE_DATE(name)                                              \
  extern "C" int64_t rt_extract_##name##_date(int32_t, uint32_t*);      \
  extern "C" int64_t rt_extract_##name##_timestamp(int64_t, uint32_t*); \
  extern "C" double rt_date_part_##name##_timestamp(int64_t, uint32_t*);
DAY_FIELDS(DECLARE_DATE)

extern "C" {
int64_t rt_extract_epoch_date(int32_t, uint32_t*);
int64_t rt_extract_julian_date(int32_t, uint32_t*);
int64_t rt_extract_hour_timestamp(int64_t, uint32_t*);
int64_t rt_extract_minute_timestamp(int64_t, uint32_t*);
int64_t rt_extract_second_timestamp(int64_t, uint32_t*);
int64_t rt_extract_epoch_timestamp(int64_t, uint32_t*);
double rt_date_part_second_timestamp(int64_t, uint32_t*);
double rt_date_part_epoch_timestamp(int64_t, uint32_t*);
double rt_date_part_milliseconds_timestamp(int64_t, uint32_t*);
int64_t rt_date_trunc_year_timestamp(int64_t, uint32_t*);
int64_t rt_date_trunc_quarter_timestamp(int64_t, uint32_t*);
int64_t rt_date_trunc_month_timestamp(int64_t, uint32_t*);
int64_t rt_date_trunc_week_timestamp(int64_t, uint32_t*);
int64_t rt_date_trunc_day_timestamp(int64_t, uint32_t*);
int64_t rt_date_trunc_hour_timestamp(int64_t, uint32_t*);
int64_t rt_date_trunc_milliseconds_timestamp(int64_t, uint32_t*);
int32_t rt_date_pli(int32_t, int32_t, uint32_t*);
int32_t rt_date_mii(int32_t, int32_t, uint32_t*);
int32_t rt_date_mi(int32_t, int32_t, uint32_t*);
int64_t rt_date_to_timestamp(int32_t, uint32_t*);
int32_t rt_timestamp_to_date(int64_t);
bool rt_date_lt_timestamp(int32_t, int64_t);
bool rt_date_gt_timestamp(int32_t, int64_t);
bool rt_date_eq_timestamp(int32_t, int64_t);
bool rt_timestamp_ge_date(int64_t, int32_t);
}

namespace {

int32_t date(int year, int month, int day) { return julian_from_civil({year, month, day}) - kPostgresEpochJulian; }

int64_t timestamp(int year, int month, int day, int64_t micros) {
  return date(year, month, day) * kMicrosPerDay + micros;
}

bool leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

TEST(DatetimeTest, CalendarDayByDay) {
  const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  /* From 4714-11-24 BC, Julian day 0, over 9,000 years. */
  int year = -4713, month = 11, day = 24, doy = 328;
  for (uint32_t julian = 0; julian < 3300000; julian++) {
    CivilDate civil = civil_from_julian(julian);
    ASSERT_TRUE(civil.year == year && civil.month == month && civil.day == day)
        << julian << ": " << civil.year << '-' << civil.month << '-' << civil.day << " for " << year << '-' << month
        << '-' << day;
    ASSERT_EQ(julian_from_civil(civil), (int32_t)julian);
    uint32_t errors = 0;
    ASSERT_EQ(rt_extract_doy_date((int32_t)julian - kPostgresEpochJulian, &errors), doy + (leap(-4713) ? 1 : 0));
    doy++;
    day++;
    if (day > lengths[month - 1] + (month == 2 && leap(year))) {
      day = 1;
      month++;
    }
    if (month > 12) {
      month = 1;
      year++;
      doy = 1 - (leap(-4713) ? 1 : 0);
    }
  }
}

struct FieldCase {
  int year, month, day;
  int64_t expected[12];
};

TEST(DatetimeTest, Fields) {
  /* millennium century decade year isoyear quarter month week day dow isodow doy */
  const FieldCase cases[] = {
      {2000, 1, 1, {2, 20, 200, 2000, 1999, 1, 1, 52, 1, 6, 6, 1}},
      {2001, 1, 1, {3, 21, 200, 2001, 2001, 1, 1, 1, 1, 1, 1, 1}},
      {2005, 1, 2, {3, 21, 200, 2005, 2004, 1, 1, 53, 2, 0, 7, 2}},
      {2012, 12, 31, {3, 21, 201, 2012, 2013, 4, 12, 1, 31, 1, 1, 366}},
      {1992, 2, 29, {2, 20, 199, 1992, 1992, 1, 2, 9, 29, 6, 6, 60}},
      {1, 1, 1, {1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
      {0, 12, 31, {-1, -1, 0, -1, -1, 4, 12, 52, 31, 0, 7, 366}},
      {-1, 3, 1, {-1, -1, -1, -2, -2, 1, 3, 9, 1, 1, 1, 60}},
  };
  for (const FieldCase& c : cases) {
    int32_t day_number = date(c.year, c.month, c.day);
    int64_t moment = timestamp(c.year, c.month, c.day, 86399999999);
    uint32_t errors = 0;
    int field = 0;
#define CHECK_FIELD(name)                                                                          \
  EXPECT_EQ(rt_extract_##name##_date(day_number, &errors), c.expected[field]) << #name << c.year;  \
  EXPECT_EQ(rt_extract_##name##_timestamp(moment, &errors), c.expected[field]) << #name << c.year; \
  EXPECT_EQ(rt_date_part_##name##_timestamp(moment, &errors), (double)c.expected[field++]) << #name;
    DAY_FIELDS(CHECK_FIELD)
    EXPECT_EQ(errors, 0u);
  }
}

TEST(DatetimeTest, TimeFields) {
  int64_t moment = timestamp(1998, 9, 2, ((13 * 60 + 45) * 60 + 7) * kMicrosPerSecond + 250001);
  uint32_t errors = 0;
  EXPECT_EQ(rt_extract_hour_timestamp(moment, &errors), 13);
  EXPECT_EQ(rt_extract_minute_timestamp(moment, &errors), 45);
  EXPECT_EQ(rt_extract_second_timestamp(moment, &errors), 7250001);
  EXPECT_EQ(rt_date_part_second_timestamp(moment, &errors), 7 + 250001 / 1000000.0);
  EXPECT_EQ(rt_date_part_milliseconds_timestamp(moment, &errors), 7 * 1000.0 + 250001 / 1000.0);
  EXPECT_EQ(rt_extract_epoch_timestamp(moment, &errors), 904743907250001);
  EXPECT_EQ(rt_date_part_epoch_timestamp(moment, &errors), 904743907250001 / 1000000.0);
  EXPECT_EQ(rt_extract_epoch_date(date(1970, 1, 2), &errors), 86400);
  EXPECT_EQ(rt_extract_julian_date(0, &errors), 2451545);
  EXPECT_EQ(rt_extract_hour_timestamp(timestamp(1999, 12, 31, 0) + 3599999999, &errors), 0);
  EXPECT_EQ(rt_extract_second_timestamp(-1, &errors), 59999999);
  EXPECT_EQ(errors, 0u);
  for (int64_t infinite : {kTimestampInfinity, kTimestampMinusInfinity}) {
    errors = 0;
    rt_extract_year_timestamp(infinite, &errors);
    EXPECT_EQ(errors, TB_ERR_UNREPRESENTABLE);
  }
  for (int32_t infinite : {kDateInfinity, kDateMinusInfinity}) {
    errors = 0;
    rt_extract_year_date(infinite, &errors);
    EXPECT_EQ(errors, TB_ERR_UNREPRESENTABLE);
  }
}

TEST(DatetimeTest, Trunc) {
  int64_t moment = timestamp(1998, 9, 2, 3661234567);
  uint32_t errors = 0;
  EXPECT_EQ(rt_date_trunc_year_timestamp(moment, &errors), timestamp(1998, 1, 1, 0));
  EXPECT_EQ(rt_date_trunc_quarter_timestamp(moment, &errors), timestamp(1998, 7, 1, 0));
  EXPECT_EQ(rt_date_trunc_month_timestamp(moment, &errors), timestamp(1998, 9, 1, 0));
  EXPECT_EQ(rt_date_trunc_week_timestamp(moment, &errors), timestamp(1998, 8, 31, 0));
  EXPECT_EQ(rt_date_trunc_day_timestamp(moment, &errors), timestamp(1998, 9, 2, 0));
  EXPECT_EQ(rt_date_trunc_hour_timestamp(moment, &errors), timestamp(1998, 9, 2, 3600000000));
  EXPECT_EQ(rt_date_trunc_milliseconds_timestamp(moment, &errors), timestamp(1998, 9, 2, 3661234000));
  EXPECT_EQ(rt_date_trunc_hour_timestamp(-1, &errors), -3600000000);
  EXPECT_EQ(rt_date_trunc_year_timestamp(kTimestampInfinity, &errors), kTimestampInfinity);
  EXPECT_EQ(rt_date_trunc_year_timestamp(kTimestampMinusInfinity, &errors), kTimestampMinusInfinity);
  EXPECT_EQ(errors, 0u);
  rt_date_trunc_year_timestamp(kTimestampMin, &errors);
  EXPECT_EQ(errors, TB_ERR_OVERFLOW);
}

TEST(DatetimeTest, ArithmeticAndCasts) {
  uint32_t errors = 0;
  EXPECT_EQ(rt_date_pli(date(1999, 12, 31), 1, &errors), 0);
  EXPECT_EQ(rt_date_mii(0, 1, &errors), -1);
  EXPECT_EQ(rt_date_mi(10, 3, &errors), 7);
  EXPECT_EQ(rt_date_pli(kDateInfinity, 5, &errors), kDateInfinity);
  EXPECT_EQ(rt_date_mii(kDateMinusInfinity, INT32_MIN, &errors), kDateMinusInfinity);
  EXPECT_EQ(rt_date_pli(kDateMin, 0, &errors), kDateMin);
  EXPECT_EQ(rt_date_to_timestamp(1, &errors), kMicrosPerDay);
  EXPECT_EQ(rt_date_to_timestamp(kDateInfinity, &errors), kTimestampInfinity);
  EXPECT_EQ(rt_date_to_timestamp(kDateMinusInfinity, &errors), kTimestampMinusInfinity);
  EXPECT_EQ(rt_timestamp_to_date(-1), -1);
  EXPECT_EQ(rt_timestamp_to_date(kTimestampInfinity), kDateInfinity);
  EXPECT_EQ(rt_timestamp_to_date(kTimestampMinusInfinity), kDateMinusInfinity);
  EXPECT_EQ(rt_timestamp_to_date(kTimestampMin), kDateMin);
  EXPECT_EQ(errors, 0u);
  for (auto [day, days] : {std::pair{kDateMin, -1}, {kDateEnd - 1, 1}, {0, INT32_MAX}, {0, INT32_MIN}}) {
    errors = 0;
    rt_date_pli(day, days, &errors);
    EXPECT_EQ(errors, TB_ERR_OVERFLOW) << day << ' ' << days;
  }
  errors = 0;
  rt_date_mi(kDateInfinity, 0, &errors);
  EXPECT_EQ(errors, TB_ERR_OVERFLOW);
  errors = 0;
  rt_date_to_timestamp(kTimestampEndDate, &errors);
  EXPECT_EQ(errors, TB_ERR_OVERFLOW);
}

TEST(DatetimeTest, DateAgainstTimestamp) {
  EXPECT_TRUE(rt_date_eq_timestamp(3, 3 * kMicrosPerDay));
  EXPECT_TRUE(rt_date_lt_timestamp(3, 3 * kMicrosPerDay + 1));
  EXPECT_TRUE(rt_date_eq_timestamp(kDateInfinity, kTimestampInfinity));
  EXPECT_TRUE(rt_date_eq_timestamp(kDateMinusInfinity, kTimestampMinusInfinity));
  /* A date without a timestamp is above all finite timestamps. */
  EXPECT_TRUE(rt_date_gt_timestamp(kTimestampEndDate, 9223371331199999999));
  EXPECT_TRUE(rt_date_lt_timestamp(kDateEnd - 1, kTimestampInfinity));
  EXPECT_TRUE(rt_timestamp_ge_date(kTimestampInfinity, kDateEnd - 1));
  EXPECT_FALSE(rt_timestamp_ge_date(0, kDateEnd - 1));
}

}  // namespace
