/*
 * pca.c - turbine.pca(): principal components, from the covariances of the columns.
 *
 * One pass yields the sums of products of the columns, moved to their means. The components
 * are the eigenvectors of that matrix, which Jacobi's method finds in the backend. A vector
 * and its opposite are both components: the one is returned whose largest element is
 * positive. Called by SQL.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "pg/learning/aggregation.h"
#include "pg/learning/dense_solve.h"
#include "pg/learning/training_result.h"
#include "pg/learning/training_source.h"
#include "pg/shmem/training_progress.h"

extern PGDLLEXPORT Datum turbine_pca(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_pca);

/* Covariances of the columns, times the number of rows less 1; of columns moved and scaled
 * to -1 ... 1. */
static const double *
sum_covariances(const TbTrainingSource *source)
{
	int			nparams = tb_training_source_nparams(source, TB_TRAINING_NORMALIZED);
	Oid		   *types = palloc(sizeof(Oid) * nparams);
	Datum	   *params = palloc(sizeof(Datum) * nparams);
	const char *rows = tb_training_source_rows(source, TB_TRAINING_NORMALIZED, 1);

	TbAggregation *aggregation;

	for (int i = 0; i < nparams; i++)
		types[i] = FLOAT8OID;
	aggregation = tb_aggregation_create(rows, nparams, types);
	for (int i = 1; i <= source->ncolumns; i++)
		for (int j = 1; j <= i; j++)
			tb_aggregation_add(aggregation,
							   psprintf("pg_catalog.sum(turbine.product(x%d, x%d))", i, j));
	tb_training_source_params(source, TB_TRAINING_NORMALIZED, params);
	return tb_aggregation_run(aggregation, params);
}

/* By what each column is multiplied before its components are looked for. A constant one
 * has no deviation to divide by. */
static double *
column_units(const TbTrainingSource *source, const double *sums, bool standardize)
{
	double *units = palloc(sizeof(double) * source->ncolumns);

	for (int i = 0; i < source->ncolumns; i++)
	{
		double scale = source->columns[i].scale;
		double deviation = sqrt(sums[i * (i + 1) / 2 + i] / (source->rows - 1)) / scale;

		units[i] = !standardize || scale == 0 ? 1 : 1 / deviation;
	}
	return units;
}

static void
put_components(ReturnSetInfo *rsinfo, const TbTrainingSource *source, int wanted,
			   bool standardize)
{
	int			  n = source->ncolumns;
	const double *sums = sum_covariances(source);
	double		 *units = column_units(source, sums, standardize);
	double		 *matrix = palloc(sizeof(double) * n * n);
	double		 *variances = palloc(sizeof(double) * n);
	double		 *vectors = palloc(sizeof(double) * n * n);
	double		 *coefficients = palloc(sizeof(double) * (n + 1));
	double		  total = 0;

	/* The covariances, in the columns' own units or in deviations */
	for (int i = 0; i < n; i++)
		for (int j = 0; j <= i; j++)
		{
			double of_i = source->columns[i].scale == 0 ?
				0 :
				units[i] / source->columns[i].scale;
			double of_j = source->columns[j].scale == 0 ?
				0 :
				units[j] / source->columns[j].scale;

			matrix[i * n + j] = matrix[j * n + i] = sums[i * (i + 1) / 2 + j] * of_i *
				of_j / (source->rows - 1);
		}
	for (int i = 0; i < n; i++)
		total += matrix[i * n + i];
	/* Their eigenvectors */
	tb_symmetric_eigen(matrix, n, variances, vectors);
	for (int c = 0; c < wanted; c++)
	{
		Datum values[5];
		bool  nulls[5] = {0};

		coefficients[0] = 0;
		for (int i = 0; i < n; i++)
		{
			coefficients[i + 1] = vectors[c * n + i] * units[i];
			coefficients[0] -= coefficients[i + 1] * source->columns[i].center;
		}
		values[0] = Int32GetDatum(c + 1);
		values[1] = Float8GetDatum(Max(variances[c], 0));
		nulls[2] = !(total > 0);
		values[2] = Float8GetDatum(Max(variances[c], 0) / total);
		values[3] = tb_float8_array(vectors + c * n, n);
		values[4] = tb_float8_array(coefficients, n + 1);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}

/* The number that is asked for, of those that there are. */
static int
wanted_components(FunctionCallInfo fcinfo, int columns)
{
	if (PG_ARGISNULL(2))
		return columns;
	return Min(tb_training_positive(PG_GETARG_INT32(2), "components"), columns);
}

Datum
turbine_pca(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	static const char *const names[] = {"source", "columns"};

	tb_training_require_args(fcinfo, lengthof(names), names);
	if (PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("standardize must not be null")));
	InitMaterializedSRF(fcinfo, 0);
	SPI_connect();
	tb_training_progress_begin("pca");
	PG_TRY();
	{
		TbTrainingSource *source = tb_training_source_open(
			text_to_cstring(PG_GETARG_TEXT_PP(0)));

		tb_training_source_columns(source, PG_GETARG_ARRAYTYPE_P(1));
		tb_training_source_measure(source);
		tb_training_progress_rows(source->rows);
		if (source->rows < 2)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("components need at least two rows")));
		put_components(rsinfo, source, wanted_components(fcinfo, source->ncolumns),
					   PG_GETARG_BOOL(3));
	}
	PG_FINALLY();
	{
		tb_training_progress_end();
	}
	PG_END_TRY();
	SPI_finish();
	return (Datum) 0;
}
