/*
 * predict.c - turbine.linregr_predict(), logregr_predict(), kmeans_predict(),
 * kmeans_distance(): the value that a model gives to a row.
 *
 * Devices compute them as TB_EXPR_MODEL (planner/expression/expression_model.c) from the
 * same functions of turbine/model.h, so the bits are the same. Called by SQL, for each row.
 *
 * A row with a NULL has no value. A model of another number of columns, or with a NULL in
 * it, is an error (2202E, 22004); the functions that lay out a model for devices return
 * NULL instead, so that the row's own call raises it.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"

#include "turbine/model.h"

extern PGDLLEXPORT Datum turbine_linregr_predict(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_logregr_predict(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_logregr_variance(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_logregr_softplus(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_kmeans_predict(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_kmeans_distance(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_product(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_coefficient_parameter(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_centroid_parameter(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_linregr_predict);
PG_FUNCTION_INFO_V1(turbine_logregr_predict);
PG_FUNCTION_INFO_V1(turbine_logregr_variance);
PG_FUNCTION_INFO_V1(turbine_logregr_softplus);
PG_FUNCTION_INFO_V1(turbine_kmeans_predict);
PG_FUNCTION_INFO_V1(turbine_kmeans_distance);
PG_FUNCTION_INFO_V1(turbine_product);
PG_FUNCTION_INFO_V1(turbine_coefficient_parameter);
PG_FUNCTION_INFO_V1(turbine_centroid_parameter);

/* The values of the array, which has no NULLs. */
static const double *
values_of(ArrayType *array, int *count)
{
	*count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return (const double *) ARR_DATA_PTR(array);
}

static bool
has_null(ArrayType *array)
{
	return ARR_HASNULL(array) && array_contains_nulls(array);
}

static _Noreturn void
raise_null(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be null", what)));
}

/* ---- Linear models ---- */

/* False if the row has a NULL, or there is no row. */
static bool
linear(FunctionCallInfo fcinfo, double *z)
{
	ArrayType	 *model = PG_GETARG_ARRAYTYPE_P(0);
	ArrayType	 *row = PG_GETARG_ARRAYTYPE_P(1);
	int			  ncoefficients;
	int			  n;
	const double *w = values_of(model, &ncoefficients);
	const double *x = values_of(row, &n);

	if (has_null(model))
		raise_null("coefficients");
	if (ARR_NDIM(model) > 1 || ncoefficients != n + 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("a model of %d coefficients does not fit %d columns", ncoefficients,
						n),
				 errhint("A model has one coefficient more than columns: the constant "
						 "term comes first.")));
	if (has_null(row))
		return false;
	*z = w[0];
	for (int i = 0; i < n; i++)
		*z = __builtin_fma(w[i + 1], x[i], *z);
	return true;
}

Datum
turbine_linregr_predict(PG_FUNCTION_ARGS)
{
	double z;

	if (!linear(fcinfo, &z))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(z);
}

Datum
turbine_logregr_predict(PG_FUNCTION_ARGS)
{
	double z;

	if (!linear(fcinfo, &z))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(tb_logistic(z));
}

Datum
turbine_logregr_variance(PG_FUNCTION_ARGS)
{
	double z;

	if (!linear(fcinfo, &z))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(tb_logistic_variance(z));
}

Datum
turbine_logregr_softplus(PG_FUNCTION_ARGS)
{
	double z;

	if (!linear(fcinfo, &z))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(tb_softplus(z));
}

/* ---- Centroids ---- */

/* Number of the nearest centroid, from 1; 0 if the row has a NULL. */
static int
nearest(FunctionCallInfo fcinfo, double *squared_distance)
{
	ArrayType	 *model = PG_GETARG_ARRAYTYPE_P(0);
	ArrayType	 *row = PG_GETARG_ARRAYTYPE_P(1);
	int			  nvalues;
	int			  n;
	int			  found = 0;
	const double *centroids = values_of(model, &nvalues);
	const double *x = values_of(row, &n);

	if (has_null(model))
		raise_null("centroids");
	if (ARR_NDIM(model) != 2 || n != ARR_DIMS(model)[1])
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("centroids do not fit %d columns", n),
				 errdetail("Centroids are an array of two dimensions: a row for each "
						   "centroid, and in it a value for each column.")));
	if (has_null(row))
		return 0;
	*squared_distance = INFINITY;
	for (int c = 0; c < nvalues / n; c++)
	{
		double squared = tb_squared_distance(centroids + c * n, 1, x, n);

		if (squared < *squared_distance)
		{
			*squared_distance = squared;
			found = c;
		}
	}
	/* A row with NaN, or further than numbers go: as far as from the first one. */
	if (!(*squared_distance < INFINITY))
		*squared_distance = tb_squared_distance(centroids, 1, x, n);
	return found + 1;
}

Datum
turbine_kmeans_predict(PG_FUNCTION_ARGS)
{
	double squared_distance;
	int	   number = nearest(fcinfo, &squared_distance);

	if (number == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(number);
}

Datum
turbine_kmeans_distance(PG_FUNCTION_ARGS)
{
	double squared_distance;

	if (nearest(fcinfo, &squared_distance) == 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(sqrt(squared_distance));
}

/* ---- Products ---- */

/* What passes of trainings sum: without the errors of PostgreSQL's operator. */
Datum
turbine_product(PG_FUNCTION_ARGS)
{
	ArrayType	 *factors = PG_GETARG_ARRAYTYPE_P(0);
	int			  n;
	const double *x = values_of(factors, &n);
	double		  product;

	if (n == 0 || has_null(factors))
		PG_RETURN_NULL();
	product = x[0];
	for (int i = 1; i < n; i++)
		product *= x[i];
	PG_RETURN_FLOAT8(product);
}

/* ---- Models as parameters of programs, for a number of columns ---- */

Datum
turbine_coefficient_parameter(PG_FUNCTION_ARGS)
{
	ArrayType *model = PG_GETARG_ARRAYTYPE_P(0);
	int		   count;

	values_of(model, &count);
	if (has_null(model) || ARR_NDIM(model) > 1 || count != PG_GETARG_INT32(1) + 1)
		PG_RETURN_NULL();
	PG_RETURN_ARRAYTYPE_P(model);
}

Datum
turbine_centroid_parameter(PG_FUNCTION_ARGS)
{
	ArrayType	 *model = PG_GETARG_ARRAYTYPE_P(0);
	int			  n = PG_GETARG_INT32(1);
	int			  count;
	const double *values = values_of(model, &count);
	uint32		  length;
	Datum		 *laid;

	if (has_null(model) || ARR_NDIM(model) != 2 || ARR_DIMS(model)[1] != n)
		PG_RETURN_NULL();
	length = tb_model_length(TB_MODEL_NEAREST, n, count / n);
	laid = palloc(sizeof(Datum) * length);
	for (uint32 i = 0; i < length; i++)
		laid[i] = Float8GetDatum(NAN);
	for (int c = 0; c < count / n; c++)
		for (int j = 0; j < n; j++)
			laid[(c / TB_CENTROID_LANES * n + j) * TB_CENTROID_LANES +
				 c % TB_CENTROID_LANES] = Float8GetDatum(values[c * n + j]);
	PG_RETURN_ARRAYTYPE_P(
		construct_array(laid, length, FLOAT8OID, sizeof(float8), true, TYPALIGN_DOUBLE));
}
