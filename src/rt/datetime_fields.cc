/*
 * datetime_fields.cc - extract, date_part and date_trunc of dates and
 * timestamps, one body a field (the planner finds the constant field's row by
 * its variant "field:...").
 *
 * extract gives numeric, a 64-bit scaled integer with the scale that
 * PostgreSQL displays: 6 for second and a timestamp's epoch, 3 for
 * milliseconds, else 0. Fields of a timestamptz are those of its local time in
 * the zone, a further argument. date_part gives double precision. Infinities are
 * TB_ERR_UNREPRESENTABLE: what they give depends on the field, so PostgreSQL
 * decides. Called by generated code.
 */
#include "rt/datetime.h"
#include "rt/zone.h"

using namespace turbine::rt;

namespace {

/* A finite moment, broken down as far as the field asks: the compiler drops
 * the rest. */
struct Moment {
  uint32_t julian;
  int64_t micros_of_day;
  int64_t timestamp;
  CivilDate civil;
};

RT_INLINE Moment moment_of_date(int32_t date, uint32_t* errors) {
  raise_if(!date_is_finite(date), TB_ERR_UNREPRESENTABLE, errors);
  uint32_t julian = julian_of_date(date);
  return {julian, 0, 0, civil_from_julian(julian)};
}

RT_INLINE Moment moment_of_timestamp(int64_t timestamp, uint32_t* errors) {
  raise_if(!timestamp_is_finite(timestamp), TB_ERR_UNREPRESENTABLE, errors);
  int64_t day = floor_divide(timestamp, kMicrosPerDay);
  uint32_t julian = julian_of_date((int32_t)day);
  int64_t micros = (int64_t)((uint64_t)timestamp - (uint64_t)day * (uint64_t)kMicrosPerDay);
  return {julian, micros, timestamp, civil_from_julian(julian)};
}

/* ---- fields of the day ---- */

/* There is no year 0: 1 BC is -1. */
RT_INLINE int64_t field_year(const Moment& m, uint32_t*) { return m.civil.year > 0 ? m.civil.year : m.civil.year - 1; }

RT_INLINE int64_t field_decade(const Moment& m, uint32_t*) {
  int64_t year = m.civil.year;
  return year >= 0 ? year / 10 : -((8 - (year - 1)) / 10);
}

RT_INLINE int64_t field_century(const Moment& m, uint32_t*) {
  int64_t year = m.civil.year;
  return year > 0 ? (year + 99) / 100 : -((99 - (year - 1)) / 100);
}

RT_INLINE int64_t field_millennium(const Moment& m, uint32_t*) {
  int64_t year = m.civil.year;
  return year > 0 ? (year + 999) / 1000 : -((999 - (year - 1)) / 1000);
}

RT_INLINE int64_t field_quarter(const Moment& m, uint32_t*) { return (m.civil.month - 1) / 3 + 1; }

RT_INLINE int64_t field_month(const Moment& m, uint32_t*) { return m.civil.month; }

RT_INLINE int64_t field_day(const Moment& m, uint32_t*) { return m.civil.day; }

/* Julian day 0 was a Monday; Sunday is 0. */
RT_INLINE int64_t field_dow(const Moment& m, uint32_t*) { return (m.julian + 1u) % 7u; }

RT_INLINE int64_t field_isodow(const Moment& m, uint32_t*) { return m.julian % 7u + 1u; }

RT_INLINE int64_t day_of_year(uint32_t julian, int32_t year) {
  return (int64_t)julian - julian_from_civil({year, 1, 1}) + 1;
}

RT_INLINE int64_t field_doy(const Moment& m, uint32_t*) { return day_of_year(m.julian, m.civil.year); }

/* The Thursday of an ISO week decides the year that the week belongs to. */
RT_INLINE uint32_t thursday_of(const Moment& m) { return m.julian - m.julian % 7u + 3u; }

RT_INLINE int64_t field_week(const Moment& m, uint32_t*) {
  uint32_t thursday = thursday_of(m);
  return (day_of_year(thursday, civil_from_julian(thursday).year) - 1) / 7 + 1;
}

RT_INLINE int64_t field_isoyear(const Moment& m, uint32_t*) {
  int64_t year = civil_from_julian(thursday_of(m)).year;
  return year > 0 ? year : year - 1;
}

RT_INLINE int64_t field_julian(const Moment& m, uint32_t*) { return m.julian; }

RT_INLINE int64_t field_date_epoch(const Moment& m, uint32_t*) {
  return ((int64_t)m.julian - kUnixEpochJulian) * 86400;
}

/* ---- fields of the time of day ---- */

RT_INLINE int64_t field_hour(const Moment& m, uint32_t*) { return m.micros_of_day / (3600 * kMicrosPerSecond); }

RT_INLINE int64_t field_minute(const Moment& m, uint32_t*) { return m.micros_of_day / (60 * kMicrosPerSecond) % 60; }

/* Microseconds of the minute: `second` at scale 6, `milliseconds` at scale 3,
 * `microseconds` at scale 0. */
RT_INLINE int64_t field_second(const Moment& m, uint32_t*) { return m.micros_of_day % (60 * kMicrosPerSecond); }

/* Microseconds since 1970, where those are 18 digits at most, as 64-bit
 * numerics are. */
RT_INLINE int64_t field_epoch(const Moment& m, uint32_t* errors) {
  constexpr int64_t shift = (int64_t)(kPostgresEpochJulian - kUnixEpochJulian) * kMicrosPerDay;
  constexpr int64_t limit = 1000000000000000000;
  int64_t epoch = (int64_t)((uint64_t)m.timestamp + (uint64_t)shift);
  raise_if((epoch >= limit) | (epoch <= -limit), TB_ERR_UNREPRESENTABLE, errors);
  return epoch;
}

/* PostgreSQL adds whole seconds and their fraction, it does not divide. */
RT_INLINE double seconds_of_minute(int64_t micros) {
  return (double)(micros / kMicrosPerSecond) + (double)(micros % kMicrosPerSecond) / 1000000.0;
}

RT_INLINE double milliseconds_of_minute(int64_t micros) {
  return (double)(micros / kMicrosPerSecond) * 1000.0 + (double)(micros % kMicrosPerSecond) / 1000.0;
}

RT_INLINE double whole(int64_t value) { return (double)value; }

RT_INLINE double micros_to_seconds(int64_t micros) { return (double)micros / 1000000.0; }

}  // namespace

