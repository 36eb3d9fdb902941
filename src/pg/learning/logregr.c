/*
 * logregr.c - turbine.logregr_train(): logistic regression by Newton's method.
 *
 * p = 1 / (1 + exp(-z)), z = w0 + w1 * x1 + ...; wanted are the w of the largest
 * log-likelihood sum(t * z - ln(1 + exp(z))) less l2 / 2 * (w1^2 + w2^2 + ...).
 *
 * One pass over the rows yields, for the weights of now, the log-likelihood, its gradient
 * sum((t - p) * x) and the matrix sum(p * (1 - p) * x * x'). The step is the solution of
 * that system, in the backend. A step that makes things worse is halved.
 *
 * The columns are moved and scaled to -1 ... 1 in the query, so that sums of products keep
 * their digits whatever the units; the weights are turned back at the end. Called by SQL.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pg/learning/aggregation.h"
#include "pg/learning/dense_solve.h"
#include "pg/learning/training_result.h"
#include "pg/learning/training_source.h"
#include "pg/shmem/training_progress.h"

extern PGDLLEXPORT Datum turbine_logregr_train(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_logregr_train_gstore(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_logregr_train);
PG_FUNCTION_INFO_V1(turbine_logregr_train_gstore);

/* A step is halved so often before it is taken as it is. */
#define MOST_HALVINGS 30

/* A log-likelihood is rounded by less than this part of it. */
#define ROUNDING 1e-9

typedef struct LogregrOptions
{
	int	   max_iterations;
	double tolerance;
	double l2;
} LogregrOptions;

/* A fit in progress. m = number of columns + 1; index 0 is the constant term. Weights,
 * gradient and matrix are those of the scaled columns. */
typedef struct Logregr
{
	const TbTrainingSource *source;
	LogregrOptions			options;
	int						m;
	TbAggregation		   *aggregation;
	Datum				   *params; /* the weights, then centers and scales */
	MemoryContext			pass_context;

	double *weights;
	double *penalty; /* l2 of each scaled column */

	/* Of the last pass */
	double	log_likelihood;
	double	objective; /* less the penalty */
	int64	wrong;	   /* rows that are not on their class's side of z = 0 */
	double *gradient;
	double *matrix;

	int	   iterations;
	double change;	 /* squared, relative to the squared weights before */
	bool   converged;
	bool   singular; /* the matrix of the last weights */
} Logregr;

/* ---- One pass ---- */

static void
prepare_pass(Logregr *fit)
{
	const TbTrainingSource *source = fit->source;
	int			nparams = 1 + tb_training_source_nparams(source, TB_TRAINING_NORMALIZED);
	Oid		   *types = palloc(sizeof(Oid) * nparams);
	const char *row = tb_training_arguments(source->ncolumns);

	types[0] = FLOAT8ARRAYOID;
	for (int i = 1; i < nparams; i++)
		types[i] = FLOAT8OID;
	fit->params = palloc(sizeof(Datum) * nparams);
	tb_training_source_params(source, TB_TRAINING_NORMALIZED, fit->params + 1);
	fit->aggregation = tb_aggregation_create(tb_training_source_rows(source,
																	 TB_TRAINING_NORMALIZED,
																	 2),
											 nparams, types);
	tb_aggregation_add(
		fit->aggregation,
		psprintf("pg_catalog.count(*) FILTER (WHERE turbine.product(t - 0.5, "
				 "turbine.linregr_predict($1%s)) <= 0)",
				 row));
	tb_aggregation_add(fit->aggregation,
					   psprintf("pg_catalog.sum(turbine.product(t, "
								"turbine.linregr_predict($1%s)) - "
								"turbine.logregr_softplus($1%s))",
								row, row));
	/* The gradient, then the lower triangle of the matrix, row by row */
	for (int i = 0; i < fit->m; i++)
		tb_aggregation_add(fit->aggregation,
						   psprintf("pg_catalog.sum(turbine.product(t - "
									"turbine.logregr_predict($1%s)%s))",
									row, i > 0 ? psprintf(", x%d", i) : ""));
	for (int i = 0; i < fit->m; i++)
		for (int j = 0; j <= i; j++)
			tb_aggregation_add(fit->aggregation,
							   psprintf("pg_catalog.sum(turbine.product("
										"turbine.logregr_variance($1%s)%s%s))",
										row, i > 0 ? psprintf(", x%d", i) : "",
										j > 0 ? psprintf(", x%d", j) : ""));
}

