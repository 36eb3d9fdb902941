/*
 * may_raise.c - see may_raise.h.
 *
 * Walks expressions and plans as the executor has them; what an expression's node may raise
 * is planner/expression/may_raise_expression.c's to say. Called when a run starts, by
 * first_row.c, first_row_seek.c and GpuScan.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/pg_index.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

#include "pg/planner/expression/may_raise_expression.h"
#include "pg/stage/may_raise.h"

typedef struct Walk
{
	EState *estate;
	bool	initplans; /* they count */
} Walk;

static bool raises(Node *node, Walk *walk);
static bool plan_raises(Plan *plan, Walk *walk);

static bool
is_equality(const OpExpr *qual)
{
	return IsA(qual, OpExpr) && get_mergejoin_opfamilies(qual->opno) != NIL &&
		IsA(linitial(qual->args), Var);
}

/* Whether all columns of a unique index are equated with something. */
static bool
finds_one_row(Oid index, List *quals)
{
	HeapTuple	  tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	Form_pg_index form;
	Bitmapset	 *equated = NULL;
	bool		  result;
	ListCell	 *lc;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_index) GETSTRUCT(tuple);
	foreach(lc, quals)
		if (is_equality(lfirst(lc)))
			equated = bms_add_member(equated,
									 ((Var *) linitial(((OpExpr *) lfirst(lc))->args))
										 ->varattno);
	/* Checked late, it may be violated meanwhile. */
	result = form->indisunique && form->indimmediate &&
		bms_num_members(equated) >= form->indnkeyatts;
	ReleaseSysCache(tuple);
	return result;
}

/* Whether the plan returns one row at most. */
static bool
is_single_row(Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Agg:
			return ((Agg *) plan)->aggstrategy == AGG_PLAIN &&
				((Agg *) plan)->groupingSets == NIL;
		case T_Result:
			return plan->lefttree == NULL || is_single_row(plan->lefttree);
		case T_Limit:
		{
			Const *count = (Const *) ((Limit *) plan)->limitCount;

			return (count != NULL && IsA(count, Const) && !count->constisnull &&
					DatumGetInt64(count->constvalue) <= 1 &&
					((Limit *) plan)->limitOption == LIMIT_OPTION_COUNT) ||
				is_single_row(plan->lefttree);
		}
		case T_Material:
		case T_Sort:
			return is_single_row(plan->lefttree);
		case T_SubqueryScan:
			return is_single_row(((SubqueryScan *) plan)->subplan);
		case T_IndexScan:
			return finds_one_row(((IndexScan *) plan)->indexid,
								 ((IndexScan *) plan)->indexqual);
		case T_IndexOnlyScan:
			return finds_one_row(((IndexOnlyScan *) plan)->indexid,
								 ((IndexOnlyScan *) plan)->indexqual);
		case T_CustomScan:
			/* Ours: the kept plan returns the same. */
			return ((CustomScan *) plan)->custom_plans != NIL &&
				is_single_row(linitial(((CustomScan *) plan)->custom_plans));
		default:
			return false;
	}
}

static bool
initplan_raises(const SubPlanState *initplan, Walk *walk)
{
	Walk  below = {.estate = walk->estate, .initplans = true};
	Plan *plan = initplan->planstate->plan;

	switch (initplan->subplan->subLinkType)
	{
		case EXISTS_SUBLINK:
		case ARRAY_SUBLINK:
		case CTE_SUBLINK:
			return plan_raises(plan, &below);
		case EXPR_SUBLINK:
			return !is_single_row(plan) || plan_raises(plan, &below);
		default:
			return true;
	}
}

/* The InitPlan that computes the parameter, if it has not run; else NULL. */
static SubPlanState *
pending_initplan(const Param *param, const EState *estate)
{
	return param->paramkind == PARAM_EXEC ?
		estate->es_param_exec_vals[param->paramid].execPlan :
		NULL;
}

static bool
raises(Node *node, Walk *walk)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
	{
		SubPlanState *initplan = pending_initplan((Param *) node, walk->estate);

		return walk->initplans && initplan != NULL && initplan_raises(initplan, walk);
	}
	return tb_node_may_raise(node) || expression_tree_walker(node, raises, walk);
}

