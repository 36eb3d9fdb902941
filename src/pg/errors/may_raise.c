/*
 * may_raise.c - see may_raise.h.
 *
 * Sections: expressions; queries as they were parsed; programs; expressions and plans as
 * the executor has them, where InitPlans may still be to run; what is at risk in a run.
 * Functions of the catalogue say whether they raise; here are operands with which one that
 * may raise never does, and what else plans consist of.
 *
 * Owns nothing. Called by the planner's part of nodes, by rewrites, and where a run starts.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/pg_index.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

#include "pg/convert/function_lookup.h"
#include "pg/errors/may_raise.h"

/* ---- Expressions ---- */

static bool
function_raises(Oid funcid, void *context)
{
	return !tb_function_never_raises(funcid);
}

/* The constant that the operand is, after a cast that never raises; NULL: it is none. */
static const Const *
constant_operand(Node *operand)
{
	const FuncExpr *cast = (const FuncExpr *) operand;

	if (IsA(cast, FuncExpr) && list_length(cast->args) == 1 &&
		IsA(linitial(cast->args), Const) &&
		func_volatile(cast->funcid) == PROVOLATILE_IMMUTABLE &&
		tb_function_never_raises(cast->funcid))
		operand = eval_const_expressions(NULL, operand);
	return IsA(operand, Const) ? (const Const *) operand : NULL;
}

/* Whether the operation's second operand is a constant, with which it never raises: a
 * divisor but 0 and -1, a pattern without escapes. */
static bool
has_harmless_operand(const OpExpr *op)
{
	const Const *operand = list_length(op->args) == 2 ?
		constant_operand(lsecond(op->args)) :
		NULL;

	if (operand == NULL || operand->constisnull)
		return false;
	switch (get_opcode(op->opno))
	{
		case F_NUMERIC_DIV:
			return DatumGetBool(
				DirectFunctionCall2(numeric_ne, operand->constvalue,
									DirectFunctionCall1(int4_numeric, Int32GetDatum(0))));
		case F_INT4DIV:
		case F_INT84DIV:
			return DatumGetInt32(operand->constvalue) != 0 &&
				DatumGetInt32(operand->constvalue) != -1;
		case F_TEXTLIKE:
		case F_TEXTNLIKE:
		case F_BPCHARLIKE:
		case F_BPCHARNLIKE:
			return strchr(TextDatumGetCString(operand->constvalue), '\\') == NULL;
		default:
			return false;
	}
}

/* The node by itself, without what it is computed of. Of Params, subqueries and nodes that
 * are no expressions the answer is yes: callers who know better do not ask. */
static bool
node_may_raise(Node *node)
{
	switch (nodeTag(node))
	{
		case T_OpExpr:
			return !has_harmless_operand((OpExpr *) node) &&
				check_functions_in_node(node, function_raises, NULL);
		case T_FuncExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_Aggref:
			return check_functions_in_node(node, function_raises, NULL);
		case T_Const:
		case T_Var:
		case T_CaseTestExpr:
		case T_SQLValueFunction:
		case T_SortGroupClause:
		case T_List:
		case T_TargetEntry:
		case T_RelabelType:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_GroupingFunc:
			return false;
		case T_ArrayExpr:
			/* Its elements are arrays, which may not match. */
			return ((ArrayExpr *) node)->multidims;
		default:
			return true;
	}
}

static bool
planned_raises(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind != PARAM_EXTERN;
	return node_may_raise(node) || expression_tree_walker(node, planned_raises, context);
}

bool
tb_expression_may_raise(Node *expr)
{
	return planned_raises(expr, NULL);
}

/* ---- Queries as they were parsed ---- */

/* Whether the subquery has one row whatever its tables hold. */
static bool
returns_one_row(const Query *query)
{
	return query->hasAggs && query->groupClause == NIL && query->groupingSets == NIL &&
		query->havingQual == NULL && query->setOperations == NULL && !query->hasTargetSRFs;
}

/* Counts of LIMIT may be negative; rows that are locked, and statements in WITH, have
 * effects. */
static bool
is_harmful_query(const Query *query)
{
	return query->commandType != CMD_SELECT || query->limitCount != NULL ||
		query->limitOffset != NULL || query->rowMarks != NIL || query->hasModifyingCTE ||
		query->hasTargetSRFs || query->hasRecursive;
}

static bool
is_harmful(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Query:
			return is_harmful_query((Query *) node) ||
				query_tree_walker((Query *) node, is_harmful, context, 0);
		case T_SubLink:
		{
			const SubLink *link = (SubLink *) node;

			if (link->subLinkType != EXISTS_SUBLINK && link->subLinkType != ANY_SUBLINK &&
				!(link->subLinkType == EXPR_SUBLINK &&
				  returns_one_row(castNode(Query, link->subselect))))
				return true;
			break;
		}
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN &&
				((Param *) node)->paramkind != PARAM_SUBLINK;
		case T_FromExpr:
		case T_JoinExpr:
		case T_RangeTblRef:
		case T_CommonTableExpr:
			break;
		default:
			if (node_may_raise(node))
				return true;
			break;
	}
	return expression_tree_walker(node, is_harmful, context);
}

bool
tb_query_is_harmless(Node *tree)
{
	return !is_harmful(tree, NULL) && !contain_volatile_functions(tree);
}

/* ---- Programs ---- */

static bool
program_expr_raises(const TbProgram *program, uint32 expr)
{
	const TbExpr *exprs = (const TbExpr *) ((const char *) program + program->exprs.offset);

	return expr != TB_NONE && (exprs[expr].flags & TB_EX_RAISES) != 0;
}

bool
tb_program_raises_before_output(const TbProgram *program)
{
	const char	 *bytes = (const char *) program;
	const uint32 *args = (const uint32 *) (bytes + program->args.offset);
	const uint32 *filters = (const uint32 *) (bytes + program->filters.offset);
	const TbJoin *joins = (const TbJoin *) (bytes + program->joins.offset);

	for (uint32 i = 0; i < program->filters.count; i++)
		if (program_expr_raises(program, filters[i]))
			return true;
	for (uint32 i = 0; i < program->joins.count; i++)
	{
		for (uint32 key = 0; key < joins[i].nkeys; key++)
			if (program_expr_raises(program, args[joins[i].first_key + key]))
				return true;
		if (program_expr_raises(program, joins[i].residual))
			return true;
	}
	return false;
}

/* ---- Expressions and plans of a run ---- */

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
	return node_may_raise(node) || expression_tree_walker(node, raises, walk);
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

/* ---- What is at risk ---- */

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

bool
tb_risk_is_empty(const TbRisk *risk)
{
	return !risk->others && bms_is_empty(risk->initplans);
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
