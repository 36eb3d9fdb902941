/*
 * casts.cc - casts among bool, integers and floats.
 *
 * Float to integer rounds to even and raises outside the type's range, NaN
 * included; the conversion itself never sees such a value, since its result
 * would be undefined. Casts of numeric are in numeric_casts.cc, of dates in
 * datetime_arithmetic.cc. Called by generated code.
 */
#include "rt/rt.h"

using namespace turbine::rt;

#define WIDENING(name, A, R) \
  RT_EXPORT R rt_##name(A a) { return (R)a; }

WIDENING(int2_to_int4, int16_t, int32_t)
WIDENING(int2_to_int8, int16_t, int64_t)
WIDENING(int4_to_int8, int32_t, int64_t)
WIDENING(int2_to_float4, int16_t, float)
WIDENING(int4_to_float4, int32_t, float)
WIDENING(int8_to_float4, int64_t, float)
WIDENING(int2_to_float8, int16_t, double)
WIDENING(int4_to_float8, int32_t, double)
WIDENING(int8_to_float8, int64_t, double)
WIDENING(float4_to_float8, float, double)
WIDENING(bool_to_int4, bool, int32_t)

RT_EXPORT bool rt_int4_to_bool(int32_t a) { return a != 0; }

#define NARROWING(name, A, R)                     \
  RT_EXPORT R rt_##name(A a, uint32_t* errors) {  \
    raise_if(a != (R)a, TB_ERR_OVERFLOW, errors); \
    return (R)a;                                  \
  }

NARROWING(int4_to_int2, int32_t, int16_t)
NARROWING(int8_to_int2, int64_t, int16_t)
NARROWING(int8_to_int4, int64_t, int32_t)

namespace {

/* `limit` is 2^(bits-1): the range is [-limit, limit). */
template <typename R, typename A>
RT_INLINE R round_to_integer(A rounded, A limit, uint32_t* errors) {
  bool fits = (rounded >= -limit) & (rounded < limit);
  raise_if(!fits, TB_ERR_OVERFLOW, errors);
  return (R)(fits ? rounded : 0);
}

}  // namespace

#define FLOAT_TO_INTEGER(suffix, R, limit)                                \
  RT_EXPORT R rt_float4_to_##suffix(float a, uint32_t* errors) {          \
    return round_to_integer<R, float>(__builtin_rintf(a), limit, errors); \
  }                                                                       \
  RT_EXPORT R rt_float8_to_##suffix(double a, uint32_t* errors) {         \
    return round_to_integer<R, double>(__builtin_rint(a), limit, errors); \
  }

FLOAT_TO_INTEGER(int2, int16_t, 0x1p15)
FLOAT_TO_INTEGER(int4, int32_t, 0x1p31)
FLOAT_TO_INTEGER(int8, int64_t, 0x1p63)

/* Raises where the value becomes infinite or zero and was not. */
RT_EXPORT float rt_float8_to_float4(double a, uint32_t* errors) {
  float result = (float)a;
  raise_if((__builtin_fabsf(result) == __builtin_inff()) & (__builtin_fabs(a) != __builtin_inf()), TB_ERR_OVERFLOW,
           errors);
  raise_if((result == 0) & (a != 0), TB_ERR_OVERFLOW, errors);
  return result;
}
