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
#include "pg/plans/our_nodes.h"
#include "pg/plans/plan_walk.h"

static bool
is_ours(const Plan *plan)
{
	while (plan != NULL && IsA(plan, SubqueryScan))
		plan = ((const SubqueryScan *) plan)->subplan;
	return plan != NULL && tb_node_kind(plan) != TB_NODE_NONE;
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
materialize(Plan *input, int id)
{
	Material *node = makeNode(Material);
	Plan	 *plan = &node->plan;

	plan->startup_cost = input->startup_cost;
	plan->total_cost = input->total_cost + cpu_operator_cost * input->plan_rows;
	plan->plan_rows = input->plan_rows;
	plan->plan_width = input->plan_width;
	plan->parallel_safe = input->parallel_safe;
	plan->plan_node_id = id;
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

static bool
keep_input(Plan *plan, void *next_id)
{
	if (IsA(plan, NestLoop) && ((NestLoop *) plan)->nestParams == NIL &&
		is_ours(plan->righttree) && fits(plan->righttree))
		plan->righttree = materialize(plan->righttree, (*(int *) next_id)++);
	return true;
}

/* Beyond the numbers that PostgreSQL gives to nodes. */
#define FIRST_ID 1000000

void
tb_keep_nest_loop_inputs(PlannedStmt *stmt)
{
	int next_id = FIRST_ID;

	tb_walk_statement(stmt, keep_input, &next_id);
}
