/*
 * kmeans.c - turbine.kmeans(): clusters by Lloyd's method, begun by k-means++.
 *
 * One pass groups the rows by the nearest centroid, counts them and sums their columns; the
 * means are the next centroids. It ends when the centroids move by no more than the
 * tolerance. A cluster that loses all its rows keeps its centroid. A last pass counts the
 * rows of the final centroids, and sums their squared distances.
 *
 * k-means++ works on a sample in the backend: the first centroid is a row of it, each
 * further one a row that is drawn by its squared distance to the nearest one so far. The
 * seed decides all of that, so the same seed over the same rows gives the same clusters.
 *
 * If values are far from zero, columns are moved to their means in the query, so that
 * distances keep their digits. Called by SQL.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pg/learning/aggregation.h"
#include "pg/learning/training_result.h"
#include "pg/learning/training_source.h"
#include "pg/shmem/training_progress.h"

extern PGDLLEXPORT Datum turbine_kmeans(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_kmeans);

#define MOST_CLUSTERS 10000

/* Rows that k-means++ chooses from: so many, or so many for each centroid. */
#define SAMPLE_ROWS 16384
#define SAMPLE_ROWS_OF_CLUSTER 32

/* Rows of a cursor at a time */
#define FETCH_ROWS 10000

/* Up to so many centroids several candidates are tried for each, and the best one taken. */
#define MOST_TRIED 500

/* Columns whose mean is further from zero than so many extents are centered, which costs a
 * subtraction for each value: without it, distances would lose more than three digits. */
#define FAR_FROM_ZERO 1000

/* A clustering in progress. Centroids are k rows of n values, of columns in `form`. */
typedef struct Kmeans
{
	const TbTrainingSource *source;
	TbTrainingForm			form;
	int						k;
	int						n;
	int						max_iterations;
	double					tolerance; /* of the sum of squared moves */
	double				   *centroids;
	Datum				   *params;	   /* the centroids, then the columns' centers */
	Oid					   *types;
	int						nparams;
	SPIPlanPtr				step;
	MemoryContext			pass_context;
	int64				   *sizes;
	double					inertia;
	int						iterations;
	bool					converged;
} Kmeans;

/* What a column's values are counted from. */
static double
origin_of(const Kmeans *run, int column)
{
	return run->form == TB_TRAINING_CENTERED ? run->source->columns[column].center : 0;
}

/* ---- A sample ---- */

/* Whether PostgreSQL can read some blocks of it. */
static bool
has_blocks(const TbTrainingSource *source)
{
	char kind = OidIsValid(source->relid) ? get_rel_relkind(source->relid) : '\0';

	return kind == RELKIND_RELATION || kind == RELKIND_PARTITIONED_TABLE ||
		kind == RELKIND_MATVIEW;
}

/* The statement that rows of the sample come from: of a large table, some of its blocks. */
static char *
sample_query(const Kmeans *run, int64 wanted, int64 seed, bool blocks)
{
	const TbTrainingSource *source = run->source;
	TbTrainingSource		sampled = *source;

	if (blocks)
		sampled.from = psprintf("%s TABLESAMPLE SYSTEM (%.17g) REPEATABLE (%d)",
								source->from, Min(100.0, 200.0 * wanted / source->rows),
								(int) (seed & PG_INT32_MAX));
	return tb_training_source_rows(&sampled, run->form, 1);
}

/* Up to `wanted` rows, each with the same chance; returns how many. */
static int64
draw_rows(const Kmeans *run, const char *sql, int64 wanted, pg_prng_state *random,
		  double *rows)
{
	int		   n = run->n;
	SPIPlanPtr plan = SPI_prepare(sql, run->nparams - 1, run->types + 1);
	Portal	   cursor;
	int64	   seen = 0;

	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	cursor = SPI_cursor_open(NULL, plan, run->params + 1, NULL, true);
	for (;;)
	{
		SPI_cursor_fetch(cursor, true, FETCH_ROWS);
		if (SPI_processed == 0)
			break;
		for (uint64 i = 0; i < SPI_processed; i++, seen++)
		{
			/* Each of the rows so far stays with the same chance. */
			int64 place = seen < wanted ?
				seen :
				(int64) pg_prng_uint64_range(random, 0, (uint64) seen);
			bool  isnull;

			if (place >= wanted)
				continue;
			for (int j = 0; j < n; j++)
				rows[place * n + j] = DatumGetFloat8(SPI_getbinval(SPI_tuptable->vals[i],
																   SPI_tuptable->tupdesc,
																   j + 1, &isnull));
		}
		SPI_freetuptable(SPI_tuptable);
	}
	SPI_freetuptable(SPI_tuptable);
	SPI_cursor_close(cursor);
	SPI_freeplan(plan);
	return Min(seen, wanted);
}

