/*
 * block_index.h - which blocks of a table its indexes can exclude.
 *
 * The answer is a bitmap scan of PostgreSQL's own over the table's indexes that say more
 * than values in an order do: BRIN, GiST, SP-GiST, GIN, of whatever operator classes. It
 * becomes a child of our node: parameters, plan renumbering and privileges are
 * PostgreSQL's then, and so are index conditions that support functions derive, as
 * PostGIS's do. Only the index part is kept, since our node reads the table itself.
 */
#ifndef TURBINE_PG_PLANNER_BLOCK_INDEX_H
#define TURBINE_PG_PLANNER_BLOCK_INDEX_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "pg/planner/cost.h"

typedef struct TbBlockIndex
{
	Path *path; /* a BitmapHeapPath, one of the node's custom_paths */
	Cost  cost; /* of scanning the indexes */
} TbBlockIndex;

/* Whether the table has filters, and any index that may be asked about them. */
extern bool tb_block_index_exists(const RelOptInfo *rel);

/*
 * NULL, if no such index fits the filters of the table or it would not pay. Else
 * `work`, that of reading the whole table, becomes what is left of it.
 */
extern TbBlockIndex *tb_block_index_choose(PlannerInfo *root, RelOptInfo *rel,
										   TbWork *work);

/* What is scanned, of the plan that PostgreSQL made of the path; and *condition, for
 * EXPLAIN: Exprs, implicitly ANDed. */
extern Plan *tb_block_index_plan(Plan *plan, List **condition);

#endif
