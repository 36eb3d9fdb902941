/*
 * join_unique.c - see join_unique.h. Called where a join gets its sides: join_tree.c,
 * join_shape.c.
 *
 * PostgreSQL proves it of a table. It holds of a joined inner side as well if none of that
 * side's own joins multiplies the table's rows.
 */
#include "postgres.h"

#include "optimizer/planmain.h"

#include "pg/planner/join/join_unique.h"

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
