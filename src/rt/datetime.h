/*
 * datetime.h - PostgreSQL's dates and timestamps: constants, and the proleptic
 * Gregorian calendar on Julian day numbers.
 *
 * A date is days since 2000-01-01, a timestamp microseconds; the extreme
 * values of each are -infinity and infinity. All functions are total: operand
 * bits outside the valid range give some value, never a trap.
 */
#pragma once

#include "rt/rt.h"

namespace turbine::rt {

constexpr int32_t kDateMinusInfinity = INT32_MIN;
constexpr int32_t kDateInfinity = INT32_MAX;
constexpr int64_t kTimestampMinusInfinity = INT64_MIN;
constexpr int64_t kTimestampInfinity = INT64_MAX;

constexpr int64_t kMicrosPerSecond = 1000000;
constexpr int64_t kMicrosPerDay = 86400 * kMicrosPerSecond;

constexpr int32_t kPostgresEpochJulian = 2451545;  // 2000-01-01
constexpr int32_t kUnixEpochJulian = 2440588;      // 1970-01-01
constexpr int32_t kDateMin = -kPostgresEpochJulian;              // 4714-11-24 BC
constexpr int32_t kDateEnd = 2147483494 - kPostgresEpochJulian;  // first day after the last
constexpr int32_t kTimestampEndDate = 109203528 - kPostgresEpochJulian;
constexpr int64_t kTimestampMin = kDateMin * kMicrosPerDay;
constexpr int64_t kTimestampEnd = kTimestampEndDate * kMicrosPerDay;

RT_INLINE bool date_is_finite(int32_t date) { return (date != kDateMinusInfinity) & (date != kDateInfinity); }

RT_INLINE bool timestamp_is_finite(int64_t timestamp) {
  return (timestamp != kTimestampMinusInfinity) & (timestamp != kTimestampInfinity);
}

/* A date's midnight, infinities mapped to the timestamp's. Dates from
 * kTimestampEndDate on have no timestamp. */
RT_INLINE int64_t date_midnight(int32_t date) {
  int64_t midnight = (int64_t)((uint64_t)(int64_t)date * (uint64_t)kMicrosPerDay);
  midnight = date == kDateInfinity ? kTimestampInfinity : midnight;
  return date == kDateMinusInfinity ? kTimestampMinusInfinity : midnight;
}

/* Orders dates among timestamps: a date without a timestamp is above every
 * finite one and below infinity. */
RT_INLINE int64_t date_order_key(int32_t date) {
  bool beyond = (date >= kTimestampEndDate) & (date != kDateInfinity);
  int32_t in_range = beyond ? 0 : date;
  return beyond ? kTimestampInfinity - 1 : date_midnight(in_range);
}

RT_INLINE int64_t floor_divide(int64_t value, int64_t divisor) {
  int64_t quotient = value / divisor;
  return quotient - (value % divisor < 0);
}

/* The day of a timestamp, as a date without infinities. */
RT_INLINE int32_t timestamp_day(int64_t timestamp) { return (int32_t)floor_divide(timestamp, kMicrosPerDay); }

struct CivilDate {
  int32_t year;  // 0 is 1 BC
  int32_t month;
  int32_t day;
};

/* Years start on 1 March in here, so that the leap day is a year's last:
 * day 0 of the count is 4801-03-01 BC, Julian day -32044. */
RT_INLINE CivilDate civil_from_julian(uint32_t julian) {
  uint32_t days = julian + 32044u;
  uint32_t era = days / 146097u;  // 400 years
  uint32_t day_of_era = days % 146097u;
  uint32_t year_of_era = (day_of_era - day_of_era / 1460u + day_of_era / 36524u - day_of_era / 146096u) / 365u;
  uint32_t day_of_year = day_of_era - (365u * year_of_era + year_of_era / 4u - year_of_era / 100u);
  uint32_t month_from_march = (5u * day_of_year + 2u) / 153u;
  uint32_t day = day_of_year - (153u * month_from_march + 2u) / 5u + 1u;
  bool next_year = month_from_march >= 10u;
  uint32_t month = month_from_march + 3u - (next_year ? 12u : 0u);
  int32_t year = (int32_t)(year_of_era + era * 400u + (next_year ? 1u : 0u)) - 4800;
  return {year, (int32_t)month, (int32_t)day};
}

RT_INLINE int32_t julian_from_civil(CivilDate date) {
  uint32_t early = date.month <= 2 ? 1u : 0u;
  uint32_t year = (uint32_t)(date.year + 4800) - early;
  uint32_t month_from_march = (uint32_t)date.month + (early ? 9u : 0u) - (early ? 0u : 3u);
  uint32_t day_of_year = (153u * month_from_march + 2u) / 5u + (uint32_t)date.day - 1u;
  uint32_t era = year / 400u;
  uint32_t year_of_era = year % 400u;
  uint32_t day_of_era = year_of_era * 365u + year_of_era / 4u - year_of_era / 100u + day_of_year;
  return (int32_t)(era * 146097u + day_of_era - 32044u);
}

RT_INLINE uint32_t julian_of_date(int32_t date) { return (uint32_t)date + (uint32_t)kPostgresEpochJulian; }

}  // namespace turbine::rt
