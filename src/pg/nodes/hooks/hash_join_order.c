/*
 * hash_join_order.c - see hash_join_order.h. Called with every finished plan.
 *
 * Owns nothing. It changes startup costs in the finished plan, which decide one thing in
 * the executor, and must change no plan's shape.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/extensible.h"

#include "pg/nodes/hooks/hash_join_order.h"
#include "pg/stage/plan_private.h"

/* What nodes of ours add to the plan's startup cost. */
static Cost
added_startup(const Plan *plan)
{
	if (plan == NULL)
		return 0;
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_CustomScan:
		{
			const char *name = ((const CustomScan *) plan)->methods->CustomName;

			return strcmp(name, TB_GPU_SCAN_NAME) == 0 ||
					strcmp(name, TB_GPU_JOIN_NAME) == 0 ?
				plan->startup_cost :
				0;
		}
		case T_HashJoin:
		case T_Material:
		case T_Memoize:
		case T_Result:
		case T_Unique:
		case T_Group:
		case T_Limit:
		case T_LockRows:
			return added_startup(plan->lefttree);
		case T_NestLoop:
		case T_MergeJoin:
			return added_startup(plan->lefttree) + added_startup(plan->righttree);
		case T_SubqueryScan:
			return added_startup(((const SubqueryScan *) plan)->subplan);
		case T_Append:
			return added_startup(linitial(((const Append *) plan)->appendplans));
		default:
			return 0; /* it starts when its input has ended, or knows none of ours */
	}
}

static void order_plan(Plan *plan);

static void
order_plans(List *plans)
{
	ListCell *lc;

	foreach(lc, plans)
		order_plan(lfirst(lc));
}

static void
order_plan(Plan *plan)
{
	if (plan == NULL)
		return;
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			order_plans(((CustomScan *) plan)->custom_plans);
			break;
		case T_SubqueryScan:
			order_plan(((SubqueryScan *) plan)->subplan);
			break;
		case T_Append:
			order_plans(((Append *) plan)->appendplans);
			break;
		case T_MergeAppend:
			order_plans(((MergeAppend *) plan)->mergeplans);
			break;
		case T_HashJoin:
		{
			Plan *outer = plan->lefttree;
			Cost  startup = outer->startup_cost - added_startup(outer);

			if (startup < plan->righttree->total_cost &&
				outer->startup_cost >= plan->righttree->total_cost)
				outer->startup_cost = Max(startup, 0);
			break;
		}
		default:
			break;
	}
	/* Last: what is below must still say what it adds above. */
	order_plan(plan->lefttree);
	order_plan(plan->righttree);
}

void
tb_hash_join_order(PlannedStmt *stmt)
{
	order_plan(stmt->planTree);
	order_plans(stmt->subplans);
}
