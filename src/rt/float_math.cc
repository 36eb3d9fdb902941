/*
 * float_math.cc - power, exp, ln, log, cbrt, sin, cos and tan with
 * PostgreSQL's errors.
 *
 * A finite operand with an infinite, zero or subnormal result where that is
 * near the edge of the range raises: PostgreSQL looks at errno there, and
 * PostgreSQL decides. Called by generated code.
 */
#include "rt/float_math.h"

#if defined(__NVPTX__)
#define exp rt_device_exp
#define log rt_device_log
#define log10 rt_device_log10
#define pow rt_device_pow
#define sin rt_device_sin
#define cos rt_device_cos
#define tan rt_device_tan
#define cbrt rt_device_cbrt
#else
extern "C" {
double exp(double);
double log(double);
double log10(double);
double pow(double, double);
double sin(double);
double cos(double);
double tan(double);
double cbrt(double);
}
#endif

using namespace turbine::rt;

namespace {

RT_INLINE bool is_finite(double x) { return __builtin_fabs(x) < __builtin_inf(); }

/* Left the range upwards or downwards, from finite operands. */
RT_INLINE bool out_of_range(double result) {
  double size = __builtin_fabs(result);
  return (size == __builtin_inf()) | (size < 0x1p-1022);
}

RT_INLINE void check_positive(double a, uint32_t* errors) { raise_if(a <= 0, TB_ERR_DOMAIN, errors); }

RT_INLINE void check_angle(double a, uint32_t* errors) {
  raise_if(__builtin_fabs(a) == __builtin_inf(), TB_ERR_DOMAIN, errors);
}

}  // namespace

RT_EXPORT double rt_dexp(double a, uint32_t* errors) {
  double result = exp(a);
  raise_if(is_finite(a) & out_of_range(result), TB_ERR_OVERFLOW, errors);
  return result;
}

RT_EXPORT double rt_dlog1(double a, uint32_t* errors) {
  check_positive(a, errors);
  return log(a);
}

RT_EXPORT double rt_dlog10(double a, uint32_t* errors) {
  check_positive(a, errors);
  return log10(a);
}

#if !defined(__NVPTX__)
/*
 * Whether pow(a, 2) is certainly `square` = a * a rounded. The C library's pow errs by
 * less than 0.05 units in the last place before its final rounding (glibc states 0.54
 * in all). So where the exact square, which fma tells, is within 0.45 units of the
 * rounded one, pow rounds to the same; that is 9 squares of 10, at a quarter of the
 * cost. Near the ends of the exponent range, and at powers of two, whose lower
 * neighbour is nearer, pow itself is asked.
 */
RT_INLINE bool square_is_certain(double a, double square) {
  uint64_t bits = __builtin_bit_cast(uint64_t, square);
  uint64_t exponent = bits >> 52;
  bool ordinary = (exponent > 200) & (exponent < 0x7fe) & ((bits << 12) != 0);
  double unit = __builtin_bit_cast(double, (ordinary ? exponent - 52 : 1) << 52);
  return ordinary & (__builtin_fabs(__builtin_fma(a, a, -square)) <= 0.45 * unit);
}
#endif

/* The compiler must not replace pow(x, 2) by x * x: their bits differ. */
#if !defined(__NVPTX__)
__attribute__((no_builtin("pow")))
#endif
RT_EXPORT double
rt_dpow(double a, double b, uint32_t* errors) {
  raise_if((a == 0) & (b < 0), TB_ERR_DOMAIN, errors);
#if !defined(__NVPTX__)
  if (b == 2.0 && square_is_certain(a, a * a)) return a * a;
#endif
  raise_if((a < 0) & (__builtin_floor(b) != b) & (b == b), TB_ERR_DOMAIN, errors);
  double result = pow(a, b);
  raise_if(is_finite(a) & is_finite(b) & (a != 0) & out_of_range(result), TB_ERR_OVERFLOW, errors);
  return result;
}

RT_EXPORT double rt_dcbrt(double a) { return cbrt(a); }

RT_EXPORT double rt_dsin(double a, uint32_t* errors) {
  check_angle(a, errors);
  return sin(a);
}

RT_EXPORT double rt_dcos(double a, uint32_t* errors) {
  check_angle(a, errors);
  return cos(a);
}

RT_EXPORT double rt_dtan(double a, uint32_t* errors) {
  check_angle(a, errors);
  return tan(a);
}
