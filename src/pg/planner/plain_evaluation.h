/*
 * plain_evaluation.h - how long PostgreSQL's own processes take to evaluate expressions.
 *
 * PostgreSQL charges cpu_operator_cost for nearly every operator, be it an integer's
 * comparison or a LIKE over a long text, which takes many times as long.
 */
#ifndef TURBINE_PG_PLANNER_PLAIN_EVALUATION_H
#define TURBINE_PG_PLANNER_PLAIN_EVALUATION_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Microseconds for a row that is filtered by these RestrictInfos, in the order in which
 * PostgreSQL evaluates them: a row that one drops does not meet the next. With the walk
 * over the tuple up to the last attribute that they need.
 */
extern double tb_plain_filters_us(PlannerInfo *root, const RelOptInfo *rel, List *filters);

/* To form what is wanted of a row of the table, beyond what its filters have looked at:
 * microseconds a row. */
extern double tb_plain_columns_us(PlannerInfo *root, RelOptInfo *rel);

#endif
