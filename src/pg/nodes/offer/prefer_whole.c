/*
 * prefer_whole.c - see prefer_whole.h. Called where aggregations and sorts are offered.
 *
 * Owns nothing. It must drop no path of PostgreSQL's that has none of our nodes below.
 */
#include "postgres.h"

#include "nodes/extensible.h"

#include "pg/nodes/offer/prefer_whole.h"
#include "pg/planner/cost.h"
#include "pg/planner/postgres/rivals.h"
#include "pg/planner/program/stage.h"
#include "pg/plans/our_nodes.h"
#include "pg/settings/guc.h"

/* add_path() itself takes costs that are 1 % apart for equal. */
#define ABOUT_EQUAL 1.03

/* What a node may cost that keeps the columns which it reads, where another reads the pages
 * too. The pages take the time: on 2 cores, groups of 1 million rows by five columns took
 * as long as a GpuScan of one of them with PostgreSQL's aggregation above (780 and 776 ms,
 * medians of 7), and were charged 1.3 times as much. */
#define KEEPS_COLUMNS 1.4

/* What the path is made of, if that is one input; else NULL. */
static const Path *
input_of(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_AggPath:
			return ((const AggPath *) path)->subpath;
		case T_GroupPath:
			return ((const GroupPath *) path)->subpath;
		case T_UpperUniquePath:
			return ((const UpperUniquePath *) path)->subpath;
		case T_SortPath:
		case T_IncrementalSortPath:
			return ((const SortPath *) path)->subpath;
		case T_ProjectionPath:
			return ((const ProjectionPath *) path)->subpath;
		case T_GatherPath:
			return ((const GatherPath *) path)->subpath;
		case T_GatherMergePath:
			return ((const GatherMergePath *) path)->subpath;
		default:
			return NULL;
	}
}

static bool
stands_on_ours(const Path *path)
{
	while (path != NULL && !tb_node_returns_table_rows(tb_node_kind_of_path(path)))
		path = input_of(path);
	return path != NULL;
}

/* So much more may `whole` cost than the path, of which so much is wanted. `later`: the
 * microseconds of `whole` once all that can be is cached. */
static double
allowed(PlannerInfo *root, const Path *path, Cost wanted, double later)
{
	return tb_cost_is_promising(later, tb_rivals_wanted_us(root, path, wanted)) ?
		KEEPS_COLUMNS :
		ABOUT_EQUAL;
}

void
tb_prefer_whole(PlannerInfo *root, RelOptInfo *rel, List *stages, const Path *whole)
{
	bool	  keeps = tb_guc_enable_cache && tb_stages_stay_cached(stages);
	Cost	  cost = tb_rivals_wanted_cost(root, rel, whole);
	double	  later = tb_stages_us(root, stages, cost, true);
	ListCell *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);
		Cost		wanted;

		if (!stands_on_ours(path))
			continue;
		wanted = tb_rivals_wanted_cost(root, rel, path);
		if (wanted * (keeps ? allowed(root, path, wanted, later) : ABOUT_EQUAL) >= cost)
			rel->pathlist = foreach_delete_current(rel->pathlist, lc);
	}
}