bool
tb_param_may_raise(const Param *param, EState *estate)
{
	Walk		  walk = {.estate = estate, .initplans = true};
	SubPlanState *initplan = pending_initplan(param, estate);

	return initplan != NULL && initplan_raises(initplan, &walk);
}

static bool
some_plan_raises(List *plans, Walk *walk)
{
	ListCell *lc;

	foreach(lc, plans)
		if (plan_raises(lfirst(lc), walk))
			return true;
	return false;
}

static bool
functions_raise(List *functions, Walk *walk)
{
	ListCell *lc;

	foreach(lc, functions)
		if (raises(lfirst_node(RangeTblFunction, lc)->funcexpr, walk))
			return true;
	return false;
}

/* A count that is negative raises. */
static bool
count_raises(Node *count)
{
	return count != NULL &&
		!(IsA(count, Const) &&
		  (((Const *) count)->constisnull ||
		   DatumGetInt64(((Const *) count)->constvalue) >= 0));
}

/* Besides target list and filter. */
static bool
node_raises(Plan *plan, Walk *walk)
{
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_Material:
		case T_Memoize:
		case T_Sort:
		case T_IncrementalSort:
		case T_Unique:
		case T_Group:
		case T_Agg:
		case T_Gather:
		case T_GatherMerge:
		case T_SetOp:
			return false;
		case T_Result:
			return raises(((Result *) plan)->resconstantqual, walk);
		case T_Hash:
			return raises((Node *) ((Hash *) plan)->hashkeys, walk);
		case T_NestLoop:
			return raises((Node *) ((Join *) plan)->joinqual, walk);
		case T_MergeJoin:
			return raises((Node *) ((Join *) plan)->joinqual, walk) ||
				raises((Node *) ((MergeJoin *) plan)->mergeclauses, walk);
		case T_HashJoin:
			return raises((Node *) ((Join *) plan)->joinqual, walk) ||
				raises((Node *) ((HashJoin *) plan)->hashclauses, walk);
		case T_Limit:
			return count_raises(((Limit *) plan)->limitOffset) ||
				count_raises(((Limit *) plan)->limitCount);
		case T_Append:
			return some_plan_raises(((Append *) plan)->appendplans, walk);
		case T_MergeAppend:
			return some_plan_raises(((MergeAppend *) plan)->mergeplans, walk);
		case T_SubqueryScan:
			return plan_raises(((SubqueryScan *) plan)->subplan, walk);
		case T_IndexScan:
			return raises((Node *) ((IndexScan *) plan)->indexqualorig, walk);
		case T_IndexOnlyScan:
			return raises((Node *) ((IndexOnlyScan *) plan)->indexqual, walk);
		case T_BitmapIndexScan:
			return raises((Node *) ((BitmapIndexScan *) plan)->indexqualorig, walk);
		case T_BitmapHeapScan:
			return raises((Node *) ((BitmapHeapScan *) plan)->bitmapqualorig, walk);
		case T_BitmapAnd:
			return some_plan_raises(((BitmapAnd *) plan)->bitmapplans, walk);
		case T_BitmapOr:
			return some_plan_raises(((BitmapOr *) plan)->bitmapplans, walk);
		case T_FunctionScan:
			return functions_raise(((FunctionScan *) plan)->functions, walk);
		case T_ValuesScan:
			return raises((Node *) ((ValuesScan *) plan)->values_lists, walk);
		case T_CteScan:
		{
			PlanState *state = list_nth(walk->estate->es_subplanstates,
										((CteScan *) plan)->ctePlanId - 1);

			return state == NULL || plan_raises(state->plan, walk);
		}
		case T_CustomScan:
			return raises((Node *) ((CustomScan *) plan)->custom_exprs, walk) ||
				some_plan_raises(((CustomScan *) plan)->custom_plans, walk);
		default:
			return true;
	}
}