#define EXTRACT_DATE(name, field)                                              \
  RT_EXPORT int64_t rt_extract_##name##_date(int32_t date, uint32_t* errors) { \
    return field(moment_of_date(date, errors), errors);                        \
  }

#define EXTRACT_TIMESTAMP(name, field, to_double)                                         \
  RT_EXPORT int64_t rt_extract_##name##_timestamp(int64_t timestamp, uint32_t* errors) {  \
    return field(moment_of_timestamp(timestamp, errors), errors);                         \
  }                                                                                       \
  RT_EXPORT double rt_date_part_##name##_timestamp(int64_t timestamp, uint32_t* errors) { \
    return to_double(field(moment_of_timestamp(timestamp, errors), errors));              \
  }

#define EXTRACT_ZONED(name, field, to_double)                                                               \
  RT_EXPORT int64_t rt_extract_##name##_timestamptz(int64_t moment, const char* zone, uint32_t length,      \
                                                    uint32_t* errors) {                                     \
    return field(moment_of_timestamp(zone_local(moment, zone, length, errors), errors), errors);            \
  }                                                                                                         \
  RT_EXPORT double rt_date_part_##name##_timestamptz(int64_t moment, const char* zone, uint32_t length,     \
                                                     uint32_t* errors) {                                    \
    return to_double(field(moment_of_timestamp(zone_local(moment, zone, length, errors), errors), errors)); \
  }

