/*
 * int96.h - Parquet's INT96: a timestamp in twelve bytes, as Spark, Hive and Impala write it.
 *
 *  OFFSET  SIZE  DESCRIPTION
 *       0     8  nanoseconds of the day
 *       8     4  Julian day: 2,440,588 is 1970-01-01
 *
 * libparquet's own conversions wrap around: to nanoseconds outside the years 1677 to 2262, to microseconds where the
 * nanoseconds are negative. Any thread.
 */
#pragma once

#include <cstdint>
#include <cstring>

#include "file_values/integer_form.h"

namespace turbine {

inline constexpr int kInt96Bytes = 12;

/* In microseconds since 2000-01-01. False: PostgreSQL has no such timestamp, or it is none. Before 1970 some writers
 * count back from the next day, so nanoseconds may be negative, by less than a day. */
inline bool int96_timestamp(const uint8_t* bytes, int64_t* result) {
  constexpr int64_t kEpoch = 2'451'545;  // the Julian day of 2000-01-01
  int64_t nanoseconds;
  uint32_t day;
  memcpy(&nanoseconds, bytes, sizeof nanoseconds);
  memcpy(&day, bytes + sizeof nanoseconds, sizeof day);
  if (nanoseconds <= -kNanosecondsPerDay || nanoseconds >= kNanosecondsPerDay) return false;
  // So that the product is in range.
  if (day > kEpoch + kGreatestTimestamp / kMicrosecondsPerDay + 1) return false;
  const int64_t days = int64_t{day} - kEpoch;
  return !__builtin_add_overflow(days * kMicrosecondsPerDay, floor_divide(nanoseconds, 1'000), result) &&
         *result >= kLeastTimestamp && *result <= kGreatestTimestamp;
}

}  // namespace turbine
