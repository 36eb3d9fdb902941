/*
 * rewritten_plan.c - see rewritten_plan.h.
 *
 * What PostgreSQL charges for the index scan of a subquery, once for each outer row, is
 * many times what it takes if the pages are in memory (plain_path_time.h). So what nodes
 * with such subqueries are charged counts as much shorter as the subqueries are: an error
 * is in favour of the query as it was written.
 *
 * Owns whose time is watched. Must not change a plan. Called by the planner's hooks.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"

#include "pg/nodes/rewrite/rewritten_plan.h"
#include "pg/planner/cost.h"
#include "pg/planner/plain_plan_time.h"
#include "pg/source/heap/feeders/feeder_count.h"
#include "pg/settings/guc.h"
#include "pg/stage/plan_private.h"

/* What planning takes for each of a query's tables with nodes of ours, and the share of the
 * query's time that the second one may take. */
#define PLANNING_US_OF_TABLE 350.0
#define PLANNING_SHARE 0.02

/* A rewritten plan must take less than this share of the other's time. */
#define CLEARLY_FASTER 0.8

/* One without a node of ours must cost less than this share of the other, too: both costs
 * are PostgreSQL's, and only where they differ much it is left to estimates of groups. */
#define MUCH_CHEAPER 0.33

static TbSubqueryTime *watched = NULL;

TbSubqueryTime *
tb_subquery_time_watch(TbSubqueryTime *time)
{
	TbSubqueryTime *before = watched;

	watched = time;
	return before;
}

/* Of what the subquery is charged, the part that it takes; 1 if that is not known. */
static double
time_share(PlannerInfo *root)
{
	RelOptInfo *final = fetch_upper_rel(root, UPPERREL_FINAL, NULL);
	const Path *path = final->cheapest_total_path;
	double		us;

	if (path == NULL || path->total_cost <= 0)
		return 1;
	us = tb_plain_plan_us(root, path);
	return us > 0 ? Min(us / (path->total_cost * TB_US_PER_UNIT), 1) : 1;
}

static const Path *
cheapest(const List *paths)
{
	const Path *best = NULL;
	ListCell   *lc;

	foreach(lc, paths)
		if (best == NULL || ((const Path *) lfirst(lc))->total_cost < best->total_cost)
			best = lfirst(lc);
	return best;
}

void
tb_subquery_time_note(PlannerInfo *root, const RelOptInfo *final_rel)
{
	ListCell *lc;

	if (watched == NULL || root->parent_root != NULL || final_rel->pathlist == NIL)
		return;
	watched->us = tb_plain_plan_us(root, cheapest(final_rel->pathlist));
	foreach(lc, root->glob->subroots)
	{
		PlannerInfo *subroot = lfirst(lc);
		double		 share;

		if (!subroot->parse->hasAggs || subroot->parse->groupClause != NIL)
			continue;
		share = time_share(subroot);
		if (watched->share == 0 || share < watched->share)
			watched->share = share;
	}
}

/* Whether the expression has a subquery that runs for each row. */
static bool
has_correlated_subplan(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) && ((SubPlan *) node)->parParam != NIL)
		return true;
	return expression_tree_walker(node, has_correlated_subplan, context);
}

/* What nodes with such a subquery are charged for themselves. */
static Cost
charged_for_subqueries(const Plan *plan)
{
	Cost children = 0;
	Cost charged = 0;

	if (plan == NULL)
		return 0;
	check_stack_depth();
	if (plan->lefttree != NULL)
		children += plan->lefttree->total_cost;
	if (plan->righttree != NULL)
		children += plan->righttree->total_cost;
	if (has_correlated_subplan((Node *) plan->qual, NULL) ||
		has_correlated_subplan((Node *) plan->targetlist, NULL) ||
		((IsA(plan, NestLoop) || IsA(plan, HashJoin) || IsA(plan, MergeJoin)) &&
		 has_correlated_subplan((Node *) ((const Join *) plan)->joinqual, NULL)))
		charged = Max(plan->total_cost - children, 0);
	if (IsA(plan, SubqueryScan))
		charged += charged_for_subqueries(((const SubqueryScan *) plan)->subplan);
	return charged + charged_for_subqueries(plan->lefttree) +
		charged_for_subqueries(plan->righttree);
}