static void
run_pass(Logregr *fit)
{
	MemoryContext old_context = MemoryContextSwitchTo(fit->pass_context);
	const double *sums;
	int			  m = fit->m;

	MemoryContextReset(fit->pass_context);
	fit->params[0] = tb_float8_array(fit->weights, m);
	MemoryContextSwitchTo(old_context);
	sums = tb_aggregation_run(fit->aggregation, fit->params);
	fit->wrong = (int64) *sums++;
	fit->log_likelihood = *sums++;
	fit->objective = fit->log_likelihood;
	for (int i = 0; i < m; i++)
		fit->gradient[i] = *sums++;
	for (int i = 0; i < m; i++)
		for (int j = 0; j <= i; j++)
			fit->matrix[i * m + j] = fit->matrix[j * m + i] = *sums++;
	/* The constant term is not penalized. */
	for (int i = 1; i < m; i++)
	{
		fit->objective -= fit->penalty[i] * fit->weights[i] * fit->weights[i] / 2;
		fit->gradient[i] -= fit->penalty[i] * fit->weights[i];
		fit->matrix[i * m + i] += fit->penalty[i];
	}
}

/* ---- Newton's method ---- */

/* The change from `before` to now, of the columns as they are. */
static double
relative_change(const Logregr *fit, const double *before)
{
	double *now = palloc(sizeof(double) * fit->m);
	double *old = palloc(sizeof(double) * fit->m);
	double	change = 0;
	double	size = 0;

	tb_training_unscale(fit->source, fit->weights, now);
	tb_training_unscale(fit->source, before, old);
	for (int i = 0; i < fit->m; i++)
	{
		change += (now[i] - old[i]) * (now[i] - old[i]);
		size += old[i] * old[i];
	}
	pfree(now);
	pfree(old);
	return change == 0 ? 0 : change / size;
}

/* One step from the weights of the last pass, and the pass of the new ones. False if there
 * is none. */
static bool
take_step(Logregr *fit)
{
	int		m = fit->m;
	double	before = fit->objective;
	double *old = palloc(sizeof(double) * m);
	double *step = palloc(sizeof(double) * m);
	double *decomposed = palloc(sizeof(double) * m * m);
	int		column;

	memcpy(old, fit->weights, sizeof(double) * m);
	memcpy(step, fit->gradient, sizeof(double) * m);
	memcpy(decomposed, fit->matrix, sizeof(double) * m * m);
	if (!tb_cholesky(decomposed, m, &column))
	{
		if (fit->iterations == 0)
			tb_training_raise_dependent(fit->source, column);
		fit->singular = true;
		return false;
	}
	tb_cholesky_solve(decomposed, m, step);
	for (int i = 0; i < m; i++)
		fit->weights[i] += step[i];
	run_pass(fit);
	for (int i = 0;
		 i < MOST_HALVINGS && !(fit->objective >= before - ROUNDING * (fabs(before) + 1));
		 i++)
	{
		for (int k = 0; k < m; k++)
			fit->weights[k] = (fit->weights[k] + old[k]) / 2;
		run_pass(fit);
	}
	fit->iterations++;
	fit->change = relative_change(fit, old);
	pfree(old);
	pfree(step);
	pfree(decomposed);
	return true;
}

/* Raises an error if there is nothing to learn. */
static void
check_columns(const TbTrainingSource *source)
{
	const TbTrainingColumn *target = source->target;

	if (source->neither > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("column \"%s\" has values other than 0 and 1", target->name),
				 errhint("A source may be a query that makes a boolean of it.")));
	if (target->least == target->largest)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("all rows are of one class"),
				 errdetail("Column \"%s\" is %g in all of them.", target->name,
						   target->least)));
	tb_training_refuse_constants(source);
}

