/*
 * row_query.h - builds an inner table of rows that a plan of PostgreSQL's returns.
 */
#ifndef TURBINE_PG_ROW_QUERY_H
#define TURBINE_PG_ROW_QUERY_H

#include "postgres.h"

#include "pg/source/heap/heap_query.h"

/* The next row's values, for the program's columns in order; false at the end. They
 * are valid until the next call. */
typedef bool (*TbNextRow) (void *source, Datum *values, bool *nulls);

/*
 * Runs spec (sink BUILD, source ROWS, with a session) to its end. False, with
 * *why, if the service could not do it; raises what the plan raises.
 */
extern bool tb_row_query_build(const TbHeapQuerySpec *spec, TbNextRow next,
							   void *source, TbHeapQueryStats *stats,
							   TbFailure *why);

#endif
