/*
 * linregr.c - turbine.linregr_train(): linear regression by the normal equations.
 *
 * Wanted are the w of the least sum((t - w0 - w1 * x1 - ...)^2) + l2 * (w1^2 + w2^2 + ...).
 * One pass yields sums of products of the columns, moved and scaled to -1 ... 1, so that
 * they keep their digits whatever the units; the target is moved by its mean. Another pass
 * sums the squares that are left: as a difference of sums they would be rounding where the
 * model fits well. Called by SQL.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/builtins.h"

#include "pg/learning/aggregation.h"
#include "pg/learning/dense_solve.h"
#include "pg/learning/training_result.h"
#include "pg/learning/training_source.h"
#include "pg/shmem/training_progress.h"

extern PGDLLEXPORT Datum turbine_linregr_train(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_linregr_train);

/* Index 0 is the constant term; m = number of columns + 1. */
typedef struct Linregr
{
	int		m;
	double *coefficients; /* of the columns as they are */
	double *errors;		  /* NULL: no more rows than coefficients */
	double	r2;			  /* NaN: the target is constant */
	double	residual;	  /* standard deviation of what is left; NaN: no rows for that */
} Linregr;

static int
linregr_param_types(const TbTrainingSource *source, Oid first, Oid **types)
{
	int nparams = 1 + tb_training_source_nparams(source, TB_TRAINING_NORMALIZED);

	*types = palloc(sizeof(Oid) * nparams);
	(*types)[0] = first;
	for (int i = 1; i < nparams; i++)
		(*types)[i] = FLOAT8OID;
	return nparams;
}

/* Sums of the target and of its products with the columns, then those of the columns and of
 * their products with each other: $1 is the target's mean. */
static const double *
sum_products(const TbTrainingSource *source)
{
	Oid		   *types;
	int			nparams = linregr_param_types(source, FLOAT8OID, &types);
	Datum	   *params = palloc(sizeof(Datum) * nparams);
	const char *rows = tb_training_source_rows(source, TB_TRAINING_NORMALIZED, 2);

	TbAggregation *aggregation = tb_aggregation_create(rows, nparams, types);

	/* The mean is rounded, so the target's own sum is not quite 0. */
	tb_aggregation_add(aggregation, "pg_catalog.sum(t - $1)");
	for (int i = 1; i <= source->ncolumns; i++)
		tb_aggregation_add(aggregation,
						   psprintf("pg_catalog.sum(turbine.product(t - $1, x%d))", i));
	for (int i = 1; i <= source->ncolumns; i++)
		for (int j = 0; j <= i; j++)
			tb_aggregation_add(aggregation,
							   j == 0 ?
								   psprintf("pg_catalog.sum(x%d)", i) :
								   psprintf("pg_catalog.sum(turbine.product(x%d, x%d))", i,
											j));
	params[0] = Float8GetDatum(source->target->center);
	tb_training_source_params(source, TB_TRAINING_NORMALIZED, params + 1);
	return tb_aggregation_run(aggregation, params);
}

/* Sums of squares: what the weights leave, and around the mean. */
static void
sum_squares(const TbTrainingSource *source, const double *weights, double *left,
			double *around_mean)
{
	Oid			 *types;
	int			  nparams = linregr_param_types(source, FLOAT8ARRAYOID, &types);
	Datum		 *params = palloc(sizeof(Datum) * (nparams + 1));
	const char	 *rows = tb_training_source_rows(source, TB_TRAINING_NORMALIZED, 2);
	const char	 *mean = psprintf("$%d", nparams + 1);
	const char	 *row = tb_training_arguments(source->ncolumns);
	const double *sums;

	TbAggregation *aggregation;

	types = repalloc(types, sizeof(Oid) * (nparams + 1));
	types[nparams] = FLOAT8OID;
	aggregation = tb_aggregation_create(rows, nparams + 1, types);
	tb_aggregation_add(aggregation,
					   psprintf("pg_catalog.sum(turbine.product("
								"t - %s - turbine.linregr_predict($1%s), "
								"t - %s - turbine.linregr_predict($1%s)))",
								mean, row, mean, row));
	tb_aggregation_add(aggregation,
					   psprintf("pg_catalog.sum(turbine.product(t - %s, t - %s))", mean,
								mean));
	params[0] = tb_float8_array(weights, source->ncolumns + 1);
	tb_training_source_params(source, TB_TRAINING_NORMALIZED, params + 1);
	params[nparams] = Float8GetDatum(source->target->center);
	sums = tb_aggregation_run(aggregation, params);
	*left = sums[0];
	*around_mean = sums[1];
}

/* The matrix without penalty, and the right side; returns the matrix with it, decomposed.
 */
