/*
 * hash_join_order.c - see hash_join_order.h. Called with every finished plan.
 *
 * Owns nothing. It changes startup costs in the finished plan, which decide one thing in
 * the executor, and must change no plan's shape.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "pg/nodes/hooks/hash_join_order.h"
#include "pg/plans/our_nodes.h"
#include "pg/plans/plan_walk.h"

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
			return tb_node_returns_table_rows(tb_node_kind(plan)) ? plan->startup_cost : 0;
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

/* Nodes come before those below them, which must still say what they add above. */
static bool
order_join(Plan *plan, void *context)
{
	Plan *outer = plan->lefttree;
	Cost  startup;

	if (!IsA(plan, HashJoin))
		return true;
	startup = outer->startup_cost - added_startup(outer);
	if (startup < plan->righttree->total_cost &&
		outer->startup_cost >= plan->righttree->total_cost)
		outer->startup_cost = Max(startup, 0);
	return true;
}

void
tb_hash_join_order(PlannedStmt *stmt)
{
	tb_walk_statement(stmt, order_join, NULL);
}
