/*
 * nest_loop_inputs.c - see nest_loop_inputs.h. Called with every finished plan.
 *
 * Owns nothing. The plan's references are set by then, so that what is put into it must
 * have the form that setrefs.c gives: a Material's target list refers to its input.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"

#include "pg/nodes/hooks/nest_loop_inputs.h"
#include "pg/stage/plan_private.h"

typedef struct Walk
{
	int next_id; /* of a node that is added */
} Walk;

static bool
is_ours(const Plan *plan)
{
	while (plan != NULL && IsA(plan, SubqueryScan))
		plan = ((const SubqueryScan *) plan)->subplan;
	return plan != NULL && tb_is_node_of_ours(plan);
}

static List *
references_to(List *tlist)
{
	List	 *result = NIL;
	ListCell *lc;

	foreach(lc, tlist)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst_node(TargetEntry, lc));
		Node		*expr = (Node *) entry->expr;

		entry->expr = (Expr *) makeVar(OUTER_VAR, entry->resno, exprType(expr),
									   exprTypmod(expr), exprCollation(expr), 0);
		result = lappend(result, entry);
	}
	return result;
}

static Plan *
materialize(Plan *input, Walk *walk)
{
	Material *node = makeNode(Material);
	Plan	 *plan = &node->plan;

	plan->startup_cost = input->startup_cost;
	plan->total_cost = input->total_cost + cpu_operator_cost * input->plan_rows;
	plan->plan_rows = input->plan_rows;
	plan->plan_width = input->plan_width;
	plan->parallel_safe = input->parallel_safe;
	plan->plan_node_id = walk->next_id++;
	plan->targetlist = references_to(input->targetlist);
	plan->lefttree = input;
	plan->extParam = bms_copy(input->extParam);
	plan->allParam = bms_copy(input->allParam);
	return plan;
}

static bool
fits(const Plan *plan)
{
	return plan->plan_rows *
		(MAXALIGN(plan->plan_width) + MAXALIGN(SizeofHeapTupleHeader)) <=
		work_mem * 1024.0;
}

static void keep_inputs(Plan *plan, Walk *walk);

static void
keep_inputs_of_all(List *plans, Walk *walk)
{
	ListCell *lc;

	foreach(lc, plans)
		keep_inputs(lfirst(lc), walk);
}

static void
keep_inputs(Plan *plan, Walk *walk)
{
	if (plan == NULL)
		return;
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			keep_inputs_of_all(((CustomScan *) plan)->custom_plans, walk);
			break;
		case T_SubqueryScan:
			keep_inputs(((SubqueryScan *) plan)->subplan, walk);
			break;
		case T_Append:
			keep_inputs_of_all(((Append *) plan)->appendplans, walk);
			break;
		case T_MergeAppend:
			keep_inputs_of_all(((MergeAppend *) plan)->mergeplans, walk);
			break;
		case T_NestLoop:
			if (((NestLoop *) plan)->nestParams == NIL && is_ours(plan->righttree) &&
				fits(plan->righttree))
				plan->righttree = materialize(plan->righttree, walk);
			break;
		default:
			break;
	}
	keep_inputs(plan->lefttree, walk);
	keep_inputs(plan->righttree, walk);
}

/* Beyond the numbers that PostgreSQL gives to nodes. */
#define FIRST_ID 1000000

void
tb_keep_nest_loop_inputs(PlannedStmt *stmt)
{
	Walk walk = {.next_id = FIRST_ID};

	keep_inputs(stmt->planTree, &walk);
	keep_inputs_of_all(stmt->subplans, &walk);
}
