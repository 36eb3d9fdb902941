/*
 * aggregate_parts.h - an aggregate of all rows by aggregates of parts of them.
 */
#ifndef TURBINE_PG_NODES_REWRITE_AGGREGATE_PARTS_H
#define TURBINE_PG_NODES_REWRITE_AGGREGATE_PARTS_H

#include "postgres.h"

#include "nodes/primnodes.h"

/* Where the parts' values go: a row for each part. */
typedef struct TbPartColumns
{
	/* The column that has an aggregate's value, a new one if it has none yet. */
	Var	 *(*add)(void *context, Expr *aggregate);
	void *context;
} TbPartColumns;

/* The aggregate over the rows of the parts; NULL: it does not follow from parts, or nobody
 * has said how. */
extern Expr *tb_aggregate_of_parts(Aggref *aggregate, const TbPartColumns *columns);

#endif
