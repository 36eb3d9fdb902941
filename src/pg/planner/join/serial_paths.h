/*
 * serial_paths.h - for each join, PostgreSQL's cheapest path that no parallel
 * worker takes part in: the plan that an accelerated node keeps. Only a subquery may
 * have a Gather within itself.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_SERIAL_PATHS_H
#define TURBINE_PG_PLANNER_JOIN_SERIAL_PATHS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Looks at the paths that the join has so far. Called by the join hook, before
 * anything accelerated is added.
 */
extern void tb_serial_paths_note(PlannerInfo *root, RelOptInfo *joinrel);

/* The cheapest one noted; NULL: none. It is our own: nobody frees it. */
extern Path *tb_serial_path_of(const RelOptInfo *joinrel);

/* What was read of it, which is the same for every node that is offered: NULL at first, or
 * if it was found to be no tree of ours, for `reason`. NULL itself if nothing is noted. */
typedef struct TbReadPath
{
	struct TbJoinTree *tree;
	const char		  *reason; /* or NULL */
} TbReadPath;

extern TbReadPath *tb_serial_path_read(const RelOptInfo *joinrel);

/* The cheapest path of a table or other input without workers and parameters;
 * NULL: there is none. */
extern Path *tb_serial_path_of_input(PlannerInfo *root, RelOptInfo *rel);

#endif
