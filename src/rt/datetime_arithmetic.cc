/*
 * datetime_arithmetic.cc - date and timestamp arithmetic, and casts that need
 * no time zone. Intervals come as months, days or microseconds. Called by
 * generated code.
 */
#include "rt/zone.h"

using namespace turbine::rt;

namespace {

/* Infinite dates stay what they are. */
RT_INLINE int32_t add_days(int32_t date, int64_t days, uint32_t* errors) {
  bool finite = date_is_finite(date);
  int64_t sum = date + days;
  raise_if(finite & ((sum < kDateMin) | (sum >= kDateEnd)), TB_ERR_OVERFLOW, errors);
  return finite ? (int32_t)sum : date;
}

}  // namespace

RT_EXPORT int32_t rt_date_pli(int32_t date, int32_t days, uint32_t* errors) { return add_days(date, days, errors); }

RT_EXPORT int32_t rt_integer_pl_date(int32_t days, int32_t date, uint32_t* errors) {
  return add_days(date, days, errors);
}

RT_EXPORT int32_t rt_date_mii(int32_t date, int32_t days, uint32_t* errors) {
  return add_days(date, -(int64_t)days, errors);
}

RT_EXPORT int32_t rt_date_mi(int32_t a, int32_t b, uint32_t* errors) {
  raise_if(!date_is_finite(a) | !date_is_finite(b), TB_ERR_OVERFLOW, errors);
  return (int32_t)((uint32_t)a - (uint32_t)b);
}

RT_EXPORT bool rt_date_finite(int32_t date) { return date_is_finite(date); }

RT_EXPORT bool rt_timestamp_finite(int64_t timestamp) { return timestamp_is_finite(timestamp); }

RT_EXPORT int64_t rt_date_to_timestamp(int32_t date, uint32_t* errors) {
  bool beyond = (date >= kTimestampEndDate) & (date != kDateInfinity);
  raise_if(beyond, TB_ERR_OVERFLOW, errors);
  return date_midnight(beyond ? 0 : date);
}

RT_EXPORT int32_t rt_timestamp_to_date(int64_t timestamp) {
  int32_t date = timestamp_day(timestamp);
  date = timestamp == kTimestampInfinity ? kDateInfinity : date;
  return timestamp == kTimestampMinusInfinity ? kDateMinusInfinity : date;
}

/* Seconds since 1970. They are shifted before they are scaled, as PostgreSQL does: rounding is part of the result. */
RT_EXPORT int64_t rt_seconds_to_timestamptz(double seconds, uint32_t* errors) {
  constexpr double kShift = 86400.0 * (kPostgresEpochJulian - kUnixEpochJulian);
  constexpr double kLeast = 86400.0 * kDateMin + kShift, kEnd = 86400.0 * kTimestampEndDate + kShift;
  const bool plus = seconds == __builtin_inf(), minus = seconds == -__builtin_inf();
  // False for NaN.
  const bool in_range = (seconds >= kLeast) & (seconds < kEnd);
  const double shifted = (in_range ? seconds : 0) - kShift;
  const int64_t micros = (int64_t)__builtin_rint(shifted * (double)kMicrosPerSecond);
  raise_if(!(plus | minus | (in_range & (micros < kTimestampEnd))), TB_ERR_OVERFLOW, errors);
  return plus ? kTimestampInfinity : minus ? kTimestampMinusInfinity : micros;
}

/* ---- timestamps and parts of intervals; infinities stay ---- */

namespace {

constexpr int32_t kMonthsBound = 12 * 310000;  // beyond every timestamp's year

RT_INLINE int64_t checked_timestamp(int64_t before, int64_t result, bool failed, uint32_t* errors) {
  bool finite = timestamp_is_finite(before);
  raise_if(finite & (failed | (result < kTimestampMin) | (result >= kTimestampEnd)), TB_ERR_OVERFLOW, errors);
  return finite ? result : before;
}

RT_INLINE int32_t days_of_month(int64_t year, int32_t month) {
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 ? (leap ? 29 : 28) : 30 + ((month + (month >> 3)) & 1);
}

/* The same day of another month, or its last. */
RT_INLINE int64_t add_months(int64_t timestamp, int32_t months, uint32_t* errors) {
  int64_t moment = timestamp_is_finite(timestamp) ? timestamp : 0;
  int64_t day = floor_divide(moment, kMicrosPerDay);
  CivilDate civil = civil_from_julian(julian_of_date((int32_t)day));
  bool failed = (months > kMonthsBound) | (months < -kMonthsBound);
  int64_t count = (int64_t)civil.year * 12 + civil.month - 1 + (failed ? 0 : months);
  int64_t year = floor_divide(count, 12);
  int32_t month = (int32_t)(count - year * 12) + 1;
  failed |= (year < -4713) | (year > 294277);
  year = failed ? 2000 : year;
  int32_t last = days_of_month(year, month);
  int32_t mday = civil.day < last ? civil.day : last;
  int64_t target = (int64_t)julian_from_civil({(int32_t)year, month, mday}) - kPostgresEpochJulian;
  int64_t result = wrapping_add(target * kMicrosPerDay, moment - day * kMicrosPerDay);
  return checked_timestamp(timestamp, result, failed, errors);
}

RT_INLINE int64_t add_micros(int64_t timestamp, int64_t micros, uint32_t* errors) {
  int64_t result;
  bool failed = __builtin_add_overflow(timestamp, micros, &result);
  return checked_timestamp(timestamp, result, failed, errors);
}

RT_INLINE int64_t add_days(int64_t timestamp, int32_t days, uint32_t* errors) {
  int64_t micros;
  bool failed = __builtin_mul_overflow((int64_t)days, kMicrosPerDay, &micros);
  int64_t result;
  failed |= __builtin_add_overflow(timestamp, micros, &result);
  return checked_timestamp(timestamp, result, failed, errors);
}

}  // namespace

RT_EXPORT int64_t rt_timestamp_add_months(int64_t timestamp, int32_t months, uint32_t* errors) {
  return add_months(timestamp, months, errors);
}

RT_EXPORT int64_t rt_timestamp_add_days(int64_t timestamp, int32_t days, uint32_t* errors) {
  return add_days(timestamp, days, errors);
}

RT_EXPORT int64_t rt_timestamp_add_micros(int64_t timestamp, int64_t micros, uint32_t* errors) {
  return add_micros(timestamp, micros, errors);
}

RT_EXPORT int64_t rt_timestamptz_add_months(int64_t moment, int32_t months, const char* zone, uint32_t length,
                                            uint32_t* errors) {
  int64_t local = zone_local(moment, zone, length, errors);
  return zone_utc(add_months(local, months, errors), zone, length, errors);
}

RT_EXPORT int64_t rt_timestamptz_add_days(int64_t moment, int32_t days, const char* zone, uint32_t length,
                                          uint32_t* errors) {
  int64_t local = zone_local(moment, zone, length, errors);
  return zone_utc(add_days(local, days, errors), zone, length, errors);
}
