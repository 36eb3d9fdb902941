/*
 * group_key.cc - whether two key values are the same group.
 *
 * Differs from IEEE comparison for floats: NaN is one group, and -0 and 0 are
 * one. Agrees with hash.cc. Called by generated code.
 */
#include "rt/text_bytes.h"

using namespace turbine::rt;

RT_EXPORT bool rt_key_eq_bool(bool a, bool b) { return a == b; }
RT_EXPORT bool rt_key_eq_int2(int16_t a, int16_t b) { return a == b; }
RT_EXPORT bool rt_key_eq_int4(int32_t a, int32_t b) { return a == b; }
RT_EXPORT bool rt_key_eq_int8(int64_t a, int64_t b) { return a == b; }
RT_EXPORT bool rt_key_eq_num64(int64_t a, int64_t b) { return a == b; }
RT_EXPORT bool rt_key_eq_num128(__int128 a, __int128 b) { return a == b; }

RT_EXPORT bool rt_key_eq_float4(float a, float b) { return (a == b) | ((a != a) & (b != b)); }

RT_EXPORT bool rt_key_eq_float8(double a, double b) { return (a == b) | ((a != a) & (b != b)); }

RT_EXPORT bool rt_key_eq_text(const char* a, uint32_t a_length, const char* b, uint32_t b_length) {
  return a_length == b_length && equal_bytes(a, b, a_length);
}
