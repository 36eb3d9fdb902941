/*
 * interval.h - arithmetic on intervals of doubles that hold a value of PostgreSQL's for
 * certain.
 *
 * An interval is NULL, or doubtful, if PostgreSQL might raise an error where it computes
 * the value, or holds a value. If both its ends are the same, the value is that double.
 * Whatever is not exact is rounded outwards.
 */
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "turbine/result.h"

namespace turbine {

struct Interval {
  double low, high;

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr Interval null() { return {kInfinity, -kInfinity}; }
  static constexpr Interval doubt() { return {std::numeric_limits<double>::quiet_NaN(), 0}; }
  static constexpr Interval point(double value) { return {value, value}; }

  bool is_doubt() const { return std::isnan(low); }
  bool is_null() const { return low > high; }
  bool is_point() const { return low == high; }
};

inline double below(double value) { return std::nextafter(value, -Interval::kInfinity); }
inline double above(double value) { return std::nextafter(value, Interval::kInfinity); }

/* What an operation makes of two ends, and whether that is exact. */
struct End {
  double value;
  bool exact;
};

inline End add_ends(double a, double b) {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part) == 0};  // the error of the sum, by Knuth
}
inline End multiply_ends(double a, double b) {
  const double product = a * b;
  return {product, product == 0 ? a == 0 || b == 0 : std::fma(a, b, -product) == 0 && std::abs(product) > 1e-200};
}
inline End divide_ends(double a, double b) {
  const double quotient = a / b;
  // Of few decimals, so that PostgreSQL's quotient, of 16 digits or more, is exact as well.
  const bool few = std::abs(quotient) < 1e9 && std::trunc(quotient * 16) == quotient * 16;
  return {quotient, few && std::fma(quotient, b, -a) == 0};
}

/* From the ends of an operation's result to what PostgreSQL computes in the domain. */
inline Interval finish(End low, End high, const TbEstimateStep& step, bool quotient) {
  if (!std::isfinite(low.value) || !std::isfinite(high.value)) return Interval::doubt();
  if (step.domain == TB_DOMAIN_FLOAT8) return {low.value, high.value};
  // Numerics of a quotient are rounded at their 16th digit or later; integers are cut off below.
  auto slack = [quotient](double value) { return quotient ? std::abs(value) * 1e-12 + 1e-300 : 0; };
  Interval result{low.exact ? low.value : below(low.value - slack(low.value)),
                  high.exact ? high.value : above(high.value + slack(high.value))};
  if (step.domain != TB_DOMAIN_INTEGER) return result;
  if (quotient) result = {std::trunc(result.low), std::trunc(result.high)};
  if (result.low < step.low || result.high > step.high) return Interval::doubt();
  return result;
}

inline bool may_be_zero(const Interval& value) { return value.low <= 0 && value.high >= 0; }

/* A product or quotient of floats that vanishes is an error, unless a factor is 0. */
inline Interval check_underflow(const Interval& result, const TbEstimateStep& step, bool zero) {
  constexpr double kTiny = 1e-300;
  if (step.domain != TB_DOMAIN_FLOAT8 || zero || result.is_doubt()) return result;
  return result.low < kTiny && result.high > -kTiny ? Interval::doubt() : result;
}

inline Interval add(const Interval& a, const Interval& b, const TbEstimateStep& step) {
  return finish(add_ends(a.low, b.low), add_ends(a.high, b.high), step, false);
}

inline Interval negate(const Interval& a, const TbEstimateStep& step) {
  return finish({-a.high, true}, {-a.low, true}, step, false);
}

inline Interval subtract(const Interval& a, const Interval& b, const TbEstimateStep& step) {
  return finish(add_ends(a.low, -b.high), add_ends(a.high, -b.low), step, false);
}

/* The least and the greatest of four. */
inline Interval span_of(const End (&ends)[4], const TbEstimateStep& step, bool quotient) {
  End low = ends[0], high = ends[0];
  for (const End& end : ends) {
    if (std::isnan(end.value)) return Interval::doubt();
    if (end.value < low.value || (end.value == low.value && !end.exact)) low = end;
    if (end.value > high.value || (end.value == high.value && !end.exact)) high = end;
  }
  return finish(low, high, step, quotient);
}

inline Interval multiply(const Interval& a, const Interval& b, const TbEstimateStep& step) {
  const End ends[4] = {multiply_ends(a.low, b.low), multiply_ends(a.low, b.high), multiply_ends(a.high, b.low),
                       multiply_ends(a.high, b.high)};
  const bool zero = (a.is_point() && a.low == 0) || (b.is_point() && b.low == 0);
  return check_underflow(span_of(ends, step, false), step, zero);
}

inline Interval divide(const Interval& a, const Interval& b, const TbEstimateStep& step) {
  if (may_be_zero(b)) return Interval::doubt();
  const End ends[4] = {divide_ends(a.low, b.low), divide_ends(a.low, b.high), divide_ends(a.high, b.low),
                       divide_ends(a.high, b.high)};
  return check_underflow(span_of(ends, step, true), step, a.is_point() && a.low == 0);
}

inline Interval absolute(const Interval& a, const TbEstimateStep& step) {
  if (a.low >= 0) return a;
  const Interval negated = negate(a, step);
  if (a.high <= 0 || negated.is_doubt()) return negated;
  return {0, std::max(negated.high, a.high)};
}

/* A value at most `most` away; whole numbers stay what they are. */
inline Interval round_by(const Interval& a, double most) {
  if (a.is_point() && a.low == std::trunc(a.low)) return a;
  return {below(a.low - most), above(a.high + most)};
}

inline Interval convert(const Interval& a, const TbEstimateStep& step) {
  switch (step.domain) {
    case TB_DOMAIN_INTEGER: {
      const Interval rounded = round_by(a, 1);
      return rounded.low < step.low || rounded.high > step.high ? Interval::doubt() : rounded;
    }
    case TB_DOMAIN_FLOAT8: return a;
    default:  // of a float: 15 digits
      if (a.is_point() && a.low == std::trunc(a.low) && std::abs(a.low) < 1e15) return a;
      return {a.low - std::abs(a.low) * 1e-12 - 1e-300, a.high + std::abs(a.high) * 1e-12 + 1e-300};
  }
}

inline Interval truth(bool certain, bool impossible) { return {certain ? 1.0 : 0.0, impossible ? 0.0 : 1.0}; }

inline Interval equal(const Interval& a, const Interval& b) {
  return truth(a.is_point() && b.is_point() && a.low == b.low, a.high < b.low || b.high < a.low);
}

inline Interval null_if(const Interval& a, const Interval& b) {
  if (a.is_doubt() || b.is_doubt()) return Interval::doubt();
  if (a.is_null() || b.is_null()) return a;
  const Interval same = equal(a, b);
  if (same.low == 1) return Interval::null();
  return same.high == 0 ? a : Interval::doubt();
}

}  // namespace turbine
