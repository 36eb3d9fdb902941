/*
 * join_tree.c - what can be said of a tree, and of its joins, by themselves.
 *
 * PostgreSQL proves of a table that no row has two matches in it. It holds of a joined
 * inner side as well if none of that side's own joins multiplies the table's rows.
 *
 * Owns nothing. Called where trees are read, shaped and become programs.
 */
#include "postgres.h"

#include "optimizer/planmain.h"

#include "pg/planner/join/join_tree.h"

double
tb_join_tree_input_rows(const TbJoinTree *tree)
{
	if (tree->source != NULL)
		return tree->rows;
	return tree->partitions != NULL ? tree->partitions->tuples : tree->probe_side->tuples;
}

bool
tb_join_is_barrier(const TbTreeJoin *join)
{
	return join->kind == TB_JOIN_LEFT || join->kind == TB_JOIN_FULL;
}

int
tb_join_tree_region(const TbJoinTree *tree)
{
	int		  length = 0;
	ListCell *lc;

	foreach(lc, tree->joins)
	{
		if (tb_join_is_barrier(lfirst(lc)))
			break;
		length++;
	}
	return length;
}

/* Whether at most one row comes out of the tree for each row of its probe side. */
static bool
keeps_rows_single(const TbJoinTree *tree)
{
	ListCell *lc;

	foreach(lc, tree->joins)
	{
		const TbTreeJoin *join = lfirst(lc);

		if (join->kind == TB_JOIN_SEMI || join->kind == TB_JOIN_ANTI)
			continue;
		/* A FULL join adds rows. */
		if (join->kind == TB_JOIN_FULL || !join->unique)
			return false;
	}
	return true;
}

Relids
tb_tree_join_add_relids(Relids relids, const TbTreeJoin *join)
{
	relids = bms_add_members(relids, join->inner->relids);
	return bms_add_members(relids, join->outer_joins);
}

bool
tb_join_is_unique(PlannerInfo *root, Relids outer, const TbJoinTree *inner, TbJoinKind kind,
				  List *conditions)
{
	JoinType jointype = kind == TB_JOIN_INNER ? JOIN_INNER : JOIN_LEFT;
	Relids	 joined;
	bool	 unique;

	if (kind == TB_JOIN_SEMI || kind == TB_JOIN_ANTI || !keeps_rows_single(inner))
		return false;
	joined = bms_union(outer, inner->relids);
	unique = innerrel_is_unique(root, joined, outer, inner->probe_side, jointype,
								conditions, false);
	bms_free(joined);
	return unique;
}
