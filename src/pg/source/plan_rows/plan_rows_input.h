/*
 * plan_rows_input.h - the rows that a plan of PostgreSQL's returns, as an input.
 */
#ifndef TURBINE_PG_SOURCE_PLAN_ROWS_PLAN_ROWS_INPUT_H
#define TURBINE_PG_SOURCE_PLAN_ROWS_PLAN_ROWS_INPUT_H

#include "postgres.h"

#include "pg/source/input.h"

/* Makes the plan, a child of the node's, one of custom_ps. `columns`: of the plan's
 * columns, from 0, those that the program wants, in its order. Lives in the current memory
 * context. */
extern TbInput *tb_plan_rows_input_make(CustomScanState *css, Plan *plan,
										const int32 *columns, int ncolumns, int eflags);

#endif
