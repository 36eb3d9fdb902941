/*
 * estimate.h - what PostgreSQL computes of groups, as estimates of the engine's.
 */
#ifndef TURBINE_PG_NODES_RESULTS_ESTIMATE_H
#define TURBINE_PG_NODES_RESULTS_ESTIMATE_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "turbine/result.h"

#include "pg/nodes/results/result_columns.h"

/* TbEstimateStep *: the steps that make an interval which holds the expression's value, or
 * tell that it may raise an error. NIL: the engine cannot. */
extern List *tb_estimate_steps(const TbResultColumns *columns, Expr *expr);

/* Steps of a value that nothing is known of, and that raises nothing. */
extern List *tb_estimate_of_anything(void);

/* Whether steps are parameters, whose values are known when a run starts. */
extern bool tb_estimate_has_params(const TbResultPlan *result);

/*
 * Makes `bound`, which has room for it, the plan with the values of its parameters now.
 * `node` is the one whose filter and target the estimates are of. A parameter whose
 * subquery has not run is computed here, unless that may raise an error: then it stays any
 * value.
 */
extern void tb_estimate_bind_params(const TbResultPlan *planned, TbResultPlan *bound,
									PlanState *node);

#endif