static double
written_us(const PlannedStmt *written, const TbSubqueryTime *time)
{
	double share = time->share > 0 ? time->share : 1;
	double shorter = charged_for_subqueries(written->planTree) * TB_US_PER_UNIT *
		(1 - share);

	return Max(time->us - shorter, time->us * share);
}

static double
planning_us(const PlannedStmt *written)
{
	int		  tables = 0;
	ListCell *lc;

	foreach(lc, written->rtable)
		tables += lfirst_node(RangeTblEntry, lc)->rtekind == RTE_RELATION;
	return PLANNING_US_OF_TABLE * tables;
}

bool
tb_written_plan_is_slow(const PlannedStmt *written, const TbSubqueryTime *time)
{
	return tb_guc_debug_force_offload ||
		written_us(written, time) * PLANNING_SHARE > planning_us(written);
}

static bool has_node_of_ours(const Plan *plan);

static bool
some_has_node_of_ours(const List *plans)
{
	ListCell *lc;

	foreach(lc, plans)
		if (has_node_of_ours(lfirst(lc)))
			return true;
	return false;
}

static bool
has_node_of_ours(const Plan *plan)
{
	if (plan == NULL)
		return false;
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			if (tb_node_kind(plan) != TB_NODE_NONE ||
				some_has_node_of_ours(((const CustomScan *) plan)->custom_plans))
				return true;
			break;
		case T_SubqueryScan:
			return has_node_of_ours(((const SubqueryScan *) plan)->subplan);
		case T_Append:
			return some_has_node_of_ours(((const Append *) plan)->appendplans);
		case T_MergeAppend:
			return some_has_node_of_ours(((const MergeAppend *) plan)->mergeplans);
		default:
			break;
	}
	return has_node_of_ours(plan->lefttree) || has_node_of_ours(plan->righttree);
}

/* What the programs of our nodes are charged that their times leave out, see stage.h. */
static double overcharged_us(const Plan *plan, bool later);

static double
overcharged_us_of_all(const List *plans, bool later)
{
	double	  us = 0;
	ListCell *lc;

	foreach(lc, plans)
		us += overcharged_us(lfirst(lc), later);
	return us;
}

static double
overcharged_us_of_node(const CustomScan *node, bool later)
{
	int	   nstages = tb_node_kind((const Plan *) node) != TB_NODE_NONE ?
		   tb_private_nstages(node) :
		   0;
	double us = overcharged_us_of_all(node->custom_plans, later);

	for (int i = 0; i < nstages; i++)
	{
		TbStageInfo info = tb_private_stage(node, i);

		us += tb_stage_overcharged_us(&info.work, i == nstages - 1, later);
	}
	return us;
}

static double
overcharged_us(const Plan *plan, bool later)
{
	double us = 0;

	if (plan == NULL)
		return 0;
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			us = overcharged_us_of_node((const CustomScan *) plan, later);
			break;
		case T_SubqueryScan:
			us = overcharged_us(((const SubqueryScan *) plan)->subplan, later);
			break;
		case T_Append:
			us = overcharged_us_of_all(((const Append *) plan)->appendplans, later);
			break;
		case T_MergeAppend:
			us = overcharged_us_of_all(((const MergeAppend *) plan)->mergeplans, later);
			break;
		default:
			break;
	}
	return us + overcharged_us(plan->lefttree, later) +
		overcharged_us(plan->righttree, later);
}

/* Like a node's own, it may take a little longer now where it is much faster later. */
static double
rewritten_us(const PlannedStmt *rewritten, double rival_us)
{
	double us = rewritten->planTree->total_cost * TB_US_PER_UNIT;
	double now = us - overcharged_us(rewritten->planTree, false) -
		overcharged_us_of_all(rewritten->subplans, false);
	double later = us - overcharged_us(rewritten->planTree, true) -
		overcharged_us_of_all(rewritten->subplans, true);

	return tb_cost_weighed_us(now, later, rival_us);
}

bool
tb_rewritten_plan_wins(const PlannedStmt *rewritten, const PlannedStmt *written,
					   const TbSubqueryTime *time)
{
	double us = written_us(written, time);
	bool   ours = has_node_of_ours(rewritten->planTree) ||
		some_has_node_of_ours(rewritten->subplans);

	if (tb_guc_debug_force_offload)
		return ours;
	if (!ours &&
		rewritten->planTree->total_cost >= written->planTree->total_cost * MUCH_CHEAPER)
		return false;
	return rewritten_us(rewritten, us) < us * CLEARLY_FASTER;
}
