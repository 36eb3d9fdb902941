/*
 * float_arithmetic.cc - + - * / of real and double precision and of both,
 * unary minus, abs, rounding, sign, square root, degrees and radians: all that
 * is exact by IEEE 754, and so bit-equal on every device.
 *
 * PostgreSQL raises where a result is infinite though no operand was, and
 * where it is zero though no operand made it so; both are
 * TB_ERR_OVERFLOW here. Called by generated code.
 */
#include "rt/rt.h"

using namespace turbine::rt;

namespace {

RT_INLINE bool is_infinite(double value) { return __builtin_fabs(value) == __builtin_inf(); }
RT_INLINE bool is_infinite(float value) { return __builtin_fabsf(value) == __builtin_inff(); }

template <typename T>
RT_INLINE void check_infinite(T result, T a, T b, uint32_t* errors) {
  raise_if(is_infinite(result) & !is_infinite(a) & !is_infinite(b), TB_ERR_OVERFLOW, errors);
}

template <typename T>
RT_INLINE T add(T a, T b, uint32_t* errors) {
  T result = a + b;
  check_infinite(result, a, b, errors);
  return result;
}

template <typename T>
RT_INLINE T subtract(T a, T b, uint32_t* errors) {
  T result = a - b;
  check_infinite(result, a, b, errors);
  return result;
}

template <typename T>
RT_INLINE T multiply(T a, T b, uint32_t* errors) {
  T result = a * b;
  check_infinite(result, a, b, errors);
  raise_if((result == 0) & (a != 0) & (b != 0), TB_ERR_OVERFLOW, errors);
  return result;
}

template <typename T>
RT_INLINE T divide(T a, T b, uint32_t* errors) {
  bool by_zero = (b == 0) & (a == a);
  raise_if(by_zero, TB_ERR_DIVISION_BY_ZERO, errors);
  T result = a / b;
  raise_if(!by_zero & is_infinite(result) & !is_infinite(a), TB_ERR_OVERFLOW, errors);
  raise_if((result == 0) & (a != 0) & !is_infinite(b), TB_ERR_OVERFLOW, errors);
  return result;
}

}  // namespace

#define FOUR_OPERATORS(name, A, B, R)                                                          \
  RT_EXPORT R rt_##name##pl(A a, B b, uint32_t* errors) { return add<R>(a, b, errors); }       \
  RT_EXPORT R rt_##name##mi(A a, B b, uint32_t* errors) { return subtract<R>(a, b, errors); }  \
  RT_EXPORT R rt_##name##mul(A a, B b, uint32_t* errors) { return multiply<R>(a, b, errors); } \
  RT_EXPORT R rt_##name##div(A a, B b, uint32_t* errors) { return divide<R>(a, b, errors); }

FOUR_OPERATORS(float4, float, float, float)
FOUR_OPERATORS(float8, double, double, double)
FOUR_OPERATORS(float48, float, double, double)
FOUR_OPERATORS(float84, double, float, double)

RT_EXPORT float rt_float4um(float a) { return -a; }
RT_EXPORT double rt_float8um(double a) { return -a; }
RT_EXPORT float rt_float4abs(float a) { return __builtin_fabsf(a); }
RT_EXPORT double rt_float8abs(double a) { return __builtin_fabs(a); }

RT_EXPORT double rt_dceil(double a) { return __builtin_ceil(a); }
RT_EXPORT double rt_dfloor(double a) { return __builtin_floor(a); }
RT_EXPORT double rt_dround(double a) { return __builtin_rint(a); }
RT_EXPORT double rt_dtrunc(double a) { return __builtin_trunc(a); }

/* NaN and both zeros give 0. */
RT_EXPORT double rt_dsign(double a) { return a > 0 ? 1.0 : a < 0 ? -1.0 : 0.0; }

RT_EXPORT double rt_dsqrt(double a, uint32_t* errors) {
  raise_if(a < 0, TB_ERR_DOMAIN, errors);
  return __builtin_sqrt(a);
}

RT_EXPORT double rt_degrees(double a, uint32_t* errors) { return divide<double>(a, 0.0174532925199432957692, errors); }

RT_EXPORT double rt_radians(double a, uint32_t* errors) {
  return multiply<double>(a, 0.0174532925199432957692, errors);
}
