/*
 * plain_rivals.h - GpuScan beside PostgreSQL's own scans of the table, compared by times.
 */
#ifndef TURBINE_PG_NODES_SCAN_PLAIN_RIVALS_H
#define TURBINE_PG_NODES_SCAN_PLAIN_RIVALS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "pg/planner/cost.h"

/*
 * The least that a GpuScan may cost that does this work, so that PostgreSQL does not take
 * it where its own path is faster. It forms rows in so many processes, and evaluates the
 * `others` (RestrictInfo) of the table's filters on those that come back. `workers`: of its
 * partial path, or 0. Asked before any path of ours is added.
 */
extern Cost tb_plain_rivals_bound(PlannerInfo *root, RelOptInfo *rel, const TbWork *work,
								  List *others, int workers);

/*
 * Whether a GpuScan would be a gamble: joins, or functions of its rows, are left to
 * PostgreSQL, whose own scan would have workers, and how many rows come back nobody knows,
 * since most of the table is newer than its statistics.
 */
extern bool tb_plain_rivals_gamble(PlannerInfo *root, RelOptInfo *rel, Oid relid);

#endif
