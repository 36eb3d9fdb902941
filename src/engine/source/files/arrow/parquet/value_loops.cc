/*
 * value_loops.cc - see value_loops.h.
 *
 * Owns nothing. Called for each run of rows; compiled with -O3.
 */
#include "engine/source/files/arrow/parquet/value_loops.h"

#include <algorithm>

namespace turbine {

/* For processors that have wider vectors than all have. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TB_WIDE_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TB_WIDE_VECTORS
#endif

TB_WIDE_VECTORS uint32_t greatest_of(const uint32_t* numbers, uint32_t count) {
  uint32_t greatest = numbers[0];
  for (uint32_t i = 1; i < count; i++) greatest = numbers[i] > greatest ? numbers[i] : greatest;
  return greatest;
}

/* A macro and no template: the compiler does not clone those. */
#define TB_DEFINE_TAKE(Value)                                                                                       \
  TB_WIDE_VECTORS void take_entries(const Value* entries, const uint32_t* indexes, uint32_t count, Value* values) { \
    for (uint32_t i = 0; i < count; i++) values[i] = entries[indexes[i]];                                           \
  }
TB_DEFINE_TAKE(int16_t)
TB_DEFINE_TAKE(int32_t)
TB_DEFINE_TAKE(int64_t)
TB_DEFINE_TAKE(__int128)
TB_DEFINE_TAKE(float)
TB_DEFINE_TAKE(double)
#undef TB_DEFINE_TAKE

}  // namespace turbine