/* ---- k-means++ ---- */

static double
squared_distance(const double *a, const double *b, int n)
{
	double sum = 0;

	for (int j = 0; j < n; j++)
		sum += (a[j] - b[j]) * (a[j] - b[j]);
	return sum;
}

/* A row by its weight; -1 if all weights are 0. */
static int64
draw_weighted(const double *weights, int64 count, pg_prng_state *random)
{
	double total = 0;
	double goal;
	int64  last = -1;

	for (int64 i = 0; i < count; i++)
		total += weights[i];
	goal = pg_prng_double(random) * total;
	for (int64 i = 0; i < count; i++)
	{
		if (weights[i] > 0)
			last = i;
		goal -= weights[i];
		if (goal < 0 && weights[i] > 0)
			return i;
	}
	return last;
}

/* Centroids among the rows; false if so many different ones are not there. */
static bool
choose_rows(Kmeans *run, const double *rows, int64 count, pg_prng_state *random)
{
	int		n = run->n;
	int		tries = run->k <= MOST_TRIED ? 2 + (int) log(run->k) : 1;
	double *nearest = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(double) * count);
	double *candidate = MemoryContextAllocHuge(CurrentMemoryContext,
											   sizeof(double) * count);
	double *best = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(double) * count);

	memcpy(run->centroids, rows + n * (int64) pg_prng_uint64_range(random, 0, count - 1),
		   sizeof(double) * n);
	for (int64 i = 0; i < count; i++)
		nearest[i] = squared_distance(rows + i * n, run->centroids, n);
	for (int c = 1; c < run->k; c++)
	{
		double least = INFINITY;
		int64  chosen = -1;

		CHECK_FOR_INTERRUPTS();
		for (int t = 0; t < tries; t++)
		{
			int64  drawn = draw_weighted(nearest, count, random);
			double total = 0;

			if (drawn < 0)
				return false;
			for (int64 i = 0; i < count; i++)
			{
				double squared = squared_distance(rows + i * n, rows + drawn * n, n);

				candidate[i] = Min(nearest[i], squared);
				total += candidate[i];
			}
			if (total < least || chosen < 0)
			{
				double *swapped = best;

				least = total;
				chosen = drawn;
				best = candidate;
				candidate = swapped;
			}
		}
		memcpy(run->centroids + c * n, rows + chosen * n, sizeof(double) * n);
		memcpy(nearest, best, sizeof(double) * count);
	}
	pfree(nearest);
	pfree(candidate);
	pfree(best);
	return true;
}

static void
choose_centroids(Kmeans *run, int64 seed)
{
	const TbTrainingSource *source = run->source;
	int64		  wanted = Max(SAMPLE_ROWS, (int64) run->k * SAMPLE_ROWS_OF_CLUSTER);
	bool		  blocks = has_blocks(source) && source->rows > 2 * wanted;
	bool		  found = false;
	double		 *rows = MemoryContextAllocHuge(CurrentMemoryContext,
												sizeof(double) * run->n * wanted);
	pg_prng_state random;

	pg_prng_seed(&random, (uint64) seed);
	/* Of some blocks, and if these have too few different rows, of all rows */
	for (int attempt = blocks ? 0 : 1; attempt < 2 && !found; attempt++)
	{
		const char *sql = sample_query(run, wanted, seed, attempt == 0);
		int64		count = draw_rows(run, sql, wanted, &random, rows);

		found = count >= run->k && choose_rows(run, rows, count, &random);
	}
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there are too few different rows for %d clusters", run->k),
				 errhint("Ask for fewer clusters, or give the centroids to begin with.")));
	pfree(rows);
}

/* Centroids that the caller gives, of the columns as they are. */
static void
take_centroids(Kmeans *run, ArrayType *initial)
{
	if (ARR_NDIM(initial) != 2 || ARR_DIMS(initial)[0] != run->k ||
		ARR_DIMS(initial)[1] != run->n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("initial centroids must be an array of %d rows of %d values",
						run->k, run->n)));
	if (array_contains_nulls(initial))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("initial centroids must not be null")));
	memcpy(run->centroids, ARR_DATA_PTR(initial), sizeof(double) * run->k * run->n);
	for (int i = 0; i < run->k * run->n; i++)
	{
		if (!isfinite(run->centroids[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("initial centroids must be finite")));
		run->centroids[i] -= origin_of(run, i % run->n);
	}
}

