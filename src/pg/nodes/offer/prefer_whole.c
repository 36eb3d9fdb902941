/*
 * prefer_whole.c - see prefer_whole.h. Called where an aggregation is offered.
 *
 * Owns nothing. It must drop no path of PostgreSQL's that has none of our nodes below.
 */
#include "postgres.h"

#include "nodes/extensible.h"

#include "pg/nodes/offer/prefer_whole.h"
#include "pg/plans/our_nodes.h"

/* add_path() itself takes costs that are 1 % apart for equal. */
#define ABOUT_EQUAL 1.03

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

void
tb_prefer_whole(RelOptInfo *rel, const Path *whole)
{
	ListCell *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);

		if (path->total_cost * ABOUT_EQUAL >= whole->total_cost && stands_on_ours(path))
			rel->pathlist = foreach_delete_current(rel->pathlist, lc);
	}
}
