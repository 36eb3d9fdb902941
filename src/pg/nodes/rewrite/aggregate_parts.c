/*
 * aggregate_parts.c - see aggregate_parts.h. Called by union_aggregates.c.
 *
 * Knows aggregates by their OIDs. Must decline one whose value it can not give exactly as
 * PostgreSQL's aggregate over all rows would: float sums as exactly as parallel plans have
 * them, whose order of adding is no one's either.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/fmgroids.h"

#include "pg/nodes/rewrite/aggregate_parts.h"
#include "pg/planner/expression/aggregate_kind.h"

/* An aggregate of one column. */
static Expr *
aggregate_of(Oid aggregate, Var *argument, const Aggref *like, Oid type)
{
	Aggref *result = makeNode(Aggref);

	result->aggfnoid = aggregate;
	result->aggtype = type;
	result->aggcollid = like->aggcollid;
	result->inputcollid = like->inputcollid;
	result->aggargtypes = list_make1_oid(argument->vartype);
	result->args = list_make1(makeTargetEntry((Expr *) argument, 1, NULL, false));
	result->aggkind = AGGKIND_NORMAL;
	result->aggsplit = AGGSPLIT_SIMPLE;
	result->aggno = result->aggtransno = -1;
	result->location = -1;
	return (Expr *) result;
}

/* Part of an aggregate: another one of the same rows. */
static Aggref *
part_of(const Aggref *aggregate, Oid function, Oid type)
{
	Aggref *part = (Aggref *) copyObjectImpl(aggregate);

	part->aggfnoid = function;
	part->aggtype = type;
	part->aggcollid = part->inputcollid = InvalidOid;
	return part;
}

static Expr *
call(Oid function, Oid type, List *arguments)
{
	return (Expr *) makeFuncExpr(function, type, arguments, InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

static Expr *
as_bigint(Expr *numeric)
{
	return call(F_INT8_NUMERIC, INT8OID, list_make1(numeric));
}

/* The sum of counts; 0 where there is no arm's row. */
static Expr *
sum_of_counts(const TbPartColumns *columns, Aggref *count)
{
	Expr		 *sum = as_bigint(aggregate_of(F_SUM_INT8,
											   columns->add(columns->context, (Expr *) count),
											   count, NUMERICOID));
	CoalesceExpr *result = makeNode(CoalesceExpr);

	result->coalescetype = INT8OID;
	result->args = list_make2(sum,
							  makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
										Int64GetDatum(0), false, FLOAT8PASSBYVAL));
	result->location = -1;
	return (Expr *) result;
}

/* Of what sum() makes of whole numbers of up to 4 bytes: an int8. */
static Expr *
sum_of_small_sums(const TbPartColumns *columns, Aggref *sum)
{
	return as_bigint(aggregate_of(F_SUM_INT8, columns->add(columns->context, (Expr *) sum),
								  sum, NUMERICOID));
}

static Expr *
sum_of_numerics(const TbPartColumns *columns, Aggref *sum)
{
	return aggregate_of(F_SUM_NUMERIC, columns->add(columns->context, (Expr *) sum), sum,
						NUMERICOID);
}

/* avg() divides numerics, whatever it is of; NULL where there is no value. */
static Expr *
quotient(const TbPartColumns *columns, const Aggref *average, Oid sum, bool small)
{
	Aggref *of_values = part_of(average, sum, small ? INT8OID : NUMERICOID);
	Aggref *count = part_of(average, F_COUNT_ANY, INT8OID);
	Expr   *total = small ?
		  aggregate_of(F_SUM_INT8, columns->add(columns->context, (Expr *) of_values),
					   of_values, NUMERICOID) :
		  sum_of_numerics(columns, of_values);
	Expr   *rows = aggregate_of(F_SUM_INT8, columns->add(columns->context, (Expr *) count),
								count, NUMERICOID);

	return call(F_NUMERIC_DIV, NUMERICOID, list_make2(total, rows));
}

/* Minimum and maximum, and what else is of its parts what it is of rows. */
static Expr *
same_of_parts(const TbPartColumns *columns, Aggref *aggregate)
{
	return aggregate_of(aggregate->aggfnoid,
						columns->add(columns->context, (Expr *) aggregate), aggregate,
						aggregate->aggtype);
}

Expr *
tb_aggregate_of_parts(Aggref *aggregate, const TbPartColumns *columns)
{
	Oid function = aggregate->aggfnoid;

	if (aggregate->aggkind != AGGKIND_NORMAL || aggregate->aggdistinct != NIL ||
		aggregate->aggorder != NIL || aggregate->aggvariadic)
		return NULL;
	switch (function)
	{
		case F_COUNT_:
		case F_COUNT_ANY:
			return sum_of_counts(columns, aggregate);
		case F_SUM_INT2:
		case F_SUM_INT4:
			return sum_of_small_sums(columns, aggregate);
		case F_SUM_INT8:
		case F_SUM_NUMERIC:
			return sum_of_numerics(columns, aggregate);
		case F_SUM_FLOAT8:
			return same_of_parts(columns, aggregate);
		case F_AVG_INT2:
			return quotient(columns, aggregate, F_SUM_INT2, true);
		case F_AVG_INT4:
			return quotient(columns, aggregate, F_SUM_INT4, true);
		case F_AVG_INT8:
			return quotient(columns, aggregate, F_SUM_INT8, false);
		case F_AVG_NUMERIC:
			return quotient(columns, aggregate, F_SUM_NUMERIC, false);
		default:
			break;
	}
	switch (tb_aggregate_kind(function))
	{
		case TB_AGGREGATE_MIN:
		case TB_AGGREGATE_MAX:
		case TB_AGGREGATE_BOOL_AND:
		case TB_AGGREGATE_BOOL_OR:
			return same_of_parts(columns, aggregate);
		default:
			return NULL;
	}
}
