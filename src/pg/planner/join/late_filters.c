/*
 * late_filters.c - see late_filters.h.
 *
 * Called by join_program.c, which finds late filters, and by the analysis of aggregations,
 * which apply them.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"

#include "pg/planner/join/late_filters.h"

/* Filters that are estimated to let less pass say that nothing is known. */
#define LEAST_PASSING 1e-6

bool
tb_must_follow_late_filters(const RestrictInfo *rinfo, const List *late_filters)
{
	ListCell *lc;

	foreach(lc, late_filters)
		if (rinfo->security_level > lfirst_node(RestrictInfo, lc)->security_level &&
			!rinfo->leakproof)
			return true;
	return false;
}

double
tb_late_filters_factor(PlannerInfo *root, List *late_filters)
{
	double passing = clauselist_selectivity(root, late_filters, 0, JOIN_INNER, NULL);

	return 1 / Max(passing, LEAST_PASSING);
}
