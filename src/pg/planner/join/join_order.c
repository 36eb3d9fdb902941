/*
 * join_order.c - the order of the joins that one stream goes through, see join_order.h.
 *
 * Whatever the order, the tables are built; so what counts is how many rows are left for
 * the next probe: joins that drop most come first, those that multiply rows last. This is
 * the order of stars, and of everything that is not searched. INNER, SEMI and ANTI joins
 * commute, as long as what a condition refers to has been joined before it. Nothing moves
 * past a LEFT or FULL join.
 *
 * Owns nothing. Called by join_shape.c.
 */
#include "postgres.h"

#include "pg/planner/join/join_order.h"

/* Have the joins that its conditions refer to been done? */
static bool
is_ready(const TbTreeJoin *join, Relids joined)
{
	Relids	  known = bms_union(joined, join->inner->relids);
	bool	  ready = true;
	ListCell *lc;

	foreach(lc, join->conditions)
		if (!bms_is_subset(lfirst_node(RestrictInfo, lc)->clause_relids, known))
			ready = false;
	bms_free(known);
	return ready;
}

/* The join to do next: of those that are ready up to the next LEFT or FULL join, the one
 * that leaves fewest rows; the first of equals. */
static TbTreeJoin *
choose_next(List *waiting, Relids joined)
{
	TbTreeJoin *best = NULL;
	ListCell   *lc;

	foreach(lc, waiting)
	{
		TbTreeJoin *join = lfirst(lc);

		if (tb_join_is_barrier(join))
			return best == NULL ? join : best;
		if (is_ready(join, joined) && (best == NULL || join->fraction < best->fraction))
			best = join;
	}
	return best;
}

List *
tb_joins_in_order(const List *joins, Relids joined)
{
	List *waiting = list_copy(joins);
	List *ordered = NIL;

	joined = bms_copy(joined);
	while (waiting != NIL)
	{
		TbTreeJoin *join = choose_next(waiting, joined);

		/* In PostgreSQL's order each is ready when its turn comes. */
		Assert(join != NULL);
		joined = tb_tree_join_add_relids(joined, join);
		waiting = list_delete_ptr(waiting, join);
		ordered = lappend(ordered, join);
	}
	return ordered;
}
