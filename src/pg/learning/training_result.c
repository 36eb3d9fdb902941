/*
 * training_result.c - see training_result.h.
 *
 * Called by the trainings of this folder. Must never keep memory: all is the caller's.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"

#include "pg/learning/training_result.h"

Datum
tb_float8_array(const double *values, int n)
{
	Datum *elements = palloc(sizeof(Datum) * Max(n, 1));

	for (int i = 0; i < n; i++)
		elements[i] = Float8GetDatum(values[i]);
	return PointerGetDatum(
		construct_array(elements, n, FLOAT8OID, sizeof(float8), true, TYPALIGN_DOUBLE));
}

Datum
tb_float8_matrix(const double *values, int n, int m)
{
	Datum *elements = palloc(sizeof(Datum) * n * m);
	int	   sizes[2] = {n, m};
	int	   bounds[2] = {1, 1};

	for (int i = 0; i < n * m; i++)
		elements[i] = Float8GetDatum(values[i]);
	return PointerGetDatum(construct_md_array(elements, NULL, 2, sizes, bounds, FLOAT8OID,
											  sizeof(float8), true, TYPALIGN_DOUBLE));
}

void
tb_training_require_args(FunctionCallInfo fcinfo, int count, const char *const *names)
{
	for (int i = 0; i < count; i++)
		if (PG_ARGISNULL(i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be null", names[i])));
}

int
tb_training_positive(int value, const char *name)
{
	if (value < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be at least 1", name)));
	return value;
}

double
tb_training_not_negative(double value, const char *name)
{
	/* NaN is not, either. */
	if (!(value >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be negative", name)));
	return value;
}

Datum
tb_training_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}
