/*
 * postgres_time.h - how long PostgreSQL's own plans take, if their tables are in memory.
 *
 * PostgreSQL's costs do not say that. They are proportions, and include a drive's times. At
 * the price of a row, seq_page_cost is worth ten times what a page in memory takes, and
 * random_page_cost thirty times what a page of an index scan takes. It charges
 * cpu_operator_cost for nearly every operator, be it an integer's comparison or a LIKE over
 * a long text, which takes many times as long. Among PostgreSQL's own paths that matters
 * little. But the costs of our paths are times.
 */
#ifndef TURBINE_PG_PLANNER_POSTGRES_POSTGRES_TIME_H
#define TURBINE_PG_PLANNER_POSTGRES_POSTGRES_TIME_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Microseconds for a row that is filtered by these RestrictInfos, in the order in which
 * PostgreSQL evaluates them: a row that one drops does not meet the next. With the walk
 * over the tuple up to the last attribute that they need.
 */
extern double tb_postgres_filters_us(PlannerInfo *root, const RelOptInfo *rel,
									 List *filters);

/* Microseconds of one evaluation of an expression, without the walk over tuples. */
extern double tb_postgres_expression_us(PlannerInfo *root, Node *expr);

/* Processes that share a parallel scan: workers, and the leader as far as PostgreSQL counts
 * on it; `busy`: but not more than there are processors. */
extern double tb_postgres_processes(int workers);
extern double tb_postgres_busy_processes(int workers);

/*
 * Microseconds of a sequential, index, index-only or bitmap scan of a table; of a partial
 * path until all processes are through. Without what is done with the rows. -1: another
 * kind of path.
 */
extern double tb_postgres_scan_us(PlannerInfo *root, RelOptInfo *rel, const Path *path);

/* Pages that a bitmap scan comes to. *rows: those that pass all filters; becomes those that
 * the index finds. */
extern double tb_postgres_bitmap_pages(PlannerInfo *root, RelOptInfo *rel, Path *bitmap,
									   double *rows);

/* Microseconds of making a bitmap of `rows` rows, without the heap scan above it. */
extern double tb_postgres_bitmap_us(const Path *bitmap, double rows);

/* What a Gather adds: the start of its workers, and the rows that come from them. */
extern double tb_postgres_gather_us(double rows);

/* Microseconds of one run of any path, with joins and what stands above them; of a partial
 * path until all its processes are through. */
extern double tb_postgres_plan_us(PlannerInfo *root, const Path *path);

#endif
