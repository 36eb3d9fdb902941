/*
 * brin_path.h - which blocks of a table BRIN indexes can exclude.
 *
 * The answer is a bitmap scan of PostgreSQL's own over the table's BRIN indexes, of
 * whatever operator classes, which becomes a child of our node: parameters, plan
 * renumbering and privileges are PostgreSQL's then. Only its index part is kept,
 * since our node reads the table itself.
 */
#ifndef TURBINE_PG_PLANNER_BRIN_PATH_H
#define TURBINE_PG_PLANNER_BRIN_PATH_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "pg/planner/cost.h"

typedef struct TbBrinPath
{
	Path *path; /* a BitmapHeapPath, one of the node's custom_paths */
	Cost  cost; /* of scanning the indexes */
} TbBrinPath;

/*
 * NULL, if no BRIN index fits the filters of the table or it would not pay. Else
 * `work`, that of reading the whole table, becomes what is left of it.
 */
extern TbBrinPath *tb_brin_path_choose(PlannerInfo *root, RelOptInfo *rel, TbWork *work);

/* What is scanned, of the plan that PostgreSQL made of the path; and *condition, for
 * EXPLAIN: Exprs, implicitly ANDed. */
extern Plan *tb_brin_index_plan(Plan *plan, List **condition);

#endif
