/*
 * plan_rivals.h - GpuJoin, GpuPreAgg and GpuSort beside PostgreSQL's own plans for the
 * same, compared by times.
 */
#ifndef TURBINE_PG_NODES_OFFER_PLAN_RIVALS_H
#define TURBINE_PG_NODES_OFFER_PLAN_RIVALS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Raises what a path of ours for `rel` costs, if PostgreSQL's own plan would be faster, so
 * that the planner takes that. `stages`: of the node. Asked when PostgreSQL's paths are in
 * the relation, and before the path itself is.
 */
extern void tb_plan_rivals_bound(PlannerInfo *root, const RelOptInfo *rel, List *stages,
								 Path *path);

/*
 * Whether any node over the `input` (a table or a join) could be faster than the rivals in
 * `rel`, for all that is known before it is planned. Planning one that is not taken is
 * time lost.
 */
extern bool tb_plan_rivals_leave_room(PlannerInfo *root, const RelOptInfo *rel,
									  const RelOptInfo *input);

/* Whether the joined rows are what the query returns, more or less: else it groups them, or
 * wants only some, and workers would do that before they send any. */
extern bool tb_returns_joined_rows(const PlannerInfo *root);

#endif
