/*
 * row_estimate.cc - estimates of a result plan.
 *
 * Called by likely_rows.cc on the host's worker threads. A step is done for all rows of a
 * block before the next one.
 */
#include "engine/result/estimate/row_estimate.h"

#include <algorithm>

#include "engine/result/order/ordered_value.h"

namespace turbine {
namespace {

/* Whole numbers up to here are doubles. */
constexpr double kExact = 9007199254740992.0;
/* Powers of ten up to here are doubles. */
constexpr int kExactPower = 22;

using Block = Interval[kEstimateRows];

Interval of_integer(__int128 value) {
  const auto number = static_cast<double>(value);
  return std::abs(number) <= kExact ? Interval::point(number) : Interval{below(number), above(number)};
}

Interval of_float(double value) { return std::isfinite(value) ? Interval::point(value) : Interval::doubt(); }

/* Calls `f` with a function from a value's address to its interval, without its scale. */
template <class F>
void with_value(uint32_t type, F&& f) {
  switch (type) {
    case TB_TYPE_BOOL: return f([](const uint8_t* at) { return of_integer(*at); });
    case TB_TYPE_INT2: return f([](const uint8_t* at) { return of_integer(load_value<int16_t>(at)); });
    case TB_TYPE_INT4:
    case TB_TYPE_DATE: return f([](const uint8_t* at) { return of_integer(load_value<int32_t>(at)); });
    case TB_TYPE_FLOAT4: return f([](const uint8_t* at) { return of_float(load_value<float>(at)); });
    case TB_TYPE_FLOAT8: return f([](const uint8_t* at) { return of_float(load_value<double>(at)); });
    case TB_TYPE_NUM128: return f([](const uint8_t* at) { return of_integer(load_value<__int128>(at)); });
    default: return f([](const uint8_t* at) { return of_integer(load_value<int64_t>(at)); });
  }
}

Interval scaled(const Interval& value, double power, bool exact) {
  const End low = divide_ends(value.low, power), high = divide_ends(value.high, power);
  if (value.is_point() && exact && low.exact) return Interval::point(low.value);
  return {below(below(low.value)), above(above(high.value))};
}

void read_column(const TbEstimateStep& step, uint32_t type, const ResultBatch& batch, uint64_t first, size_t n,
                 Interval* to) {
  const ResultColumn& column = batch.columns[step.column];
  with_value(type, [&](auto value_of) {
    for (size_t i = 0; i < n; i++)
      to[i] = column.is_null(first + i) ? Interval::null() : value_of(column.at(first + i));
  });
  // A value that PostgreSQL may be unable to form, as of a sum that is too large for a real.
  if (step.low > -Interval::kInfinity || step.high < Interval::kInfinity)
    for (size_t i = 0; i < n; i++)
      if (!to[i].is_null() && (to[i].low < step.low || to[i].high > step.high)) to[i] = Interval::doubt();
  if (step.scale == 0) return;
  const double power = std::pow(10.0, step.scale);
  for (size_t i = 0; i < n; i++)
    if (!to[i].is_null()) to[i] = scaled(to[i], power, step.scale > 0 && step.scale <= kExactPower);
}

/* The operators that are NULL if an argument is. */
template <class F>
void strict(size_t n, Interval* a, const Interval* b, F&& f) {
  for (size_t i = 0; i < n; i++) {
    if (a[i].is_doubt() || b[i].is_doubt())
      a[i] = Interval::doubt();
    else if (a[i].is_null() || b[i].is_null())
      a[i] = Interval::null();
    else
      a[i] = f(a[i], b[i]);
  }
}

template <class F>
void strict(size_t n, Interval* a, F&& f) {
  strict(n, a, a, [&](const Interval& value, const Interval&) { return f(value); });
}

/* An operation on the top of the stack, and on what lies below it. */
void operate_on_one(const TbEstimateStep& step, size_t n, Interval* a) {
  switch (step.op) {
    case TB_ESTIMATE_NEGATE: return strict(n, a, [&](const Interval& x) { return negate(x, step); });
    case TB_ESTIMATE_ABSOLUTE: return strict(n, a, [&](const Interval& x) { return absolute(x, step); });
    case TB_ESTIMATE_ROUND: return strict(n, a, [&](const Interval& x) { return round_by(x, step.high); });
    default: return strict(n, a, [&](const Interval& x) { return convert(x, step); });
  }
}

/* The second argument is evaluated where the first is NULL. */
void coalesce(size_t n, Interval* a, const Interval* b) {
  for (size_t i = 0; i < n; i++)
    if (!a[i].is_doubt() && a[i].is_null()) a[i] = b[i];
}

void operate_on_two(const TbEstimateStep& step, size_t n, Interval* a, const Interval* b) {
  using I = const Interval&;
  switch (step.op) {
    case TB_ESTIMATE_ADD: return strict(n, a, b, [&](I x, I y) { return add(x, y, step); });
    case TB_ESTIMATE_SUBTRACT: return strict(n, a, b, [&](I x, I y) { return subtract(x, y, step); });
    case TB_ESTIMATE_MULTIPLY: return strict(n, a, b, [&](I x, I y) { return multiply(x, y, step); });
    case TB_ESTIMATE_DIVIDE: return strict(n, a, b, [&](I x, I y) { return divide(x, y, step); });
    case TB_ESTIMATE_LESS: return strict(n, a, b, [](I x, I y) { return truth(x.high < y.low, x.low >= y.high); });
    case TB_ESTIMATE_LESS_EQUAL:
      return strict(n, a, b, [](I x, I y) { return truth(x.high <= y.low, x.low > y.high); });
    case TB_ESTIMATE_EQUAL: return strict(n, a, b, [](I x, I y) { return equal(x, y); });
    case TB_ESTIMATE_NOT_EQUAL:
      return strict(n, a, b, [](I x, I y) {
        const Interval same = equal(x, y);
        return Interval{1 - same.high, 1 - same.low};
      });
    case TB_ESTIMATE_COALESCE: return coalesce(n, a, b);
    default:
      for (size_t i = 0; i < n; i++) a[i] = null_if(a[i], b[i]);
  }
}

}  // namespace

void estimate_rows(std::span<const TbEstimateStep> steps, const std::vector<ColumnShape>& columns,
                   const ResultBatch& batch, uint64_t first, size_t n, Interval* results) {
  Block stack[TB_MAX_ESTIMATE_DEPTH];
  size_t depth = 0;
  for (const TbEstimateStep& step : steps) {
    switch (estimate_arguments(step.op)) {
      case 0:
        if (step.op == TB_ESTIMATE_COLUMN)
          read_column(step, columns[step.column].type, batch, first, n, stack[depth]);
        else
          std::fill_n(stack[depth], n, step.op == TB_ESTIMATE_NULL ? Interval::null() : Interval{step.low, step.high});
        depth++;
        break;
      case 1: operate_on_one(step, n, stack[depth - 1]); break;
      default: depth--; operate_on_two(step, n, stack[depth - 1], stack[depth]);
    }
  }
  std::copy_n(stack[0], n, results);
}

}  // namespace turbine
