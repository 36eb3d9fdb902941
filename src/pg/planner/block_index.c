/*
 * block_index.c - see block_index.h.
 *
 * By the time we are asked, PostgreSQL has made its index paths, and freed those that
 * lost. So it makes them once more, for a copy of the table that has no indexes but
 * those that are asked for blocks, and no clauses but its own filters: what comes out
 * does not depend on other tables. The copies of the indexes return nothing but bitmaps,
 * or a cheaper index scan would take the place of the path that is wanted. Filters that
 * the indexes cannot use do not hinder, for every row is filtered by us in any case.
 */
#include "postgres.h"

#include "catalog/pg_am.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"

#include "pg/planner/block_index.h"
#include "pg/planner/postgres/postgres_time.h"
#include "pg/settings/guc.h"
#include "pg/source/heap/feeders/feeder_count.h"

/*
 * PostgreSQL's estimate of the ranges that match rests on the correlation of values
 * and blocks, and takes all of them where it knows none, as in columns that were
 * never analyzed, or are clustered without being ordered. Of shapes it knows no
 * correlation at all. An index that costs so little of the scan is looked at even if
 * nothing is expected of it.
 */
#define CHEAP_FRACTION 0.03

/* What a page that does not follow the one before takes more than one that does. */
#define SCATTERED_PAGE_US 0.7

/*
 * B-trees and hash indexes are left out. A condition that they answer is one that
 * PostgreSQL's own index scans are good at if it leaves few rows. If it leaves many, zones
 * of cached columns leave out the same blocks without a look at an index; and nearly every
 * table has such an index, so that each planning would pay.
 */
static bool
tells_blocks(const IndexOptInfo *index)
{
	if (index->hypothetical || !index->amhasgetbitmap)
		return false;
	if (index->relam == BRIN_AM_OID)
		return tb_guc_enable_brin;
	return tb_guc_enable_block_indexes && index->relam != BTREE_AM_OID &&
		index->relam != HASH_AM_OID;
}

bool
tb_block_index_exists(const RelOptInfo *rel)
{
	ListCell *lc;

	if (!enable_bitmapscan || rel->baserestrictinfo == NIL)
		return false;
	foreach(lc, rel->indexlist)
		if (tells_blocks(lfirst_node(IndexOptInfo, lc)))
			return true;
	return false;
}

static RelOptInfo *
copy_with_block_indexes(const RelOptInfo *rel)
{
	RelOptInfo *copy = makeNode(RelOptInfo);
	ListCell   *lc;

	memcpy(copy, rel, sizeof(RelOptInfo));
	copy->reltarget = create_empty_pathtarget();
	copy->pathlist = NIL;
	copy->partial_pathlist = NIL;
	copy->ppilist = NIL;
	copy->consider_parallel = false;
	copy->joininfo = NIL;
	copy->has_eclass_joins = false;
	copy->indexlist = NIL;
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);
		IndexOptInfo *index_copy;

		if (!tells_blocks(index))
			continue;
		index_copy = makeNode(IndexOptInfo);
		memcpy(index_copy, index, sizeof(IndexOptInfo));
		index_copy->rel = copy;
		index_copy->amhasgettuple = false;
		copy->indexlist = lappend(copy->indexlist, index_copy);
	}
	return copy;
}

/* PostgreSQL makes paths of a whole index too, where no column is wanted. */
static bool
excludes_nothing(const BitmapHeapPath *path)
{
	const IndexPath *index = (const IndexPath *) path->bitmapqual;

	return IsA(index, IndexPath) && index->indexclauses == NIL &&
		index->indexinfo->indpred == NIL;
}

