/*
 * plain_path_time.h - how long PostgreSQL's own scan of a table takes, if its pages are
 * in memory.
 *
 * PostgreSQL's costs do not say that. They are proportions, and include a drive's times.
 * At the price of a row, seq_page_cost is worth ten times what a page in memory takes,
 * and random_page_cost thirty times what a page of an index scan takes. Among
 * PostgreSQL's own paths that matters little. But the costs of our paths are times.
 */
#ifndef TURBINE_PG_PLANNER_PLAIN_PATH_TIME_H
#define TURBINE_PG_PLANNER_PLAIN_PATH_TIME_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* Processes that share a parallel scan: workers, and the leader as far as PostgreSQL counts
 * on it; `busy`: but not more than there are processors. */
extern double tb_plain_processes(int workers);
extern double tb_plain_busy_processes(int workers);

/*
 * Microseconds of a sequential, index, index-only or bitmap scan of a table; of a partial
 * path until all processes are through. Without what is done with the rows. -1: another
 * kind of path.
 */
extern double tb_plain_path_us(PlannerInfo *root, RelOptInfo *rel, const Path *path);

/* What a Gather adds: the start of its workers, and the rows that come from them. */
extern double tb_plain_gather_us(double rows);

#endif
