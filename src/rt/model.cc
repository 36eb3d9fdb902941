/*
 * model.cc - what generated code calls for TB_EXPR_MODEL (turbine/model.h).
 *
 * The linear part is emitted in place (row_emitter.cc). Bodies of one row without a branch, so that
 * host loops over them vectorise. The search for the nearest centroid takes TB_CENTROID_LANES of
 * them at a time: vector registers on the host, independent chains of operations on a GPU.
 */
#include "turbine/model.h"

#include "rt/rt.h"

RT_EXPORT double rt_logistic(double z) { return tb_logistic(z); }

RT_EXPORT double rt_logistic_variance(double z) { return tb_logistic_variance(z); }

RT_EXPORT double rt_softplus(double z) { return tb_softplus(z); }

namespace {

typedef double Distances __attribute__((vector_size(8 * TB_CENTROID_LANES)));
typedef int64_t Numbers __attribute__((vector_size(8 * TB_CENTROID_LANES)));
static_assert(TB_CENTROID_LANES == 8);

struct Nearest {
  uint32_t number;  // from 0
  double squared;   // infinite if nothing is nearer than that
};

/* `length` elements for n > 0 columns. */
RT_INLINE Nearest nearest(const double* centroids, uint32_t length, const double* x, uint32_t n) {
  const uint32_t blocks = length / (n * TB_CENTROID_LANES);
  Distances best = {};
  Numbers block_of = {};
  best += __builtin_inf();
  for (uint32_t block = 0; block < blocks; block++) {
    const double* values = centroids + (size_t)block * n * TB_CENTROID_LANES;
    Distances sum = {};
    /* Generated code knows n: without the inner loop x stays in registers. */
#pragma clang loop unroll(full)
    for (uint32_t j = 0; j < n; j++) {
      Distances column;
      __builtin_memcpy(&column, values + (size_t)j * TB_CENTROID_LANES, sizeof(column));
      Distances difference = x[j] - column;
      sum = __builtin_elementwise_fma(difference, difference, sum);
    }
    const Numbers nearer = sum < best;
    best = nearer ? sum : best;
    block_of = nearer ? Numbers{} + (int64_t)block : block_of;
  }
  /* Of lanes that are equally near, the one with the lowest number. */
  /* Numbers of one sign are ordered as their bits are, which are compared faster. */
  const double least = __builtin_bit_cast(double, __builtin_reduce_min((Numbers)best));
  const Numbers lane = {0, 1, 2, 3, 4, 5, 6, 7};
  const Numbers number = block_of * TB_CENTROID_LANES + lane;
  const Numbers nobody = Numbers{} + INT32_MAX;
  return {(uint32_t)__builtin_reduce_min(best == least ? number : nobody), least};
}

}  // namespace

RT_EXPORT int32_t rt_nearest(const double* centroids, uint32_t length, const double* x, uint32_t n) {
  return (int32_t)nearest(centroids, length, x, n).number + 1;
}

RT_EXPORT double rt_nearest_distance(const double* centroids, uint32_t length, const double* x, uint32_t n) {
  const Nearest found = nearest(centroids, length, x, n);
  double squared = found.squared;
  /* A row with NaN, or further than numbers go: as far as from the first one. */
  if (!(squared < __builtin_inf())) squared = tb_squared_distance(centroids, TB_CENTROID_LANES, x, n);
  return __builtin_sqrt(squared);
}
