/*
 * comparison.cc - = <> < <= > >= of the types whose order is that of integers
 * (bool, integers, dates, timestamps) and of floats.
 *
 * Floats follow PostgreSQL: all NaNs are equal and above everything, -0 = 0.
 * Written without branches, so that loops over them vectorise. Called by
 * generated code.
 */
#include "rt/rt.h"

#include "rt/datetime.h"

using namespace turbine::rt;

#define SIX_COMPARISONS(name, A, B, W)                            \
  RT_EXPORT bool rt_##name##eq(A a, B b) { return (W)a == (W)b; } \
  RT_EXPORT bool rt_##name##ne(A a, B b) { return (W)a != (W)b; } \
  RT_EXPORT bool rt_##name##lt(A a, B b) { return (W)a < (W)b; }  \
  RT_EXPORT bool rt_##name##le(A a, B b) { return (W)a <= (W)b; } \
  RT_EXPORT bool rt_##name##gt(A a, B b) { return (W)a > (W)b; }  \
  RT_EXPORT bool rt_##name##ge(A a, B b) { return (W)a >= (W)b; }

SIX_COMPARISONS(bool, bool, bool, int)
SIX_COMPARISONS(int2, int16_t, int16_t, int16_t)
SIX_COMPARISONS(int4, int32_t, int32_t, int32_t)
SIX_COMPARISONS(int8, int64_t, int64_t, int64_t)
SIX_COMPARISONS(int24, int16_t, int32_t, int32_t)
SIX_COMPARISONS(int42, int32_t, int16_t, int32_t)
SIX_COMPARISONS(int28, int16_t, int64_t, int64_t)
SIX_COMPARISONS(int82, int64_t, int16_t, int64_t)
SIX_COMPARISONS(int48, int32_t, int64_t, int64_t)
SIX_COMPARISONS(int84, int64_t, int32_t, int64_t)
SIX_COMPARISONS(date_, int32_t, int32_t, int32_t)
SIX_COMPARISONS(timestamp_, int64_t, int64_t, int64_t)

/* A date beyond the timestamps' range compares as later than all of them but
 * infinity: date_order_key. */
#define DATE_COMPARISONS(operation, symbol)                                                                   \
  RT_EXPORT bool rt_date_##operation##_timestamp(int32_t a, int64_t b) { return date_order_key(a) symbol b; } \
  RT_EXPORT bool rt_timestamp_##operation##_date(int64_t a, int32_t b) { return a symbol date_order_key(b); }

DATE_COMPARISONS(eq, ==)
DATE_COMPARISONS(ne, !=)
DATE_COMPARISONS(lt, <)
DATE_COMPARISONS(le, <=)
DATE_COMPARISONS(gt, >)
DATE_COMPARISONS(ge, >=)

namespace {

template <typename T>
RT_INLINE bool float_eq(T a, T b) {
  return (a == b) | ((a != a) & (b != b));
}

template <typename T>
RT_INLINE bool float_lt(T a, T b) {
  return (a < b) | ((a == a) & (b != b));
}

}  // namespace

#define FLOAT_COMPARISONS(name, A, B, W)                                \
  RT_EXPORT bool rt_##name##eq(A a, B b) { return float_eq<W>(a, b); }  \
  RT_EXPORT bool rt_##name##ne(A a, B b) { return !float_eq<W>(a, b); } \
  RT_EXPORT bool rt_##name##lt(A a, B b) { return float_lt<W>(a, b); }  \
  RT_EXPORT bool rt_##name##le(A a, B b) { return !float_lt<W>(b, a); } \
  RT_EXPORT bool rt_##name##gt(A a, B b) { return float_lt<W>(b, a); }  \
  RT_EXPORT bool rt_##name##ge(A a, B b) { return !float_lt<W>(a, b); }

FLOAT_COMPARISONS(float4, float, float, float)
FLOAT_COMPARISONS(float8, double, double, double)
FLOAT_COMPARISONS(float48, float, double, double)
FLOAT_COMPARISONS(float84, double, float, double)
