/*
 * result_plan.h - makes a result plan (turbine/result.h): windows, order and limit
 * of what a last stage returns.
 *
 * Adding never fails; finishing checks the limits. All memory is the current
 * context's.
 */
#ifndef TURBINE_PG_NODES_RESULTS_RESULT_PLAN_H
#define TURBINE_PG_NODES_RESULTS_RESULT_PLAN_H

#include "postgres.h"

#include "nodes/pg_list.h"

#include "turbine/result.h"

typedef struct TbResultBuilder TbResultBuilder;

/* Over results of so many columns. */
extern TbResultBuilder *tb_result_create(uint32 ncolumns);

/*
 * A pass: its keys (TbSortKey *), and what it computes. Keys, first_key, nkeys and
 * first_function of `pass` are filled in here; functions added until the next pass
 * are its own. An equal function of the pass is shared.
 */
extern void tb_result_add_pass(TbResultBuilder *builder, const TbWindowPass *pass,
							   List *keys);

/* The column of the function's values. */
extern uint32 tb_result_add_function(TbResultBuilder		*builder,
									 const TbWindowFunction *function);

extern void tb_result_add_condition(TbResultBuilder			*builder,
									const TbResultCondition *condition);

/* What PostgreSQL computes of a row; steps: TbEstimateStep *. Instead of all the others. */
extern void tb_result_add_estimate(TbResultBuilder *builder, TbEstimateRole role,
								   uint32 flags, List *steps);

/* The final order. */
extern void tb_result_set_order(TbResultBuilder *builder, List *keys, uint32 ndistinct);
extern void tb_result_set_limit(TbResultBuilder *builder, uint64 limit, bool with_ties);

/* NULL if a limit of result.h is exceeded. May go on after that. */
extern TbResultPlan *tb_result_finish(const TbResultBuilder *builder);

/* Its arrays. */
extern const TbSortKey		   *tb_result_keys(const TbResultPlan *plan);
extern const TbWindowPass	   *tb_result_passes(const TbResultPlan *plan);
extern const TbWindowFunction  *tb_result_functions(const TbResultPlan *plan);
extern const TbResultCondition *tb_result_conditions(const TbResultPlan *plan);

#endif
