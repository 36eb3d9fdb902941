/*
 * integer_form.h - how integers of a file become the integers of PostgreSQL's types.
 *
 * Dates and timestamps of files count from 1970-01-01, in seconds to nanoseconds, PostgreSQL's from 2000-01-01 in days
 * and microseconds. Values, and the least and greatest value of a batch, go the same way. So what a file says of a
 * batch and what is read of it agree. Any thread.
 */
#pragma once

#include <cstdint>

#include <arrow/type_fwd.h>

namespace turbine {

/* PostgreSQL's: datatype/timestamp.h. */
inline constexpr int64_t kEpochDays = 10'957;  // from 1970-01-01 to 2000-01-01
inline constexpr int64_t kMicrosecondsPerDay = 86'400'000'000;
inline constexpr int64_t kMillisecondsPerDay = 86'400'000;
inline constexpr int64_t kNanosecondsPerDay = 86'400'000'000'000;
inline constexpr int64_t kLeastDate = -2'451'545, kGreatestDate = 2'145'031'948;
inline constexpr int64_t kLeastTimestamp = -211'813'488'000'000'000;
inline constexpr int64_t kGreatestTimestamp = 9'223'371'331'200'000'000 - 1;

inline int64_t floor_divide(int64_t value, int64_t divisor) { return value / divisor - (value % divisor < 0 ? 1 : 0); }

struct IntegerForm {
  /* (value / divide (rounded down) + add) * multiply. The sum comes before the product, which is then in range if the
   * result is: seconds since 1970 are more than microseconds can count, though not those since 2000. */
  int64_t divide = 1, add = 0, multiply = 1;
  bool is_whole = false;  // a remainder is an error
  /* What the result must be within. */
  int64_t least = INT64_MIN, greatest = INT64_MAX;
  /* The same everywhere: nothing is to be computed. */
  bool identity() const { return divide == 1 && multiply == 1 && add == 0; }

  /* False: it is out of range, or is not whole. */
  bool convert(int64_t value, int64_t* result) const {
    if (divide != 1) {
      if (is_whole && value % divide != 0) return false;
      value = floor_divide(value, divide);
    }
    return !__builtin_add_overflow(value, add, &value) && !__builtin_mul_overflow(value, multiply, result) &&
           *result >= least && *result <= greatest;
  }
};

/* Of DATE32, which counts days, or DATE64: milliseconds of whole days. */
inline IntegerForm date_form(bool is_milliseconds) {
  return {.divide = is_milliseconds ? kMillisecondsPerDay : 1,
          .add = -kEpochDays,
          .is_whole = true,
          .least = kLeastDate,
          .greatest = kGreatestDate};
}

/* To microseconds, whatever they count from. */
inline IntegerForm duration_form(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND: return {.multiply = 1'000'000};
    case arrow::TimeUnit::MILLI: return {.multiply = 1'000};
    case arrow::TimeUnit::MICRO: return {};
    case arrow::TimeUnit::NANO: return {.divide = 1'000};
  }
  return {};
}

inline IntegerForm timestamp_form(arrow::TimeUnit::type unit) {
  IntegerForm form = duration_form(unit);
  form.add = -kEpochDays * kMicrosecondsPerDay / form.multiply;
  form.least = kLeastTimestamp;
  form.greatest = kGreatestTimestamp;
  return form;
}

/* Of the day: 24:00:00 is a time, too. In nanoseconds it is none, because what is beyond it would be rounded to it. */
inline IntegerForm time_form(arrow::TimeUnit::type unit) {
  IntegerForm form = duration_form(unit);
  form.least = 0;
  form.greatest = unit == arrow::TimeUnit::NANO ? kMicrosecondsPerDay - 1 : kMicrosecondsPerDay;
  return form;
}

}  // namespace turbine
