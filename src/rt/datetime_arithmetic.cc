/*
 * datetime_arithmetic.cc - date and timestamp arithmetic and casts that need
 * no time zone and no interval. Called by generated code.
 */
#include "rt/datetime.h"

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

RT_EXPORT int32_t rt_date_pli(int32_t date, int32_t days, uint32_t* errors) {
  return add_days(date, days, errors);
}

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