static void
tell_end(const Logregr *fit)
{
	/* With a penalty there are best weights all the same. */
	bool separable = fit->singular ||
		(fit->wrong == 0 && !(fit->converged && fit->options.l2 > 0));

	if (separable)
		ereport(NOTICE,
				(errmsg("not converged: the classes are separable"),
				 errdetail("The weights grow without end; these are the ones of iteration "
						   "%d. Their ratios are of use.",
						   fit->iterations)));
	else if (!fit->converged)
		ereport(NOTICE,
				(errmsg("not converged in %d iterations", fit->iterations),
				 errdetail("The last change was %g, squared and relative to the weights.",
						   fit->change),
				 errhint("More iterations are an argument, max_iterations.")));
}

static Logregr *
fit_model(TbTrainingSource *source, const LogregrOptions *options)
{
	Logregr *fit = palloc0(sizeof(Logregr));
	int		 m = source->ncolumns + 1;

	/* The rows */
	tb_training_source_measure(source);
	tb_training_progress_rows(source->rows);
	check_columns(source);
	/* Begin with no weights */
	fit->source = source;
	fit->options = *options;
	fit->m = m;
	fit->weights = palloc0(sizeof(double) * m);
	fit->penalty = palloc0(sizeof(double) * m);
	fit->gradient = palloc(sizeof(double) * m);
	fit->matrix = palloc(sizeof(double) * m * m);
	for (int i = 1; i < m; i++)
		fit->penalty[i] = options->l2 * source->columns[i - 1].scale *
			source->columns[i - 1].scale;
	fit->pass_context = AllocSetContextCreate(CurrentMemoryContext, "logregr_train pass",
											  ALLOCSET_DEFAULT_SIZES);
	prepare_pass(fit);
	run_pass(fit);
	/* Step by step */
	while (fit->iterations < options->max_iterations && !fit->converged && take_step(fit))
	{
		fit->converged = fit->change <= options->tolerance;
		tb_training_progress_iteration(fit->iterations, fit->change, fit->log_likelihood);
		ereport(DEBUG1,
				(errmsg_internal("logregr_train: iteration %d, change %g, log-likelihood "
								 "%.15g",
								 fit->iterations, fit->change, fit->log_likelihood)));
	}
	tell_end(fit);
	if (fit->wrong == 0 && options->l2 == 0)
		fit->converged = false;
	return fit;
}

/* Of the coefficients of the columns as they are; false if the matrix is singular. */
static bool
standard_errors(const Logregr *fit, double *errors)
{
	int		m = fit->m;
	double *inverse = palloc(sizeof(double) * m * m);
	int		column;

	if (!tb_cholesky(fit->matrix, m, &column))
		return false;
	tb_cholesky_inverse(fit->matrix, m, inverse);
	tb_training_unscale_errors(fit->source, inverse, errors);
	return true;
}

/* ---- The functions ---- */

