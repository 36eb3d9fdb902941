/*
 * first_row_seek.h - a quick look for a first row, by PostgreSQL's own nodes.
 */
#ifndef TURBINE_PG_STAGE_FIRST_ROW_SEEK_H
#define TURBINE_PG_STAGE_FIRST_ROW_SEEK_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/plannodes.h"

#include "pg/stage/may_raise.h"

/* Whether a plan may run a second time beside itself, and change nothing. */
extern bool tb_seek_is_repeatable(Plan *plan);

/* Whether besides it may run to its first row: a millisecond or so. */
extern bool tb_seek_is_cheap(Plan *plan);

/* Whether a sequential scan finds a row where it is looked for: in the table's first
 * blocks and, where its filter raises nothing, in some spread over it. InitPlans
 * that rows reach have run then. */
extern bool tb_seek_row_of_table(EState *estate, Plan *plan);

/* Whether the plan has a first row. */
extern bool tb_seek_row_of_plan(EState *estate, Plan *plan);

/* Looks at the same parts of a table until the filters (of the node's scan tuples) have
 * evaluated all that is at risk; whether they have. */
extern bool tb_seek_row_that_passes(Relation rel, List *filters, ExprState *qual,
									const TbRisk *risk, PlanState *node);

#endif
