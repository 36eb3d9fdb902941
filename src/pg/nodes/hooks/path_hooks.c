/*
 * path_hooks.c - where the planner asks for paths.
 *
 * Owns the hooks for relations, joins and upper steps, and the hook of the join search.
 * Each calls the hook that it found first, then the nodes' planning. The join hook only
 * notes paths: a GpuJoin is offered when the search has ended (nodes/join/plan.c says
 * why).
 *
 * Must decide nothing, except whether planning is accelerated at all.
 */
#include "postgres.h"

#include "optimizer/geqo.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "utils/memutils.h"

#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/distinct/gpu_distinct.h"
#include "pg/nodes/join/gpu_join.h"
#include "pg/nodes/rewrite/rewritten_plan.h"
#include "pg/nodes/scan/column_scan.h"
#include "pg/nodes/scan/gpu_scan.h"
#include "pg/nodes/sort/gpu_sort.h"
#include "pg/nodes/hooks/path_hooks.h"
#include "pg/nodes/hooks/plan_passes.h"
#include "pg/planner/planning.h"

static set_rel_pathlist_hook_type	previous_rel_hook = NULL;
static set_join_pathlist_hook_type	previous_join_hook = NULL;
static create_upper_paths_hook_type previous_upper_hook = NULL;
static join_search_hook_type		previous_search_hook = NULL;

static void
add_rel_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	if (previous_rel_hook)
		previous_rel_hook(root, rel, rti, rte);
	if (tb_planning_enabled())
	{
		tb_scan_add_path(root, rel, rte);
		tb_column_scan_add_path(root, rel, rte);
	}
}

static void
add_join_paths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
			   RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	if (previous_join_hook)
		previous_join_hook(root, joinrel, outerrel, innerrel, jointype, extra);
	/* A genetic search makes relations of orders that it only tries in a context of their
	 * own. */
	if (tb_planning_enabled() && CurrentMemoryContext == tb_planning()->join_search)
		tb_join_note_path(root, joinrel);
}

/* As PostgreSQL chooses between its two searches. */
static RelOptInfo *
search_joins(PlannerInfo *root, int levels, List *initial_rels)
{
	TbPlanning	 *planning = tb_planning();
	MemoryContext outer_search = planning->join_search; /* of a query level above */
	RelOptInfo	 *rel;

	planning->join_search = CurrentMemoryContext;
	if (previous_search_hook)
		rel = previous_search_hook(root, levels, initial_rels);
	else if (enable_geqo && levels >= geqo_threshold)
		rel = geqo(root, levels, initial_rels);
	else
		rel = standard_join_search(root, levels, initial_rels);
	planning->join_search = outer_search;
	if (tb_planning_enabled())
		tb_join_add_path(root, rel);
	return rel;
}

static void
add_aggregate_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel,
					GroupPathExtraData *extra)
{
	TbDistinctUse use = tb_gpu_distinct_use(root, output_rel, extra);

	if (use != TB_DISTINCT_NO_USE &&
		tb_gpu_distinct_add_path(root, input_rel, output_rel, extra, use) &&
		use == TB_DISTINCT_NEEDED)
		return;
	/* Of distinct rows, or whole. */
	if (!tb_distinct_input_add_path(root, input_rel, output_rel, extra) &&
		use != TB_DISTINCT_NEEDED)
		(void) tb_preagg_add_path(root, UPPERREL_GROUP_AGG, input_rel, output_rel, extra,
								  false);
}

static void
add_upper_paths(PlannerInfo *root, UpperRelationKind step, RelOptInfo *input_rel,
				RelOptInfo *output_rel, void *extra)
{
	if (previous_upper_hook)
		previous_upper_hook(root, step, input_rel, output_rel, extra);
	if (!tb_planning_enabled())
		return;
	if (step == UPPERREL_GROUP_AGG)
		add_aggregate_paths(root, input_rel, output_rel, extra);
	else if (step == UPPERREL_DISTINCT)
		(void) tb_preagg_add_path(root, step, input_rel, output_rel, extra, false);
	if (step == UPPERREL_FINAL)
	{
		tb_distinct_branch_add_path(root, input_rel, output_rel);
		tb_subquery_time_note(root, output_rel);
		tb_append_relations_note(root);
	}
	tb_sort_add_path(root, step, input_rel, output_rel);
}

void
tb_path_hooks_init(void)
{
	previous_rel_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = add_rel_paths;
	previous_join_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = add_join_paths;
	previous_search_hook = join_search_hook;
	join_search_hook = search_joins;
	previous_upper_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_upper_paths;
}