#define EXTRACT_DAY_FIELD(name)                \
  EXTRACT_DATE(name, field_##name)             \
  EXTRACT_TIMESTAMP(name, field_##name, whole) \
  EXTRACT_ZONED(name, field_##name, whole)

EXTRACT_DAY_FIELD(millennium)
EXTRACT_DAY_FIELD(century)
EXTRACT_DAY_FIELD(decade)
EXTRACT_DAY_FIELD(year)
EXTRACT_DAY_FIELD(isoyear)
EXTRACT_DAY_FIELD(quarter)
EXTRACT_DAY_FIELD(month)
EXTRACT_DAY_FIELD(week)
EXTRACT_DAY_FIELD(day)
EXTRACT_DAY_FIELD(dow)
EXTRACT_DAY_FIELD(isodow)
EXTRACT_DAY_FIELD(doy)
EXTRACT_DATE(julian, field_julian)
EXTRACT_DATE(epoch, field_date_epoch)
EXTRACT_TIMESTAMP(hour, field_hour, whole)
EXTRACT_TIMESTAMP(minute, field_minute, whole)
EXTRACT_TIMESTAMP(second, field_second, seconds_of_minute)
EXTRACT_TIMESTAMP(milliseconds, field_second, milliseconds_of_minute)
EXTRACT_TIMESTAMP(microseconds, field_second, whole)
EXTRACT_TIMESTAMP(epoch, field_epoch, micros_to_seconds)
EXTRACT_ZONED(hour, field_hour, whole)
EXTRACT_ZONED(minute, field_minute, whole)
EXTRACT_ZONED(second, field_second, seconds_of_minute)
EXTRACT_ZONED(milliseconds, field_second, milliseconds_of_minute)
EXTRACT_ZONED(microseconds, field_second, whole)

/* ---- date_trunc ---- */

namespace {

RT_INLINE int64_t midnight(int64_t julian) { return (julian - kPostgresEpochJulian) * kMicrosPerDay; }

/* Infinities truncate to themselves. Before the first day there is no
 * timestamp. */
RT_INLINE int64_t truncated(int64_t timestamp, int64_t result, uint32_t* errors) {
  bool finite = timestamp_is_finite(timestamp);
  raise_if(finite & (result < kTimestampMin), TB_ERR_OVERFLOW, errors);
  return finite ? result : timestamp;
}

RT_INLINE Moment finite_moment(int64_t timestamp) {
  uint32_t ignored = 0;
  return moment_of_timestamp(timestamp_is_finite(timestamp) ? timestamp : 0, &ignored);
}

RT_INLINE int64_t start_of_month(const CivilDate& civil, int32_t month) {
  return midnight(julian_from_civil({civil.year, month, 1}));
}

RT_INLINE int64_t start_of_year(int32_t year) { return midnight(julian_from_civil({year, 1, 1})); }

/* Centuries and millennia start in year 1 of a hundred or thousand; year 0 is 1 BC. */
RT_INLINE int32_t first_year(int32_t year, int32_t years) {
  return year > 0 ? (year + years - 1) / years * years - (years - 1) : -((years - 1 - (year - 1)) / years) * years + 1;
}

RT_INLINE int32_t first_of_decade(int32_t year) { return year > 0 ? year / 10 * 10 : -((8 - (year - 1)) / 10) * 10; }

RT_INLINE int64_t without_rest(const Moment& m, int64_t unit) { return m.timestamp - m.micros_of_day % unit; }

}  // namespace

#define DATE_TRUNC(name, start)                                                             \
  RT_EXPORT int64_t rt_date_trunc_##name##_timestamp(int64_t timestamp, uint32_t* errors) { \
    Moment m = finite_moment(timestamp);                                                    \
    return truncated(timestamp, start, errors);                                             \
  }

/* Local days and what is longer start when the zone says so then. */
#define DATE_TRUNC_ZONED(name, start)                                                                     \
  RT_EXPORT int64_t rt_date_trunc_##name##_timestamptz(int64_t moment, const char* zone, uint32_t length, \
                                                       uint32_t* errors) {                                \
    int64_t local = zone_local(moment, zone, length, errors);                                             \
    Moment m = finite_moment(local);                                                                      \
    return zone_utc(truncated(local, start, errors), zone, length, errors);                               \
  }

/* What is shorter keeps the offset of the moment. */
#define DATE_TRUNC_MOMENT(name, unit)                                                                     \
  RT_EXPORT int64_t rt_date_trunc_##name##_timestamptz(int64_t moment, const char* zone, uint32_t length, \
                                                       uint32_t* errors) {                                \
    int64_t local = zone_local(moment, zone, length, errors);                                             \
    Moment m = finite_moment(local);                                                                      \
    return truncated(moment, wrapping_subtract(moment, m.micros_of_day % (unit)), errors);                \
  }

#define DATE_TRUNC_DAYS(name, start) DATE_TRUNC(name, start) DATE_TRUNC_ZONED(name, start)

DATE_TRUNC_DAYS(millennium, start_of_year(first_year(m.civil.year, 1000)))
DATE_TRUNC_DAYS(century, start_of_year(first_year(m.civil.year, 100)))
DATE_TRUNC_DAYS(decade, start_of_year(first_of_decade(m.civil.year)))
DATE_TRUNC_DAYS(year, start_of_month(m.civil, 1))
DATE_TRUNC_DAYS(quarter, start_of_month(m.civil, (m.civil.month - 1) / 3 * 3 + 1))
DATE_TRUNC_DAYS(month, start_of_month(m.civil, m.civil.month))
DATE_TRUNC_DAYS(week, midnight((int64_t)m.julian - m.julian % 7u))
DATE_TRUNC_DAYS(day, midnight(m.julian))
DATE_TRUNC(hour, without_rest(m, 3600 * kMicrosPerSecond))
DATE_TRUNC(minute, without_rest(m, 60 * kMicrosPerSecond))
DATE_TRUNC(second, without_rest(m, kMicrosPerSecond))
DATE_TRUNC(milliseconds, without_rest(m, 1000))
DATE_TRUNC(microseconds, m.timestamp)
DATE_TRUNC_MOMENT(hour, 3600 * kMicrosPerSecond)
DATE_TRUNC_MOMENT(minute, 60 * kMicrosPerSecond)
DATE_TRUNC_MOMENT(second, kMicrosPerSecond)
DATE_TRUNC_MOMENT(milliseconds, 1000)
DATE_TRUNC_MOMENT(microseconds, 1)
