/*
 * time_values.h - Arrow's dates and times in PostgreSQL's units: days and microseconds
 * since 2000-01-01. Nanoseconds are rounded down.
 */
#pragma once

#include <arrow/type.h>

#include <cstdint>

#include "file_reader/reader_error.h"

namespace turbine::file_reader {

inline constexpr int64_t kMicrosecondsPerDay = 86'400'000'000;
inline constexpr int64_t kMillisecondsPerDay = 86'400'000;
inline constexpr int64_t kEpochDays = 10'957;  // from 1970-01-01 to 2000-01-01

inline int64_t floor_divide(int64_t value, int64_t divisor) { return value / divisor - (value % divisor < 0 ? 1 : 0); }

/* Throws ReaderError on overflow. */
inline int64_t to_microseconds(int64_t value, arrow::TimeUnit::type unit) {
  if (unit == arrow::TimeUnit::NANO) return floor_divide(value, 1000);
  const int64_t factor = unit == arrow::TimeUnit::SECOND ? 1'000'000 : unit == arrow::TimeUnit::MILLI ? 1000 : 1;
  int64_t product;
  if (__builtin_mul_overflow(value, factor, &product))
    throw ReaderError(sqlstate::time_out_of_range, "time is out of range");
  return product;
}

/* Of DATE32 or DATE64, as days; throws ReaderError if PostgreSQL has no such day. */
int32_t to_date(int64_t value, bool milliseconds);

/* Throws ReaderError if PostgreSQL has no such moment. */
int64_t to_timestamp(int64_t value, arrow::TimeUnit::type unit);

}  // namespace turbine::file_reader