static BitmapHeapPath *
make_bitmap_path(PlannerInfo *root, RelOptInfo *rel)
{
	RelOptInfo	   *copy = copy_with_block_indexes(rel);
	BitmapHeapPath *best = NULL;
	ListCell	   *lc;

	create_index_paths(root, copy);
	foreach(lc, copy->pathlist)
	{
		Path *path = lfirst(lc);

		if (IsA(path, BitmapHeapPath) && path->param_info == NULL &&
			!excludes_nothing((BitmapHeapPath *) path) &&
			(best == NULL || path->total_cost < best->path.total_cost))
			best = (BitmapHeapPath *) path;
	}
	/* The plan of the path is made with its relation's filters: none are wanted. */
	copy->baserestrictinfo = NIL;
	return best;
}

/* Whether the bitmap is of BRIN indexes alone. */
static bool
is_of_brin(const Path *bitmap)
{
	const List *parts;
	ListCell   *lc;

	if (IsA(bitmap, IndexPath))
		return ((const IndexPath *) bitmap)->indexinfo->relam == BRIN_AM_OID;
	parts = IsA(bitmap, BitmapAndPath) ? ((const BitmapAndPath *) bitmap)->bitmapquals :
										 ((const BitmapOrPath *) bitmap)->bitmapquals;
	foreach(lc, parts)
		if (!is_of_brin(lfirst(lc)))
			return false;
	return true;
}

typedef struct Estimate
{
	double fraction;  /* of the table's blocks, that is left */
	Cost   index;	  /* of scanning the indexes */
	Cost   scattered; /* of reading blocks here and there */
} Estimate;

static Estimate
estimate_left(PlannerInfo *root, RelOptInfo *rel, Path *bitmap)
{
	Estimate result = {0};
	double	 rows = rel->rows;
	double	 pages;

	/* BRIN's selectivity is one of blocks, and they come in ranges. */
	cost_bitmap_tree_node(bitmap, &result.index, &result.fraction);
	if (is_of_brin(bitmap) || rel->pages == 0)
		return result;
	/* That of others is one of rows. PostgreSQL's cost is that of reading the index from a
	 * drive: ours are times. */
	pages = tb_postgres_bitmap_pages(root, rel, bitmap, &rows);
	result.fraction = Min(pages / rel->pages, 1.0);
	result.index = tb_postgres_bitmap_us(bitmap, rows) / TB_US_PER_UNIT;
	result.scattered = pages * SCATTERED_PAGE_US / TB_US_PER_UNIT;
	return result;
}

/* What remains if only a fraction of the blocks is read. */
static TbWork
work_of_fraction(const TbWork *work, double fraction)
{
	TbWork rest = *work;

	rest.pages = clamp_row_est(work->pages * fraction);
	rest.rows = Min(work->rows, Max(work->rows * fraction, work->passing));
	return rest;
}

TbBlockIndex *
tb_block_index_choose(PlannerInfo *root, RelOptInfo *rel, TbWork *work)
{
	BitmapHeapPath *bitmap;
	TbBlockIndex   *result;
	TbWork			rest;
	Estimate		estimate;
	Cost			all_cost;

	if (!tb_block_index_exists(rel))
		return NULL;
	bitmap = make_bitmap_path(root, rel);
	if (bitmap == NULL)
		return NULL;
	estimate = estimate_left(root, rel, bitmap->bitmapqual);
	rest = work_of_fraction(work, estimate.fraction);
	all_cost = tb_cost_run(work);
	if (!tb_guc_debug_force_offload && estimate.index > CHEAP_FRACTION * all_cost &&
		estimate.index + estimate.scattered + tb_cost_run(&rest) > all_cost)
		return NULL;
	*work = rest;
	result = palloc(sizeof(TbBlockIndex));
	result->path = &bitmap->path;
	result->cost = estimate.index + (estimate.fraction < 1 ? estimate.scattered : 0);
	return result;
}

Plan *
tb_block_index_plan(Plan *plan, List **condition)
{
	BitmapHeapScan *heap_scan = castNode(BitmapHeapScan, plan);

	*condition = copyObject(heap_scan->bitmapqualorig);
	return outerPlan(heap_scan);
}
