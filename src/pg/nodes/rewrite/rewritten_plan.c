/*
 * rewritten_plan.c - see rewritten_plan.h.
 *
 * What PostgreSQL charges for the index scan of a subquery, once for each outer row, is
 * many times what it takes if the pages are in memory (postgres_time.h). So what nodes
 * with such subqueries are charged counts as much shorter as the subqueries are: an error
 * is in favour of the query as it was written.
 *
 * Owns nothing. Must not change a plan. Called by the planner's hooks.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"

#include "pg/nodes/rewrite/rewritten_plan.h"
#include "pg/planner/cost.h"
#include "pg/planner/planning.h"
#include "pg/planner/postgres/postgres_time.h"
#include "pg/source/heap/feeders/feeder_count.h"
#include "pg/settings/guc.h"
#include "pg/plans/our_nodes.h"
#include "pg/plans/plan_walk.h"
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

/* Of what the subquery is charged, the part that it takes; 1 if that is not known. */
static double
time_share(PlannerInfo *root)
{
	RelOptInfo *final = fetch_upper_rel(root, UPPERREL_FINAL, NULL);
	const Path *path = final->cheapest_total_path;
	double		us;

	if (path == NULL || path->total_cost <= 0)
		return 1;
	us = tb_postgres_plan_us(root, path);
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
	TbSubqueryTime *time = tb_planning()->subquery_time;
	ListCell	   *lc;

	if (time == NULL || root->parent_root != NULL || final_rel->pathlist == NIL)
		return;
	time->us = tb_postgres_plan_us(root, cheapest(final_rel->pathlist));
	foreach(lc, root->glob->subroots)
	{
		PlannerInfo *subroot = lfirst(lc);
		double		 share;

		if (!subroot->parse->hasAggs || subroot->parse->groupClause != NIL)
			continue;
		share = time_share(subroot);
		if (time->share == 0 || share < time->share)
			time->share = share;
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

/* Adds what a node with such a subquery is charged for itself. What is below an Append or a
 * node of ours counts as it is charged. */
static bool
add_charge_for_subqueries(Plan *plan, void *charged)
{
	Cost children = 0;

	if (plan->lefttree != NULL)
		children += plan->lefttree->total_cost;
	if (plan->righttree != NULL)
		children += plan->righttree->total_cost;
	if (has_correlated_subplan((Node *) plan->qual, NULL) ||
		has_correlated_subplan((Node *) plan->targetlist, NULL) ||
		((IsA(plan, NestLoop) || IsA(plan, HashJoin) || IsA(plan, MergeJoin)) &&
		 has_correlated_subplan((Node *) ((const Join *) plan)->joinqual, NULL)))
		*(Cost *) charged += Max(plan->total_cost - children, 0);
	return !IsA(plan, CustomScan) && !IsA(plan, Append) && !IsA(plan, MergeAppend);
}

static double
written_us(const PlannedStmt *written, const TbSubqueryTime *time)
{
	double share = time->share > 0 ? time->share : 1;
	Cost   charged = 0;
	double shorter;

	tb_walk_plan(written->planTree, add_charge_for_subqueries, &charged);
	shorter = charged * TB_US_PER_UNIT * (1 - share);
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

static bool
find_node_of_ours(Plan *plan, void *found)
{
	if (tb_node_kind(plan) != TB_NODE_NONE)
		*(bool *) found = true;
	return !*(bool *) found;
}

static bool
has_node_of_ours(const PlannedStmt *stmt)
{
	bool found = false;

	tb_walk_statement((PlannedStmt *) stmt, find_node_of_ours, &found);
	return found;
}

/* What the programs of our nodes are charged that their times leave out, see stage.h. */
typedef struct Overcharge
{
	bool   later;
	double us;
} Overcharge;

static bool
add_overcharge(Plan *plan, void *context)
{
	Overcharge		 *sum = context;
	const CustomScan *node = (const CustomScan *) plan;
	TbNodeKind		  kind = tb_node_kind(plan);
	int				  nstages = kind != TB_NODE_NONE && kind != TB_NODE_DISTINCT ?
					  tb_private_nstages(node) :
					  0;

	for (int i = 0; i < nstages; i++)
	{
		TbStageInfo info = tb_private_stage(node, i);

		sum->us += tb_stage_overcharged_us(&info.work, i == nstages - 1, sum->later);
	}
	return true;
}

static double
overcharged_us(const PlannedStmt *stmt, bool later)
{
	Overcharge sum = {.later = later};

	tb_walk_statement((PlannedStmt *) stmt, add_overcharge, &sum);
	return sum.us;
}

/* Like a node's own, it may take a little longer now where it is much faster later. */
static double
rewritten_us(const PlannedStmt *rewritten, double rival_us)
{
	double us = rewritten->planTree->total_cost * TB_US_PER_UNIT;
	double now = us - overcharged_us(rewritten, false);
	double later = us - overcharged_us(rewritten, true);

	return tb_cost_weighed_us(now, later, rival_us);
}

bool
tb_rewritten_plan_wins(const PlannedStmt *rewritten, const PlannedStmt *written,
					   const TbSubqueryTime *time)
{
	double us = written_us(written, time);
	bool   ours = has_node_of_ours(rewritten);

	if (tb_guc_debug_force_offload)
		return ours;
	if (!ours &&
		rewritten->planTree->total_cost >= written->planTree->total_cost * MUCH_CHEAPER)
		return false;
	return rewritten_us(rewritten, us) < us * CLEARLY_FASTER;
}
