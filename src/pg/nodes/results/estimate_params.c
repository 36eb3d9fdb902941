/*
 * estimate_params.c - see estimate_params.h. Called by GpuPreAgg, and GpuSort of groups,
 * when a run starts.
 *
 * A step names its parameter by number; of what type it is says the node's filter or
 * target, where it stands. Must never evaluate what PostgreSQL might not, if that may raise
 * an error.
 */
#include "postgres.h"

#include <math.h>

#include "executor/executor.h"
#include "executor/nodeSubplan.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "pg/errors/may_raise.h"
#include "pg/nodes/results/estimate.h"
#include "pg/nodes/results/estimate_params.h"

/* In a step's column, beside the number: one of the client's. */
#define EXTERN_PARAM 0x40000000u

static uint32
number_of(const Param *param)
{
	return (uint32) param->paramid | (param->paramkind == PARAM_EXTERN ? EXTERN_PARAM : 0);
}

static bool
is_of_param(const TbEstimateStep *step)
{
	return step->op == TB_ESTIMATE_CONSTANT && step->column != TB_NONE;
}

TbEstimateStep
tb_estimate_param_step(const Param *param)
{
	return (TbEstimateStep) {.op = TB_ESTIMATE_CONSTANT,
							 .column = number_of(param),
							 .low = -INFINITY,
							 .high = INFINITY};
}

typedef struct Search
{
	uint32 number;
	Param *found;
} Search;

static bool
find_param(Node *node, Search *search)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && number_of((Param *) node) == search->number)
	{
		search->found = (Param *) node;
		return true;
	}
	return expression_tree_walker(node, find_param, search);
}

static bool
value_of_client(const Param *param, ExprContext *econtext, Datum *value, bool *isnull)
{
	ParamListInfo	 list = econtext->ecxt_param_list_info;
	ParamExternData	 room;
	ParamExternData *known;

	if (list == NULL || param->paramid > list->numParams)
		return false;
	known = list->paramFetch != NULL ?
		list->paramFetch(list, param->paramid, false, &room) :
		&list->params[param->paramid - 1];
	*value = known->value;
	*isnull = known->isnull;
	return known->ptype == param->paramtype;
}

/* The parameter's value; false if it must not be computed now. */
static bool
evaluate(const Param *param, PlanState *node, Datum *value, bool *isnull)
{
	ExprContext	  *econtext = node->ps_ExprContext;
	ParamExecData *known;

	if (param->paramkind == PARAM_EXTERN)
		return value_of_client(param, econtext, value, isnull);
	if (tb_param_may_raise(param, node->state))
		return false;
	known = &econtext->ecxt_param_exec_vals[param->paramid];
	if (known->execPlan != NULL)
		ExecSetParamPlan(known->execPlan, econtext);
	*value = known->value;
	*isnull = known->isnull;
	return true;
}

/* The step of the value, as that of a constant. */
static void
bind_step(TbEstimateStep *step, PlanState *node)
{
	TbResultColumns none = {NIL, NIL};
	Search			search = {.number = step->column};
	List		   *steps;
	Datum			value;
	bool			isnull;
	int16			length;
	bool			by_value;

	step->column = TB_NONE;
	if (!find_param((Node *) node->plan->qual, &search) &&
		!find_param((Node *) node->plan->targetlist, &search))
		(void) find_param((Node *) castNode(CustomScan, node->plan)->custom_scan_tlist,
						  &search);
	if (search.found == NULL || !evaluate(search.found, node, &value, &isnull))
		return;
	get_typlenbyval(search.found->paramtype, &length, &by_value);
	steps = tb_estimate_steps(&none,
							  (Expr *) makeConst(search.found->paramtype, -1, InvalidOid,
												 length, isnull ? (Datum) 0 : value, isnull,
												 by_value));
	if (steps != NIL)
		*step = *(TbEstimateStep *) linitial(steps);
}

static TbEstimateStep *
steps_of(TbResultPlan *result)
{
	return (TbEstimateStep *) ((char *) result + result->steps.offset);
}

bool
tb_estimate_has_params(const TbResultPlan *result)
{
	for (uint32 i = 0; result != NULL && i < result->steps.count; i++)
		if (is_of_param(steps_of((TbResultPlan *) result) + i))
			return true;
	return false;
}

void
tb_estimate_bind_params(const TbResultPlan *planned, TbResultPlan *bound, PlanState *node)
{
	/* A node below a subquery may start thousands of times. */
	MemoryContext old = MemoryContextSwitchTo(node->ps_ExprContext->ecxt_per_tuple_memory);

	memcpy(bound, planned, planned->total_size);
	for (uint32 i = 0; i < bound->steps.count; i++)
		if (is_of_param(steps_of(bound) + i))
			bind_step(steps_of(bound) + i, node);
	MemoryContextSwitchTo(old);
}
