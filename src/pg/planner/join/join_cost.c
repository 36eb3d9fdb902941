/*
 * join_cost.c - see join_cost.h. Called by join_shape.c and join_region.c.
 *
 * Counts rows: those that are read, those that become a join table, those that look into
 * one, those that are looked at, and those that come out. It decides nothing.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "pg/planner/cost.h"
#include "pg/planner/join/join_cost.h"
#include "pg/planner/join/join_keys.h"

double
tb_join_selectivity(PlannerInfo *root, List *clauses, Relids outer, Relids inner)
{
	SpecialJoinInfo sides = {.type = T_SpecialJoinInfo,
							 .min_lefthand = outer,
							 .min_righthand = inner,
							 .syn_lefthand = outer,
							 .syn_righthand = inner,
							 .jointype = JOIN_INNER};

	return clauselist_selectivity(root, clauses, 0, JOIN_INNER, &sides);
}

double
tb_rejected_rows(double rows, double selectivity)
{
	/* Of conditions that nothing is said to pass, none is believed. */
	return rows / Max(selectivity, 0.0001) - rows;
}

void
tb_join_tree_estimate(PlannerInfo *root, TbJoinTree *tree)
{
	Relids	  joined = bms_copy(tree->probe_side->relids);
	double	  rows = tree->probe_side->rows;
	ListCell *lc;

	foreach(lc, tree->joins)
	{
		TbTreeJoin		 *join = lfirst(lc);
		const RelOptInfo *known;

		tb_join_tree_estimate(root, join->inner);
		joined = bms_add_members(joined, join->inner->relids);
		known = find_join_rel(root, joined);
		rows = known != NULL ? known->rows : clamp_row_est(rows * join->fraction);
		join->rows = rows;
	}
	tree->rows = rows;
	bms_free(joined);
}

/* Whether the condition finds rows of the inner side by a key. */
static bool
is_key(const RestrictInfo *rinfo, Relids outer, Relids inner)
{
	if (!tb_join_key_clause(rinfo))
		return false;
	return (bms_is_subset(rinfo->left_relids, outer) &&
			bms_is_subset(rinfo->right_relids, inner)) ||
		(bms_is_subset(rinfo->right_relids, outer) &&
		 bms_is_subset(rinfo->left_relids, inner));
}

static int
count_keys(const TbTreeJoin *join, Relids outer)
{
	int		  count = 0;
	ListCell *lc;

	foreach(lc, join->conditions)
		if (is_key(lfirst(lc), outer, join->inner->relids))
			count++;
	return count;
}

/* Rows of the join table that are looked at without coming out. */
static double
rejected_rows(PlannerInfo *root, const TbTreeJoin *join, Relids outer, double rows)
{
	List	 *others = NIL;
	ListCell *lc;

	foreach(lc, join->conditions)
		if (!is_key(lfirst(lc), outer, join->inner->relids))
			others = lappend(others, lfirst(lc));
	if (list_length(others) == list_length(join->conditions))
		return Max(rows * join->inner->rows - join->rows, 0);
	if (others == NIL || join->kind != TB_JOIN_INNER)
		return 0;
	return tb_rejected_rows(join->rows,
							tb_join_selectivity(root, others, outer, join->inner->relids));
}

TbShapeCost
tb_join_tree_cost(PlannerInfo *root, const TbJoinTree *tree)
{
	TbShapeCost cost = {.ns = tb_cost_scan_ns(tb_join_tree_input_rows(tree))};
	double		rows = tree->probe_side->rows;
	Relids		outer = bms_copy(tree->probe_side->relids);
	ListCell   *lc;

	foreach(lc, tree->joins)
	{
		const TbTreeJoin *join = lfirst(lc);
		TbShapeCost		  inner = tb_join_tree_cost(root, join->inner);

		cost.ns += inner.ns + tb_cost_build_ns(join->inner->rows) +
			tb_cost_probe_ns(rows, count_keys(join, outer),
							 rejected_rows(root, join, outer, rows), join->rows);
		cost.joined += inner.joined;
		/* Of its last join, too: they become a join table. */
		if (join->inner->joins != NIL)
			cost.joined += join->inner->rows;
		if (lnext(tree->joins, lc) != NULL)
			cost.joined += join->rows;
		outer = bms_add_members(outer, join->inner->relids);
		rows = join->rows;
	}
	bms_free(outer);
	return cost;
}