/* ---- Lloyd's method ---- */

static void
prepare_kmeans(Kmeans *run)
{
	run->form = TB_TRAINING_PLAIN;
	for (int j = 0; j < run->n; j++)
		if (fabs(run->source->columns[j].center) * run->source->columns[j].scale >
			FAR_FROM_ZERO)
			run->form = TB_TRAINING_CENTERED;
	run->nparams = 1 + tb_training_source_nparams(run->source, run->form);
	run->types = palloc(sizeof(Oid) * run->nparams);
	run->params = palloc(sizeof(Datum) * run->nparams);
	run->types[0] = FLOAT8ARRAYOID;
	for (int i = 1; i < run->nparams; i++)
		run->types[i] = FLOAT8OID;
	tb_training_source_params(run->source, run->form, run->params + 1);
	run->pass_context = AllocSetContextCreate(CurrentMemoryContext, "kmeans pass",
											  ALLOCSET_DEFAULT_SIZES);
}

/* The mean of the columns' variances times `tolerance`: what it is relative to. */
static double
absolute_tolerance(const Kmeans *run, double tolerance)
{
	const double  *sums;
	double		   variances = 0;
	Datum		  *centers = palloc(sizeof(Datum) * run->n);
	Oid			  *types = palloc(sizeof(Oid) * run->n);
	TbAggregation *aggregation;

	if (tolerance == 0)
		return 0;
	for (int i = 0; i < run->n; i++)
		types[i] = FLOAT8OID;
	tb_training_source_params(run->source, TB_TRAINING_CENTERED, centers);
	aggregation = tb_aggregation_create(tb_training_source_rows(run->source,
																TB_TRAINING_CENTERED, 1),
										run->n, types);
	for (int i = 1; i <= run->n; i++)
		tb_aggregation_add(aggregation,
						   psprintf("pg_catalog.sum(turbine.product(x%d, x%d))", i, i));
	sums = tb_aggregation_run(aggregation, centers);
	for (int i = 0; i < run->n; i++)
		variances += sums[i] / run->source->rows;
	return tolerance * variances / run->n;
}

/* Runs a statement grouped by cluster, for the centroids of now. */
static void
run_grouped(Kmeans *run, SPIPlanPtr plan)
{
	MemoryContext old_context = MemoryContextSwitchTo(run->pass_context);

	MemoryContextReset(run->pass_context);
	run->params[0] = tb_float8_matrix(run->centroids, run->k, run->n);
	MemoryContextSwitchTo(old_context);
	tb_training_execute(plan, run->params);
}

static SPIPlanPtr
prepare_grouped(const Kmeans *run, const char *aggregates)
{
	return tb_training_prepare(
		psprintf(
			"SELECT turbine.kmeans_predict($1%s), pg_catalog.count(*), %s FROM (%s) AS "
			"training_rows GROUP BY 1",
			tb_training_arguments(run->n), aggregates,
			tb_training_source_rows(run->source, run->form, 2)),
		run->nparams, run->types);
}

/* Moves the centroids; returns the sum of their squared moves. */
static double
move_centroids(Kmeans *run)
{
	double moved = 0;

	run_grouped(run, run->step);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple tuple = SPI_tuptable->vals[i];
		TupleDesc desc = SPI_tuptable->tupdesc;
		bool	  isnull;
		int		  cluster = DatumGetInt32(SPI_getbinval(tuple, desc, 1, &isnull));
		double	  rows = DatumGetInt64(SPI_getbinval(tuple, desc, 2, &isnull));

		for (int j = 0; j < run->n; j++)
		{
			double *value = &run->centroids[(cluster - 1) * run->n + j];
			double mean = DatumGetFloat8(SPI_getbinval(tuple, desc, j + 3, &isnull)) / rows;

			moved += (mean - *value) * (mean - *value);
			*value = mean;
		}
	}
	SPI_freetuptable(SPI_tuptable);
	return moved;
}

static void
iterate(Kmeans *run)
{
	StringInfoData sums;

	initStringInfo(&sums);
	for (int j = 1; j <= run->n; j++)
		appendStringInfo(&sums, "%spg_catalog.sum(x%d)", j > 1 ? ", " : "", j);
	run->step = prepare_grouped(run, sums.data);
	while (run->iterations < run->max_iterations && !run->converged)
	{
		double moved = move_centroids(run);

		run->iterations++;
		run->converged = moved <= run->tolerance;
		tb_training_progress_iteration(run->iterations, moved, NAN);
		ereport(DEBUG1,
				(errmsg_internal("kmeans: iteration %d, squared moves %g", run->iterations,
								 moved)));
	}
	if (!run->converged)
		ereport(NOTICE,
				(errmsg("not converged in %d iterations", run->iterations),
				 errhint("More iterations are an argument, max_iterations.")));
}

