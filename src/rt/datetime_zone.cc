/*
 * datetime_zone.cc - casts and comparisons between timestamptz and what has no time zone. The
 * zone is the last argument. Called by generated code.
 *
 * It must never read outside of the zone's bytes, whatever they say.
 */
#include "rt/zone.h"

using namespace turbine::rt;

namespace {

/* A date's midnight; dates that are no timestamps are no moments of the zone. */
RT_INLINE int64_t date_moment(int32_t date, const char* zone, uint32_t length, uint32_t* errors) {
  bool beyond = (date >= kTimestampEndDate) & (date != kDateInfinity);
  raise_if(beyond, TB_ERR_OVERFLOW, errors);
  return zone_utc(date_midnight(beyond ? 0 : date), zone, length, errors);
}

}  // namespace

RT_EXPORT int64_t rt_timestamptz_to_timestamp(int64_t moment, const char* zone, uint32_t length, uint32_t* errors) {
  return zone_local(moment, zone, length, errors);
}

RT_EXPORT int64_t rt_timestamp_to_timestamptz(int64_t local, const char* zone, uint32_t length, uint32_t* errors) {
  return zone_utc(local, zone, length, errors);
}

RT_EXPORT int32_t rt_timestamptz_to_date(int64_t moment, const char* zone, uint32_t length, uint32_t* errors) {
  int64_t local = zone_local(moment, zone, length, errors);
  int32_t date = timestamp_day(local);
  date = moment == kTimestampInfinity ? kDateInfinity : date;
  return moment == kTimestampMinusInfinity ? kDateMinusInfinity : date;
}

RT_EXPORT int64_t rt_date_to_timestamptz(int32_t date, const char* zone, uint32_t length, uint32_t* errors) {
  return date_moment(date, zone, length, errors);
}

#define ZONED_COMPARISON(name, op)                                                                          \
  RT_EXPORT bool rt_date_##name##_timestamptz(int32_t a, int64_t b, const char* zone, uint32_t length,      \
                                              uint32_t* errors) {                                           \
    return date_moment(a, zone, length, errors) op b;                                                       \
  }                                                                                                         \
  RT_EXPORT bool rt_timestamptz_##name##_date(int64_t a, int32_t b, const char* zone, uint32_t length,      \
                                              uint32_t* errors) {                                           \
    return a op date_moment(b, zone, length, errors);                                                       \
  }                                                                                                         \
  RT_EXPORT bool rt_timestamp_##name##_timestamptz(int64_t a, int64_t b, const char* zone, uint32_t length, \
                                                   uint32_t* errors) {                                      \
    return zone_utc(a, zone, length, errors) op b;                                                          \
  }                                                                                                         \
  RT_EXPORT bool rt_timestamptz_##name##_timestamp(int64_t a, int64_t b, const char* zone, uint32_t length, \
                                                   uint32_t* errors) {                                      \
    return a op zone_utc(b, zone, length, errors);                                                          \
  }

ZONED_COMPARISON(eq, ==)
ZONED_COMPARISON(ne, !=)
ZONED_COMPARISON(lt, <)
ZONED_COMPARISON(le, <=)
ZONED_COMPARISON(gt, >)
ZONED_COMPARISON(ge, >=)
