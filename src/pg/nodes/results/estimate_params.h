/*
 * estimate_params.h - parameters in estimates of HAVING: values that are known when a run
 * starts, such as those of a subquery that is computed once.
 */
#ifndef TURBINE_PG_NODES_RESULTS_ESTIMATE_PARAMS_H
#define TURBINE_PG_NODES_RESULTS_ESTIMATE_PARAMS_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "turbine/result.h"

/* The step of a parameter in a plan: any value, and which parameter it is. */
extern TbEstimateStep tb_estimate_param_step(const Param *param);

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
