/*
 * plain_path_time.c - see plain_path_time.h.
 *
 * Owns the figures, in microseconds on one core; those of filters are in
 * plain_evaluation.c. Pages are in shared buffers, or in the operating system's cache if
 * a scan does not keep them. Must not look at PostgreSQL's cost of a path, except for how
 * far its index is in the table's order, which the path does not keep. Called by
 * plain_plan_time.c, and by the planning of GpuScan and of other nodes (plain_rivals.c,
 * plan_rivals.c).
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_am.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"

#include "pg/planner/cost.h"
#include "pg/planner/plain_evaluation.h"
#include "pg/planner/plain_path_time.h"
#include "pg/planner/relation_check.h"
#include "pg/source/heap/feeders/feeder_count.h"

/* A page of a sequential scan: in shared buffers, or copied from the operating system's
 * cache to a buffer. */
#define RESIDENT_PAGE_US 0.3
#define COPIED_PAGE_US 1.0

/* A row of a sequential or bitmap scan, before its filters. */
#define ROW_US 0.035

/* A page that a bitmap or an index leads to, which is not the next one: the processor
 * waits for memory, and nobody has read ahead. */
#define RESIDENT_VISIT_US 0.5
#define COPIED_VISIT_US 1.8

/* An index: to its first entry, each level; an entry that an index scan returns; one that
 * becomes part of a bitmap. */
#define INDEX_START_US 1.5
#define INDEX_LEVEL_US 0.3
#define INDEX_ENTRY_US 0.15
#define BITMAP_ENTRY_US 0.06

/* A Gather: until workers have started, and a row that one of them sends. */
#define GATHER_START_US 4000.0
#define GATHERED_ROW_US 0.25

double
tb_plain_processes(int workers)
{
	double leader = parallel_leader_participation ? Max(1.0 - 0.3 * workers, 0) : 0;

	return workers + leader;
}

double
tb_plain_busy_processes(int workers)
{
	int processors = tb_cost_processors();

	return Max(Min(tb_plain_processes(workers), processors), 1);
}

/* Index and bitmap scans keep pages in shared buffers as long as there is room. */
static double
visit_us(const RelOptInfo *rel)
{
	double resident = Min((double) NBuffers / Max(rel->pages, 1), 1);

	return RESIDENT_VISIT_US * resident + COPIED_VISIT_US * (1 - resident);
}

static double
sequential_scan_us(PlannerInfo *root, RelOptInfo *rel)
{
	double resident = tb_likely_resident(rel->pages);

	return rel->pages * (RESIDENT_PAGE_US * resident + COPIED_PAGE_US * (1 - resident)) +
		rel->tuples *
		(ROW_US + tb_plain_filters_us(root, rel, tb_ordered_clauses(root, rel)));
}

/* BRIN adds whole ranges of blocks to a bitmap, the others add rows. */
static double
bitmap_entries(const Path *bitmap, double rows)
{
	return IsA(bitmap, IndexPath) &&
			((const IndexPath *) bitmap)->indexinfo->relam == BRIN_AM_OID ?
		0 :
		rows;
}

static double
bitmap_scan_us(PlannerInfo *root, RelOptInfo *rel, const BitmapHeapPath *path)
{
	Cost   index_cost;
	double rows;
	double pages = compute_bitmap_pages(root, rel, path->bitmapqual, 1.0, &index_cost,
										&rows);

	return INDEX_START_US + bitmap_entries(path->bitmapqual, rows) * BITMAP_ENTRY_US +
		pages * visit_us(rel) +
		rows * (ROW_US + tb_plain_filters_us(root, rel, tb_ordered_clauses(root, rel)));
}

/* Filters that the index does not answer. */
static List *
filters_beside_index(PlannerInfo *root, RelOptInfo *rel, const IndexPath *path)
{
	List	 *filters = NIL;
	ListCell *lc;

	foreach(lc, tb_ordered_clauses(root, rel))
		if (!is_redundant_with_indexclauses(lfirst(lc), path->indexclauses))
			filters = lappend(filters, lfirst(lc));
	return filters;
}

/* How often a path that depends on other tables runs, as get_loop_count() of indxpath.c
 * has it: once for each row of the smallest of them. */
static double
loops_of(PlannerInfo *root, const IndexPath *path)
{
	const ParamPathInfo *info = path->path.param_info;
	double				 loops = 0;
	int					 relid = -1;

	while (info != NULL && (relid = bms_next_member(info->ppi_req_outer, relid)) >= 0)
	{
		const RelOptInfo *outer = root->simple_rel_array[relid];

		if (outer != NULL && outer->rows > 0 && (loops == 0 || outer->rows < loops))
			loops = outer->rows;
	}
	return Max(loops, 1);
}

/*
 * How many pages an index scan comes to, one after another. The path does not say how far
 * its index is in the table's order; its cost does, which PostgreSQL has put between those
 * of the two extremes (cost_index). A page that an earlier run of the path has read costs
 * it nothing, but is come to all the same.
 */
static double
visited_pages(PlannerInfo *root, const RelOptInfo *rel, const IndexPath *path, double rows)
{
	double loops = loops_of(root, path);
	double least = ceil(path->indexselectivity * rel->pages);
	double fetched = index_pages_fetched(rows * loops, rel->pages, path->indexinfo->pages,
										 root) /
		loops;
	double most_cost;
	double least_cost;
	double cost;
	double unordered;

	/* All-visible pages are not visited. */
	if (path->path.pathtype == T_IndexOnlyScan)
	{
		least = ceil(least * (1.0 - rel->allvisfrac));
		fetched *= 1.0 - rel->allvisfrac;
		rows *= 1.0 - rel->allvisfrac;
	}
	/* The two extremes of cost_index(). */
	most_cost = fetched * random_page_cost;
	least_cost = random_page_cost + Max(least - 1, 0) * seq_page_cost;
	if (loops > 1)
	{
		fetched = index_pages_fetched(least * loops, rel->pages, path->indexinfo->pages,
									  root) /
			loops;
		least_cost = fetched * random_page_cost;
	}
	/* Where between them is the path? */
	cost = path->path.total_cost - path->indextotalcost - rows * cpu_tuple_cost;
	unordered = most_cost > least_cost ?
		Min(Max((cost - least_cost) / (most_cost - least_cost), 0), 1) :
		0;
	return least + (rows - least) * unordered;
}

static double
index_scan_us(PlannerInfo *root, RelOptInfo *rel, const IndexPath *path)
{
	double rows = clamp_row_est(path->indexselectivity * rel->tuples);

	return INDEX_START_US + INDEX_LEVEL_US * path->indexinfo->tree_height +
		rows *
		(INDEX_ENTRY_US +
		 tb_plain_filters_us(root, rel, filters_beside_index(root, rel, path))) +
		visited_pages(root, rel, path, rows) * visit_us(rel);
}

double
tb_plain_path_us(PlannerInfo *root, RelOptInfo *rel, const Path *path)
{
	double us;

	switch (path->pathtype)
	{
		case T_SeqScan:
			us = sequential_scan_us(root, rel);
			break;
		case T_BitmapHeapScan:
			us = bitmap_scan_us(root, rel, (const BitmapHeapPath *) path);
			break;
		case T_IndexScan:
		case T_IndexOnlyScan:
			us = index_scan_us(root, rel, (const IndexPath *) path);
			break;
		default:
			return -1;
	}
	return path->parallel_workers > 0 ?
		us / tb_plain_busy_processes(path->parallel_workers) :
		us;
}

double
tb_plain_gather_us(double rows)
{
	return GATHER_START_US + rows * GATHERED_ROW_US;
}