Datum
turbine_logregr_train(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"source",		  "dependent", "independent",
										"max_iterations", "tolerance", "l2"};
	LogregrOptions			 options;
	MemoryContext			 caller = CurrentMemoryContext;
	MemoryContext			 within;
	Datum					 values[7];
	bool					 nulls[7] = {0};
	int						 i = 0;

	tb_training_require_args(fcinfo, lengthof(names), names);
	options.max_iterations = tb_training_positive(PG_GETARG_INT32(3), names[3]);
	options.tolerance = tb_training_not_negative(PG_GETARG_FLOAT8(4), names[4]);
	options.l2 = tb_training_not_negative(PG_GETARG_FLOAT8(5), names[5]);
	SPI_connect();
	tb_training_progress_begin("logregr_train");
	PG_TRY();
	{
		TbTrainingSource *source = tb_training_source_open(
			text_to_cstring(PG_GETARG_TEXT_PP(0)));
		Logregr *fit;
		double	*coefficients;
		double	*errors;

		tb_training_source_columns(source, PG_GETARG_ARRAYTYPE_P(2));
		tb_training_source_target(source, text_to_cstring(PG_GETARG_TEXT_PP(1)));
		fit = fit_model(source, &options);
		coefficients = palloc(sizeof(double) * fit->m);
		errors = palloc(sizeof(double) * fit->m);
		tb_training_unscale(source, fit->weights, coefficients);
		nulls[1] = fit->singular || !standard_errors(fit, errors);
		within = MemoryContextSwitchTo(caller);
		values[i++] = tb_float8_array(coefficients, fit->m);
		values[i++] = nulls[1] ? (Datum) 0 : tb_float8_array(errors, fit->m);
		values[i++] = Float8GetDatum(fit->log_likelihood);
		values[i++] = Int32GetDatum(fit->iterations);
		values[i++] = BoolGetDatum(fit->converged);
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

/* The names of columns that are given by number. */
static char *
column_of(Oid relid, AttrNumber number)
{
	char *name = number > 0 ? get_attname(relid, number, true) : NULL;

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("relation \"%s\" has no column number %d", get_rel_name(relid),
						number)));
	return name;
}

static ArrayType *
columns_of(Oid relid, ArrayType *numbers)
{
	Datum *elements;
	bool  *nulls;
	int	   count;

	deconstruct_array(numbers, INT2OID, sizeof(int16), true, TYPALIGN_SHORT, &elements,
					  &nulls, &count);
	for (int i = 0; i < count; i++)
		if (!nulls[i])
			elements[i] = CStringGetTextDatum(column_of(relid, DatumGetInt16(elements[i])));
		else
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("column numbers must not be null")));
	return construct_array(elements, count, TEXTOID, -1, false, TYPALIGN_INT);
}

/* The same over columns of a pinned table by their numbers; only the weights come back. */
Datum
turbine_logregr_train_gstore(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"source", "dependent", "independent",
										"max_iterations", "tolerance"};
	LogregrOptions			 options = {0};
	MemoryContext			 caller = CurrentMemoryContext;
	Datum					 result[1];

	tb_training_require_args(fcinfo, lengthof(names), names);
	options.max_iterations = tb_training_positive(PG_GETARG_INT32(3), names[3]);
	options.tolerance = tb_training_not_negative(PG_GETARG_FLOAT4(4), names[4]);
	SPI_connect();
	tb_training_progress_begin("logregr_train");
	PG_TRY();
	{
		Oid	  relid = PG_GETARG_OID(0);
		char *name = get_rel_name(relid);

		TbTrainingSource *source;
		Logregr			 *fit;
		double			 *coefficients;
		Datum			 *weights;
		MemoryContext	  within;

		if (name == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_TABLE),
					 errmsg("relation with OID %u does not exist", relid)));
		source = tb_training_source_open(
			quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), name));
		tb_training_source_columns(source, columns_of(relid, PG_GETARG_ARRAYTYPE_P(2)));
		tb_training_source_target(source, column_of(relid, PG_GETARG_INT16(1)));
		fit = fit_model(source, &options);
		if (source->left_out > 0)
			ereport(NOTICE,
					(errmsg(INT64_FORMAT " rows with a NULL are left out",
							source->left_out)));
		coefficients = palloc(sizeof(double) * fit->m);
		weights = palloc(sizeof(Datum) * fit->m);
		tb_training_unscale(source, fit->weights, coefficients);
		for (int i = 0; i < fit->m; i++)
			weights[i] = Float4GetDatum((float4) coefficients[i]);
		within = MemoryContextSwitchTo(caller);
		result[0] = PointerGetDatum(construct_array(weights, fit->m, FLOAT4OID,
													sizeof(float4), true, TYPALIGN_INT));
		MemoryContextSwitchTo(within);
	}
	PG_FINALLY();
	{
		tb_training_progress_end();
	}
	PG_END_TRY();
	SPI_finish();
	return result[0];
}
