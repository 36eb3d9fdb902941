/*
 * plan_walk.c - see plan_walk.h. Called by what mends finished plans, by what counts in
 * them, and by errors/ where a run starts.
 *
 * Owns nothing. Bitmap scans' trees have no nodes that anybody here looks for.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "pg/plans/our_nodes.h"
#include "pg/plans/plan_walk.h"

static void
walk_plans(List *plans, TbPlanVisitor visit, void *context)
{
	ListCell *lc;

	foreach(lc, plans)
		tb_walk_plan(lfirst(lc), visit, context);
}

void
tb_walk_plan(Plan *plan, TbPlanVisitor visit, void *context)
{
	if (plan == NULL)
		return;
	check_stack_depth();
	if (!visit(plan, context))
		return;
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			walk_plans(((CustomScan *) plan)->custom_plans, visit, context);
			break;
		case T_SubqueryScan:
			tb_walk_plan(((SubqueryScan *) plan)->subplan, visit, context);
			break;
		case T_Append:
			walk_plans(((Append *) plan)->appendplans, visit, context);
			break;
		case T_MergeAppend:
			walk_plans(((MergeAppend *) plan)->mergeplans, visit, context);
			break;
		default:
			break;
	}
	tb_walk_plan(plan->lefttree, visit, context);
	tb_walk_plan(plan->righttree, visit, context);
}

void
tb_walk_statement(PlannedStmt *stmt, TbPlanVisitor visit, void *context)
{
	tb_walk_plan(stmt->planTree, visit, context);
	walk_plans(stmt->subplans, visit, context);
}

Plan *
tb_plan_as_postgres(Plan *plan)
{
	CustomScan *ours = (CustomScan *) plan;
	SeqScan	   *scan;

	if (plan == NULL || tb_node_kind(plan) != TB_NODE_SCAN)
		return plan;
	scan = makeNode(SeqScan);
	scan->scan = ours->scan;
	scan->scan.plan.type = T_SeqScan;
	scan->scan.plan.lefttree = NULL;
	scan->scan.plan.qual = list_concat_copy(list_nth(ours->custom_exprs,
													 TB_SCAN_EXPRS_EVALUATED),
											plan->qual);
	return &scan->scan.plan;
}

Plan *
tb_plan_outer(const Plan *plan)
{
	return tb_plan_as_postgres(plan->lefttree);
}

Plan *
tb_plan_inner(const Plan *plan)
{
	return tb_plan_as_postgres(plan->righttree);
}

List *
tb_plan_clauses(Plan *plan)
{
	List *clauses = list_concat_copy(plan->targetlist, plan->qual);

	switch (nodeTag(plan))
	{
		case T_HashJoin:
			clauses = list_concat(clauses, ((HashJoin *) plan)->hashclauses);
			return list_concat(clauses, ((Join *) plan)->joinqual);
		case T_MergeJoin:
			clauses = list_concat(clauses, ((MergeJoin *) plan)->mergeclauses);
			return list_concat(clauses, ((Join *) plan)->joinqual);
		case T_NestLoop:
			return list_concat(clauses, ((Join *) plan)->joinqual);
		case T_IndexScan:
			return list_concat(clauses, ((IndexScan *) plan)->indexqualorig);
		case T_IndexOnlyScan:
			return list_concat(clauses, ((IndexOnlyScan *) plan)->indexqual);
		case T_BitmapHeapScan:
			return list_concat(clauses, ((BitmapHeapScan *) plan)->bitmapqualorig);
		case T_FunctionScan:
			return list_concat(clauses, ((FunctionScan *) plan)->functions);
		case T_TableFuncScan:
			return lappend(clauses, ((TableFuncScan *) plan)->tablefunc);
		case T_ValuesScan:
			return list_concat(clauses, ((ValuesScan *) plan)->values_lists);
		default:
			return clauses;
	}
}

List *
tb_plans_as_postgres(List *plans)
{
	List	 *result = NIL;
	ListCell *lc;

	foreach(lc, plans)
		if (lfirst(lc) != NULL)
			result = lappend(result, tb_plan_as_postgres(lfirst(lc)));
	return result;
}

List *
tb_plan_children(Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_SubqueryScan:
			return tb_plans_as_postgres(list_make1(((SubqueryScan *) plan)->subplan));
		case T_Append:
			return tb_plans_as_postgres(((Append *) plan)->appendplans);
		case T_MergeAppend:
			return tb_plans_as_postgres(((MergeAppend *) plan)->mergeplans);
		default:
			return tb_plans_as_postgres(list_make2(plan->lefttree, plan->righttree));
	}
}
