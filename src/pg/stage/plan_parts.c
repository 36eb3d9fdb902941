/*
 * plan_parts.c - see plan_parts.h. Called by first_row.c and first_row_seek.c; plans are
 * never changed.
 *
 * Owns nothing; copies are made where a scan of ours is shown as PostgreSQL's.
 */
#include "postgres.h"

#include "nodes/extensible.h"

#include "pg/stage/plan_parts.h"
#include "pg/stage/plan_private.h"

Plan *
tb_plan_as_postgres(Plan *plan)
{
	CustomScan *ours = (CustomScan *) plan;
	SeqScan	   *scan;

	if (plan == NULL || !IsA(plan, CustomScan) ||
		strcmp(ours->methods->CustomName, TB_GPU_SCAN_NAME) != 0)
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