static bool
plan_raises(Plan *plan, Walk *walk)
{
	check_stack_depth();
	return plan != NULL &&
		(raises((Node *) plan->targetlist, walk) || raises((Node *) plan->qual, walk) ||
		 node_raises(plan, walk) || plan_raises(plan->lefttree, walk) ||
		 plan_raises(plan->righttree, walk));
}

bool
tb_plan_may_raise(Plan *plan, EState *estate)
{
	Walk walk = {.estate = estate, .initplans = true};

	return plan_raises(plan, &walk);
}

bool
tb_expr_may_raise(Node *expr, EState *estate)
{
	Walk walk = {.estate = estate};

	return raises(expr, &walk);
}

typedef struct Collector
{
	TbRisk *risk;
	Walk	walk;
} Collector;

static bool
collect_initplans(Node *node, Collector *c)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
	{
		SubPlanState *initplan = pending_initplan((Param *) node, c->walk.estate);

		if (initplan != NULL && initplan_raises(initplan, &c->walk))
			c->risk->initplans = bms_add_member(c->risk->initplans,
												((Param *) node)->paramid);
		return false;
	}
	return expression_tree_walker(node, collect_initplans, c);
}

static bool
has_pending_initplan(Node *node, EState *estate)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return pending_initplan((Param *) node, estate) != NULL;
	return expression_tree_walker(node, has_pending_initplan, estate);
}

static void
evaluate_risky(List *exprs, PlanState *node, Walk *walk)
{
	ListCell *lc;

	foreach(lc, exprs)
	{
		bool isnull;

		if (raises(lfirst(lc), walk))
			(void) ExecEvalExpr(ExecInitExpr(lfirst(lc), node), node->ps_ExprContext,
								&isnull);
	}
}

/* Errors that are no fault of an expression's. */
static bool
is_of_system(int sqlstate)
{
	switch (ERRCODE_TO_CATEGORY(sqlstate))
	{
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_SYSTEM_ERROR:
		case ERRCODE_INTERNAL_ERROR:
			return true;
		default:
			return false;
	}
}

/* Whether those that may raise do not, in a subtransaction, as PL/pgSQL has one for
 * a block with an exception handler. */
static bool
evaluate_without_error(List *exprs, PlanState *node, Walk *walk)
{
	MemoryContext old = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	MemoryContext scratch;
	volatile bool result = true;

	/* Subtransactions can not be started in parallel mode. */
	if (IsInParallelMode() || has_pending_initplan((Node *) exprs, walk->estate))
		return false;
	scratch = AllocSetContextCreate(old, "pg_turbine tried expressions",
									ALLOCSET_SMALL_SIZES);
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(scratch);
	PG_TRY();
	{
		evaluate_risky(exprs, node, walk);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(old);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData *error;

		MemoryContextSwitchTo(old);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(old);
		CurrentResourceOwner = owner;
		if (is_of_system(error->sqlerrcode))
			ReThrowError(error);
		FreeErrorData(error);
		result = false;
	}
	PG_END_TRY();
	MemoryContextDelete(scratch);
	return result;
}

void
tb_risk_add_params(TbRisk *risk, List *exprs, PlanState *node)
{
	Collector c = {.risk = risk, .walk = {.estate = node->state}};

	(void) collect_initplans((Node *) exprs, &c);
	if (!risk->others && raises((Node *) exprs, &c.walk))
		risk->others = !evaluate_without_error(exprs, node, &c.walk);
}

typedef struct Search
{
	const TbRisk *risk;
	EState		 *estate;
} Search;

static bool
search(Node *node, Search *s)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return bms_is_member(((Param *) node)->paramid, s->risk->initplans) &&
			pending_initplan((Param *) node, s->estate) != NULL;
	if (s->risk->others && !IsA(node, List) && !IsA(node, TargetEntry) &&
		!contain_var_clause(node) && tb_expr_may_raise(node, s->estate))
		return true;
	return expression_tree_walker(node, search, s);
}

bool
tb_risk_is_in(const TbRisk *risk, Node *expr, EState *estate)
{
	Search s = {.risk = risk, .estate = estate};

	return search(expr, &s);
}
