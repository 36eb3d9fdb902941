/*
 * plan_rows_source.h - the rows that a plan of PostgreSQL's returns, as a source.
 */
#ifndef TURBINE_PG_PLAN_ROWS_SOURCE_H
#define TURBINE_PG_PLAN_ROWS_SOURCE_H

#include "postgres.h"

#include "pg/source/source.h"

/* The next row's values, for the program's columns in order; false at the end. They
 * are valid until the next call. Raises what the plan raises. */
typedef bool (*TbNextRow)(void *plan, Datum *values, bool *nulls);

/* In the current memory context. `next` is called with `plan`. */
extern TbSource *tb_plan_rows_source_make(TbNextRow next, void *plan);

#endif
