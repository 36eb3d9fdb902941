/*
 * model.h - values that a fitted model gives to a row: what TB_EXPR_MODEL computes.
 *
 * PostgreSQL's side (src/pg/learning/predict.c) and the device library (src/rt/model.cc)
 * include the same functions. They consist of exactly rounded operations in a fixed order,
 * with each fused multiply-add written out, so that all of them give the same bits.
 * Nothing here raises an error: what overflows is infinite, and NaN gives NaN.
 *
 * The model is an array of float8, the first operand; x[0 .. n-1] are the others.
 *   Coefficients: n + 1 of them, the constant term first.
 *   Centroids: in blocks of TB_CENTROID_LANES, the values of one column side by side:
 *   centroid c's value j is element (c / LANES * n + j) * LANES + c % LANES. The last
 *   block is filled with NaN, which is near to nothing.
 */
#ifndef TURBINE_MODEL_H
#define TURBINE_MODEL_H

#include <stdint.h>

#define TB_CENTROID_LANES 8

typedef enum TbModelKind
{
	TB_MODEL_LINEAR = 1, /* FLOAT8: z = w[0] + w[1] * x[0] + ... */
	TB_MODEL_LOGISTIC,	 /* FLOAT8: p = 1 / (1 + exp(-z)) */
	TB_MODEL_VARIANCE,	 /* FLOAT8: p * (1 - p) */
	TB_MODEL_SOFTPLUS,	 /* FLOAT8: ln(1 + exp(z)) */
	TB_MODEL_NEAREST,	 /* INT4: number of the nearest centroid, from 1; the lower one of
						  * two that are equally near; 1 if x has a NaN */
	TB_MODEL_DISTANCE,	 /* FLOAT8: Euclidean distance to that centroid */
	TB_MODEL_PRODUCT	 /* FLOAT8: x[0] * x[1] * ..., of no model: there is no array */
} TbModelKind;

static inline int
tb_model_has_array(uint32_t kind)
{
	return kind != TB_MODEL_PRODUCT;
}

static inline int
tb_model_has_centroids(uint32_t kind)
{
	return kind == TB_MODEL_NEAREST || kind == TB_MODEL_DISTANCE;
}

/* Elements of the array for n columns and k centroids (of coefficients k is ignored). */
static inline uint32_t
tb_model_length(uint32_t kind, uint32_t n, uint32_t k)
{
	if (!tb_model_has_centroids(kind))
		return n + 1;
	return (k + TB_CENTROID_LANES - 1) / TB_CENTROID_LANES * TB_CENTROID_LANES * n;
}

/* exp(-|z|), at least 2^-1021: good to about one unit in the last place. */
static inline double
tb_exp_of_minus(double z)
{
	const double ln2_high = 0x1.62e42fefa39efp-1;
	const double ln2_low = 0x1.abc9e3b39803fp-56;
	const double shift = 0x1.8p52; /* leaves an integer in the low bits */
	double		 x = z < 0 ? z : -z;
	double		 k;
	double		 r;
	double		 p;
	int64_t		 bits;
	double		 scale;

	x = x < -707.0 ? -707.0 : x;
	/* x = k * ln(2) + r, |r| <= ln(2) / 2 */
	k = __builtin_fma(x, 0x1.71547652b82fep+0, shift);
	__builtin_memcpy(&bits, &k, sizeof(bits));
	k -= shift;
	r = __builtin_fma(-k, ln2_high, x);
	r = __builtin_fma(-k, ln2_low, r);
	/* 1/13!, 1/12!, ... 1/2!: the rest is below 2^-57. */
	p = 1.0 / 6227020800.0;
	p = __builtin_fma(p, r, 1.0 / 479001600.0);
	p = __builtin_fma(p, r, 1.0 / 39916800.0);
	p = __builtin_fma(p, r, 1.0 / 3628800.0);
	p = __builtin_fma(p, r, 1.0 / 362880.0);
	p = __builtin_fma(p, r, 1.0 / 40320.0);
	p = __builtin_fma(p, r, 1.0 / 5040.0);
	p = __builtin_fma(p, r, 1.0 / 720.0);
	p = __builtin_fma(p, r, 1.0 / 120.0);
	p = __builtin_fma(p, r, 1.0 / 24.0);
	p = __builtin_fma(p, r, 1.0 / 6.0);
	p = __builtin_fma(p, r, 0.5);
	p = __builtin_fma(p * r, r, r);
	/* 2^k: the low bits of the sum above, moved to the exponent's place. */
	bits = (int64_t) (((uint64_t) bits + 1023) << 52);
	__builtin_memcpy(&scale, &bits, sizeof(scale));
	return __builtin_fma(p, scale, scale);
}

static inline double
tb_logistic(double z)
{
	double e = tb_exp_of_minus(z);

	return (z < 0 ? e : 1.0) / (1.0 + e);
}

static inline double
tb_logistic_variance(double z)
{
	double e = tb_exp_of_minus(z);
	double sum = 1.0 + e;

	return e / (sum * sum);
}

static inline double
tb_softplus(double z)
{
	double e = tb_exp_of_minus(z);
	/* ln(1 + e) = 2 * artanh(e / (2 + e)): s + s^3/3 + s^5/5 ..., s <= 1/3 */
	double s = e / (2.0 + e);
	double square = s * s;
	double p = 1.0 / 33.0;

	p = __builtin_fma(p, square, 1.0 / 31.0);
	p = __builtin_fma(p, square, 1.0 / 29.0);
	p = __builtin_fma(p, square, 1.0 / 27.0);
	p = __builtin_fma(p, square, 1.0 / 25.0);
	p = __builtin_fma(p, square, 1.0 / 23.0);
	p = __builtin_fma(p, square, 1.0 / 21.0);
	p = __builtin_fma(p, square, 1.0 / 19.0);
	p = __builtin_fma(p, square, 1.0 / 17.0);
	p = __builtin_fma(p, square, 1.0 / 15.0);
	p = __builtin_fma(p, square, 1.0 / 13.0);
	p = __builtin_fma(p, square, 1.0 / 11.0);
	p = __builtin_fma(p, square, 1.0 / 9.0);
	p = __builtin_fma(p, square, 1.0 / 7.0);
	p = __builtin_fma(p, square, 1.0 / 5.0);
	p = __builtin_fma(p, square, 1.0 / 3.0);
	p = __builtin_fma(p * square, s, s);
	return __builtin_fma(2.0, p, z > 0 ? z : 0.0);
}

/* Of the centroid whose values are `stride` elements apart. */
static inline double
tb_squared_distance(const double *centroid, uint32_t stride, const double *x, uint32_t n)
{
	double sum = 0;

	for (uint32_t j = 0; j < n; j++)
	{
		double difference = x[j] - centroid[j * stride];

		sum = __builtin_fma(difference, difference, sum);
	}
	return sum;
}

#endif
