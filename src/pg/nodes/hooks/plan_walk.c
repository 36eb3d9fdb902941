/*
 * plan_walk.c - see plan_walk.h. Called by what mends finished plans.
 *
 * Owns nothing. Bitmap scans' trees have no nodes that anybody here looks for.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/extensible.h"

#include "pg/nodes/hooks/plan_walk.h"

typedef struct Walk
{
	TbPlanVisitor visit;
	void		 *context;
} Walk;

static void walk_plan(Plan *plan, const Walk *walk);

static void
walk_plans(List *plans, const Walk *walk)
{
	ListCell *lc;

	foreach(lc, plans)
		walk_plan(lfirst(lc), walk);
}

static void
walk_plan(Plan *plan, const Walk *walk)
{
	if (plan == NULL)
		return;
	check_stack_depth();
	walk->visit(plan, walk->context);
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			walk_plans(((CustomScan *) plan)->custom_plans, walk);
			break;
		case T_SubqueryScan:
			walk_plan(((SubqueryScan *) plan)->subplan, walk);
			break;
		case T_Append:
			walk_plans(((Append *) plan)->appendplans, walk);
			break;
		case T_MergeAppend:
			walk_plans(((MergeAppend *) plan)->mergeplans, walk);
			break;
		default:
			break;
	}
	walk_plan(plan->lefttree, walk);
	walk_plan(plan->righttree, walk);
}

void
tb_walk_plan(PlannedStmt *stmt, TbPlanVisitor visit, void *context)
{
	Walk walk = {visit, context};

	walk_plan(stmt->planTree, &walk);
	walk_plans(stmt->subplans, &walk);
}