static void
count_clusters(Kmeans *run)
{
	const char *row = tb_training_arguments(run->n);
	int			empty = run->k;

	run_grouped(run,
				prepare_grouped(run,
								psprintf("pg_catalog.sum(turbine.product("
										 "turbine.kmeans_distance($1%s), "
										 "turbine.kmeans_distance($1%s)))",
										 row, row)));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple tuple = SPI_tuptable->vals[i];
		TupleDesc desc = SPI_tuptable->tupdesc;
		bool	  isnull;
		int		  cluster = DatumGetInt32(SPI_getbinval(tuple, desc, 1, &isnull));

		run->sizes[cluster - 1] = DatumGetInt64(SPI_getbinval(tuple, desc, 2, &isnull));
		run->inertia += DatumGetFloat8(SPI_getbinval(tuple, desc, 3, &isnull));
		empty--;
	}
	SPI_freetuptable(SPI_tuptable);
	if (empty > 0)
		ereport(NOTICE,
				(errmsg("%d of %d clusters have no rows", empty, run->k),
				 errhint("Another seed, or fewer clusters, may do better.")));
}

static Kmeans *
find_clusters(TbTrainingSource *source, int k, int max_iterations, double tolerance,
			  int64 seed, ArrayType *initial)
{
	Kmeans *run = palloc0(sizeof(Kmeans));

	tb_training_source_measure(source);
	tb_training_progress_rows(source->rows);
	run->source = source;
	run->k = k;
	run->n = source->ncolumns;
	run->max_iterations = max_iterations;
	run->centroids = MemoryContextAllocHuge(CurrentMemoryContext,
											sizeof(double) * run->k * run->n);
	run->sizes = palloc0(sizeof(int64) * run->k);
	prepare_kmeans(run);
	run->tolerance = absolute_tolerance(run, tolerance);
	if (initial != NULL)
		take_centroids(run, initial);
	else
		choose_centroids(run, seed);
	iterate(run);
	count_clusters(run);
	/* Back to the columns as they are */
	for (int i = 0; i < run->k * run->n; i++)
		run->centroids[i] += origin_of(run, i % run->n);
	return run;
}

static Datum
sizes_array(const Kmeans *run)
{
	Datum *elements = palloc(sizeof(Datum) * run->k);

	for (int i = 0; i < run->k; i++)
		elements[i] = Int64GetDatum(run->sizes[i]);
	return PointerGetDatum(
		construct_array(elements, run->k, INT8OID, sizeof(int64), true, TYPALIGN_DOUBLE));
}

Datum
turbine_kmeans(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"source",		  "columns",   "k",
										"max_iterations", "tolerance", "seed"};
	ArrayType				*initial = PG_ARGISNULL(6) ? NULL : PG_GETARG_ARRAYTYPE_P(6);
	MemoryContext			 caller = CurrentMemoryContext;
	MemoryContext			 within;
	int						 k;
	int						 max_iterations;
	double					 tolerance;
	Datum					 values[7];
	bool					 nulls[7] = {0};
	int						 i = 0;

	tb_training_require_args(fcinfo, lengthof(names), names);
	k = tb_training_positive(PG_GETARG_INT32(2), names[2]);
	max_iterations = tb_training_positive(PG_GETARG_INT32(3), names[3]);
	tolerance = tb_training_not_negative(PG_GETARG_FLOAT8(4), names[4]);
	if (k > MOST_CLUSTERS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there can be at most %d clusters", MOST_CLUSTERS)));
	SPI_connect();
	tb_training_progress_begin("kmeans");
	PG_TRY();
	{
		TbTrainingSource *source = tb_training_source_open(
			text_to_cstring(PG_GETARG_TEXT_PP(0)));
		Kmeans *run;

		tb_training_source_columns(source, PG_GETARG_ARRAYTYPE_P(1));
		run = find_clusters(source, k, max_iterations, tolerance, PG_GETARG_INT64(5),
							initial);
		within = MemoryContextSwitchTo(caller);
		values[i++] = tb_float8_matrix(run->centroids, run->k, run->n);
		values[i++] = sizes_array(run);
		values[i++] = Float8GetDatum(run->inertia);
		values[i++] = Int32GetDatum(run->iterations);
		values[i++] = BoolGetDatum(run->converged);
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