static double *
solve(const TbTrainingSource *source, double l2, double *matrix, double *weights)
{
	int			  m = source->ncolumns + 1;
	const double *sums = sum_products(source);
	double		 *decomposed = palloc(sizeof(double) * m * m);
	int			  column;

	for (int i = 0; i < m; i++)
		weights[i] = *sums++;
	matrix[0] = source->rows;
	for (int i = 1; i < m; i++)
		for (int j = 0; j <= i; j++)
			matrix[i * m + j] = matrix[j * m + i] = *sums++;
	memcpy(decomposed, matrix, sizeof(double) * m * m);
	for (int i = 1; i < m; i++)
		decomposed[i * m + i] += l2 * source->columns[i - 1].scale *
			source->columns[i - 1].scale;
	if (!tb_cholesky(decomposed, m, &column))
		tb_training_raise_dependent(source, column);
	tb_cholesky_solve(decomposed, m, weights);
	return decomposed;
}

/* Of the columns as they are, for a variance of 1 of what is left. With a penalty: of the
 * estimate for that penalty, A^-1 * matrix * A^-1. */
static void
unit_errors(const TbTrainingSource *source, const double *decomposed, const double *matrix,
			double *errors)
{
	int		m = source->ncolumns + 1;
	double *inverse = palloc(sizeof(double) * m * m);
	double *half = palloc0(sizeof(double) * m * m);
	double *covariance = palloc0(sizeof(double) * m * m);

	tb_cholesky_inverse(decomposed, m, inverse);
	for (int i = 0; i < m; i++)
		for (int k = 0; k < m; k++)
			for (int j = 0; j < m; j++)
				half[i * m + j] += inverse[i * m + k] * matrix[k * m + j];
	for (int i = 0; i < m; i++)
		for (int k = 0; k < m; k++)
			for (int j = 0; j < m; j++)
				covariance[i * m + j] += half[i * m + k] * inverse[k * m + j];
	tb_training_unscale_errors(source, covariance, errors);
}

static Linregr *
fit_line(TbTrainingSource *source, double l2)
{
	Linregr *fit = palloc0(sizeof(Linregr));
	int		 m = source->ncolumns + 1;
	double	*matrix = palloc(sizeof(double) * m * m);
	double	*weights = palloc(sizeof(double) * m);
	double	*decomposed;
	double	 left;
	double	 around_mean;

	tb_training_source_measure(source);
	tb_training_progress_rows(source->rows);
	tb_training_refuse_constants(source);
	decomposed = solve(source, l2, matrix, weights);
	tb_training_progress_iteration(1, NAN, NAN);
	sum_squares(source, weights, &left, &around_mean);
	fit->m = m;
	fit->coefficients = palloc(sizeof(double) * m);
	tb_training_unscale(source, weights, fit->coefficients);
	fit->coefficients[0] += source->target->center;
	fit->r2 = around_mean > 0 ? 1 - left / around_mean : NAN;
	fit->residual = source->rows > m ? sqrt(left / (source->rows - m)) : NAN;
	if (source->rows > m)
	{
		fit->errors = palloc(sizeof(double) * m);
		unit_errors(source, decomposed, matrix, fit->errors);
		for (int i = 0; i < m; i++)
			fit->errors[i] *= fit->residual;
	}
	return fit;
}

Datum
turbine_linregr_train(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"source", "dependent", "independent", "l2"};
	MemoryContext			 caller = CurrentMemoryContext;
	MemoryContext			 within;
	double					 l2;
	Datum					 values[6];
	bool					 nulls[6] = {0};
	int						 i = 0;

	tb_training_require_args(fcinfo, lengthof(names), names);
	l2 = tb_training_not_negative(PG_GETARG_FLOAT8(3), names[3]);
	SPI_connect();
	tb_training_progress_begin("linregr_train");
	PG_TRY();
	{
		TbTrainingSource *source = tb_training_source_open(
			text_to_cstring(PG_GETARG_TEXT_PP(0)));
		Linregr *fit;

		tb_training_source_columns(source, PG_GETARG_ARRAYTYPE_P(2));
		tb_training_source_target(source, text_to_cstring(PG_GETARG_TEXT_PP(1)));
		fit = fit_line(source, l2);
		within = MemoryContextSwitchTo(caller);
		values[i++] = tb_float8_array(fit->coefficients, fit->m);
		nulls[i] = fit->errors == NULL;
		values[i] = nulls[i] ? (Datum) 0 : tb_float8_array(fit->errors, fit->m);
		i++;
		nulls[i] = isnan(fit->r2);
		values[i++] = Float8GetDatum(fit->r2);
		nulls[i] = isnan(fit->residual);
		values[i++] = Float8GetDatum(fit->residual);
		values[i++] = Int64GetDatum(source->rows);
		values[i++] = Int64GetDatum(source->left_out);
		MemoryContextSwitchTo(within);
	}
	PG_FINALLY();
	{
		tb_training_progress_end();
	}
	PG_END_TRY();
	SPI_finish();
	return tb_training_row(fcinfo, values, nulls);
}
