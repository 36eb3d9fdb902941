/*
 * aggregation.c - see aggregation.h.
 *
 * The statements are ordinary queries, so devices, the column cache, rights and row-level
 * security are those of every query. Models are parameters: one generic plan serves all
 * passes, and its code is compiled once for all trainings of the same shape.
 *
 * Many aggregates become several statements, since the states of one are in registers.
 * Called by the trainings of this folder.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "pg/learning/aggregation.h"

/* A model of six columns has 38. More take longer than another pass over the rows. */
#define AGGREGATES_PER_STATEMENT 40

struct TbAggregation
{
	const char *rows;
	int			nparams;
	const Oid  *types;
	List	   *aggregates; /* SQL */
	List	   *plans;		/* SPIPlanPtr, of the first run */
	double	   *results;
};

SPIPlanPtr
tb_training_prepare(const char *sql, int nparams, const Oid *types)
{
	SPIPlanPtr plan = SPI_prepare_cursor(sql, nparams, (Oid *) types,
										 CURSOR_OPT_GENERIC_PLAN | CURSOR_OPT_PARALLEL_OK);

	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	return plan;
}

void
tb_training_execute(SPIPlanPtr plan, const Datum *params)
{
	int result;

	CHECK_FOR_INTERRUPTS();
	/* Read only: with the snapshot of the statement that has called the training. */
	result = SPI_execute_plan(plan, (Datum *) params, NULL, true, 0);
	if (result != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(result));
}

TbAggregation *
tb_aggregation_create(const char *rows, int nparams, const Oid *types)
{
	TbAggregation *aggregation = palloc0(sizeof(TbAggregation));

	aggregation->rows = rows;
	aggregation->nparams = nparams;
	aggregation->types = types;
	return aggregation;
}

int
tb_aggregation_add(TbAggregation *aggregation, const char *aggregate)
{
	Assert(aggregation->plans == NIL);
	aggregation->aggregates = lappend(aggregation->aggregates, pstrdup(aggregate));
	return list_length(aggregation->aggregates) - 1;
}

static SPIPlanPtr
prepare_statement(const TbAggregation *aggregation, int first, int count)
{
	StringInfoData sql;
	SPIPlanPtr	   plan;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	for (int i = 0; i < count; i++)
		appendStringInfo(&sql, "%s%s", i > 0 ? ", " : "",
						 (char *) list_nth(aggregation->aggregates, first + i));
	appendStringInfo(&sql, " FROM (%s) AS training_rows", aggregation->rows);
	plan = tb_training_prepare(sql.data, aggregation->nparams, aggregation->types);
	pfree(sql.data);
	return plan;
}

static void
prepare_all(TbAggregation *aggregation)
{
	int total = list_length(aggregation->aggregates);
	int statements = (total + AGGREGATES_PER_STATEMENT - 1) / AGGREGATES_PER_STATEMENT;

	aggregation->results = palloc(sizeof(double) * total);
	for (int i = 0; i < statements; i++)
	{
		/* About as many in each */
		int first = total * i / statements;
		int end = total * (i + 1) / statements;

		aggregation->plans = lappend(aggregation->plans,
									 prepare_statement(aggregation, first, end - first));
	}
}

static double
number_in(HeapTuple tuple, TupleDesc desc, int column)
{
	bool  isnull;
	Datum value = SPI_getbinval(tuple, desc, column, &isnull);

	if (isnull)
		return 0;
	return SPI_gettypeid(desc, column) == INT8OID ? (double) DatumGetInt64(value) :
													DatumGetFloat8(value);
}

const double *
tb_aggregation_run(TbAggregation *aggregation, const Datum *params)
{
	int		  place = 0;
	ListCell *lc;

	if (aggregation->plans == NIL)
		prepare_all(aggregation);
	foreach(lc, aggregation->plans)
	{
		tb_training_execute(lfirst(lc), params);
		for (int i = 1; i <= SPI_tuptable->tupdesc->natts; i++)
			aggregation->results[place++] = number_in(SPI_tuptable->vals[0],
													  SPI_tuptable->tupdesc, i);
		SPI_freetuptable(SPI_tuptable);
	}
	Assert(place == list_length(aggregation->aggregates));
	return aggregation->results;
}
