/*
 * brin_path.c - see brin_path.h.
 *
 * By the time we are asked, PostgreSQL has made its index paths, and freed those that
 * lost. So it makes them once more, for a copy of the table that has no indexes but
 * BRIN and no clauses but its own filters: what comes out does not depend on other
 * tables. Filters that BRIN cannot use do not hinder, for every row is filtered
 * by us in any case.
 */
#include "postgres.h"

#include "catalog/pg_am.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"

#include "pg/settings/guc.h"
#include "pg/planner/brin_path.h"

/*
 * PostgreSQL's estimate of the ranges that match rests on the correlation of values
 * and blocks, and takes all of them where it knows none, as in columns that were
 * never analyzed, or are clustered without being ordered. An index that costs so
 * little of the scan is looked at even if nothing is expected of it.
 */
#define CHEAP_FRACTION 0.03

static RelOptInfo *
copy_with_brin_only(const RelOptInfo *rel)
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

		if (index->relam != BRIN_AM_OID || index->hypothetical)
			continue;
		index_copy = makeNode(IndexOptInfo);
		memcpy(index_copy, index, sizeof(IndexOptInfo));
		index_copy->rel = copy;
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
	RelOptInfo	   *copy = copy_with_brin_only(rel);
	BitmapHeapPath *best = NULL;
	ListCell	   *lc;

	if (copy->indexlist == NIL)
		return NULL;
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

/* What remains if only a fraction of the blocks is read. */
static TbWork
work_of_fraction(const TbWork *work, double fraction)
{
	TbWork rest = *work;

	rest.pages = clamp_row_est(work->pages * fraction);
	rest.rows = Min(work->rows, Max(work->rows * fraction, work->passing));
	return rest;
}

TbBrinPath *
tb_brin_path_choose(PlannerInfo *root, RelOptInfo *rel, TbWork *work)
{
	BitmapHeapPath *bitmap;
	TbBrinPath	   *result;
	TbWork			rest;
	Cost			index_cost;
	Cost			all_cost;
	Selectivity		fraction;

	if (!tb_guc_enable_brin || !enable_bitmapscan || rel->indexlist == NIL)
		return NULL;
	bitmap = make_bitmap_path(root, rel);
	if (bitmap == NULL)
		return NULL;
	/* For BRIN: of the blocks that are left, not of the rows. */
	cost_bitmap_tree_node(bitmap->bitmapqual, &index_cost, &fraction);
	rest = work_of_fraction(work, fraction);
	all_cost = tb_cost_run(work);
	if (!tb_guc_debug_force_offload && index_cost > CHEAP_FRACTION * all_cost &&
		index_cost + tb_cost_run(&rest) > all_cost)
		return NULL;
	*work = rest;
	result = palloc(sizeof(TbBrinPath));
	result->path = &bitmap->path;
	result->cost = index_cost;
	return result;
}

Plan *
tb_brin_index_plan(Plan *plan, List **condition)
{
	BitmapHeapScan *heap_scan = castNode(BitmapHeapScan, plan);

	*condition = copyObject(heap_scan->bitmapqualorig);
	return outerPlan(heap_scan);
}
