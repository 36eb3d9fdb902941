/*
 * scan_bounds.h - conditions of a query by which the file reader may skip batches.
 *
 * A bound is a condition `column operator value` of the query's, which PostgreSQL
 * evaluates all the same for each row that comes.
 */
#ifndef TURBINE_PG_FDW_SCAN_BOUNDS_H
#define TURBINE_PG_FDW_SCAN_BOUNDS_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"

#include "pg/files/file_table.h"
#include "turbine/file_reader.h"

/* As the plan keeps them: lists of equal lengths. */
typedef struct TbBoundClauses
{
	List *attnums;	/* int */
	List *compares; /* int, TbReaderCompare */
	List *values;	/* Expr; an array for a condition with ANY or IN */
} TbBoundClauses;

/* A bound with its values, as turbine/file_reader.h wants them. */
typedef struct TbScanBound
{
	AttrNumber		attnum;
	TbReaderCompare compare;
	int32			typmod; /* of the column */
	List		   *values; /* char * */
} TbScanBound;

/* The conditions, of a list of bare clauses, that can be bounds. */
extern TbBoundClauses tb_bound_clauses(List *clauses, Index relid);

/* Evaluates the values; expressions are states of clauses->values. A condition whose value
 * is not known yet, or NULL, makes no bound. In the current memory context. */
extern List *tb_scan_bounds(const TbBoundClauses *clauses, List *expressions,
							ExprContext *econtext, TupleDesc attributes);

/* Appends the bounds to a request. places: by attnum - 1, which column of the request it
 * is; -1: none. A bound that may be wrong for the file's type is left out. */
extern void tb_scan_bounds_describe(List *bounds, const TbTableFile *file,
									const int *places, StringInfo request);

#endif
