/*
 * rivals.h - nodes of ours beside PostgreSQL's own plans for the same, compared by times.
 */
#ifndef TURBINE_PG_PLANNER_POSTGRES_RIVALS_H
#define TURBINE_PG_PLANNER_POSTGRES_RIVALS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "pg/planner/cost.h"

/*
 * Raises what a path of ours for `rel` costs, if PostgreSQL's own plan would be faster, so
 * that the planner takes that. `stages`: of the node. Asked when PostgreSQL's paths are in
 * the relation, and before the path itself is.
 */
extern void tb_rivals_bound(PlannerInfo *root, const RelOptInfo *rel, List *stages,
							Path *path);

/* What the rows that the query wants of the path cost: a LIMIT right above it leaves out
 * the others. */
extern Cost	  tb_rivals_wanted_cost(const PlannerInfo *root, const RelOptInfo *rel,
									const Path *path);
/* The microseconds of what is wanted of a path of PostgreSQL's nodes. */
extern double tb_rivals_wanted_us(PlannerInfo *root, const Path *path, Cost wanted);

/*
 * Whether any node over the `input` (a table or a join) could be faster than the rivals in
 * `rel`, for all that is known before it is planned. Planning one that is not taken is
 * time lost.
 */
extern bool tb_rivals_leave_room(PlannerInfo *root, const RelOptInfo *rel,
								 const RelOptInfo *input);

/*
 * The least that a GpuScan may cost that does this work, so that PostgreSQL does not take
 * it where its own path is faster. It forms rows in so many processes, and evaluates the
 * `others` (RestrictInfo) of the table's filters on those that come back. `workers`: of its
 * partial path, or 0. Asked before any path of ours is added.
 */
extern Cost tb_rivals_bound_scan(PlannerInfo *root, RelOptInfo *rel, const TbWork *work,
								 const TbProgram *program, List *others, int workers);

/*
 * Whether a GpuScan would be a gamble: joins, or functions of its rows, are left to
 * PostgreSQL, whose own scan would have workers, and how many rows come back nobody knows,
 * since most of the table is newer than its statistics.
 */
extern bool tb_rivals_gamble_of_scan(PlannerInfo *root, RelOptInfo *rel, Oid relid);

#endif
