/*
 * plain_path_time.h - how long PostgreSQL's own scan of a table takes, if its pages are in
 * memory.
 *
 * PostgreSQL's costs do not say that. They are proportions, with a drive's in them: a page
 * that is in memory takes it a tenth of what seq_page_cost is worth at the cost of a row,
 * and a page of an index scan a thirtieth. Among its own paths that matters little, but we
 * are beside them with times.
 */
#ifndef TURBINE_PG_PLAIN_PATH_TIME_H
#define TURBINE_PG_PLAIN_PATH_TIME_H

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
