/*
 * rescale.cc - the scaled integers of numeric from one scale to another, and
 * from 128 bits to 64.
 *
 * Fewer digits round half away from zero, as numeric does. What does not fit
 * is TB_ERR_UNREPRESENTABLE: PostgreSQL decides. Called by generated code
 * (TB_EXPR_RESCALE) and by the numeric functions through rescale.h.
 */
#include "rt/rescale.h"

using namespace turbine::rt;

RT_EXPORT int64_t rt_num64_rescale(int64_t value, int32_t from, int32_t to, uint32_t* errors) {
  return rescale64(value, from, to, errors);
}

RT_EXPORT __int128 rt_num128_rescale(__int128 value, int32_t from, int32_t to, uint32_t* errors) {
  return rescale128(value, from, to, errors);
}

RT_EXPORT int64_t rt_num128_to_num64(__int128 value, uint32_t* errors) {
  raise_if(value != (int64_t)value, TB_ERR_UNREPRESENTABLE, errors);
  return (int64_t)value;
}
