/*
 * estimate.h - what PostgreSQL computes of groups, as estimates of the engine's.
 */
#ifndef TURBINE_PG_NODES_RESULTS_ESTIMATE_H
#define TURBINE_PG_NODES_RESULTS_ESTIMATE_H

#include "postgres.h"

#include "turbine/result.h"

#include "pg/nodes/results/result_columns.h"

/* TbEstimateStep *: the steps that make an interval which holds the expression's value, or
 * tell that it may raise an error. NIL: the engine cannot. */
extern List *tb_estimate_steps(const TbResultColumns *columns, Expr *expr);

/* Steps of a value that nothing is known of, and that raises nothing. */
extern List *tb_estimate_of_anything(void);

#endif
