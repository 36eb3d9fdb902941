/*
 * plain_plan_time.c - see plain_plan_time.h.
 *
 * Scans take what plain_path_time.c says. For other nodes PostgreSQL's charge is
 * believed, since it is work of the processor: a node's cost less those of its children,
 * at the price of a unit. If a parallel plan has more processes than there are
 * processors, they wait for each other. PostgreSQL's costs leave that out.
 *
 * Owns the figures of nodes for which the charge is far from true: processor time over a
 * million rows on an Intel Xeon, beside the charge. Must never change a path. Called
 * where nodes and rewritten queries are compared with PostgreSQL's plans.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "optimizer/cost.h"

#include "pg/planner/plain_evaluation.h"
#include "pg/planner/plain_path_time.h"
#include "pg/planner/plain_plan_time.h"
#include "pg/source/heap/feeders/feeder_count.h"

/* Of what a Sort by one key is charged, 700 ns a row of a million: integers took 105, texts
 * 209, numerics 521. By two keys, below a window function, it took what is charged. */
#define SORT_PART 0.3

/* A row that is grouped by hashing, beside 18 ns that are charged: it took 59 by an integer
 * of 1,000 values, 84 by a text, 297 by an integer of 100,000. */
#define GROUPED_ROW_US 0.04

/* A row that a hash join finds in a table beyond the second-level cache, beside 116 ns that
 * are charged: it took 340 with 100,000 rows in the table, 700 with 500,000, and 74 with
 * 1,000. Bytes a row of a table, besides its width. */
#define MISSED_ROW_US 0.15
#define NEAR_BYTES 2e6
#define HASHED_ROW_BYTES 40

/* `crowd`: processes that do the same at a time, for each processor; at least 1. */
typedef struct Timing
{
	PlannerInfo *root;
	double		 crowd;
} Timing;

static double plan_us(const Timing *timing, const Path *path);

/* What a node does itself. */
static double
own_us(const Timing *timing, const Path *path, Cost children)
{
	return Max(path->total_cost - children, 0) * TB_US_PER_UNIT * timing->crowd;
}

static double
above_us(const Timing *timing, const Path *path, const Path *child)
{
	return own_us(timing, path, child->total_cost) + plan_us(timing, child);
}

/* A partial path's time is that of all its processes already. */
static double
scan_us(const Timing *timing, const Path *path)
{
	double us = -1;

	if (path->parent != NULL && path->parent->rtekind == RTE_RELATION)
		us = tb_plain_path_us(timing->root, path->parent, path);
	if (us < 0)
		return own_us(timing, path, 0);
	if (path->parallel_workers == 0)
		us *= timing->crowd;
	if (path->pathtype == T_IndexOnlyScan)
		return us;
	return us +
		path->rows * timing->crowd * tb_plain_columns_us(timing->root, path->parent);
}

/* Rows that a hash join finds far away. */
static double
missed_us(const Timing *timing, const Path *join, const Path *inner)
{
	double bytes = inner->rows * (inner->pathtarget->width + HASHED_ROW_BYTES);

	return bytes > NEAR_BYTES ? join->rows * MISSED_ROW_US * timing->crowd : 0;
}

static double
sort_us(const Timing *timing, const Path *path, const Path *child)
{
	double part = list_length(path->pathkeys) == 1 ? SORT_PART : 1;

	return own_us(timing, path, child->total_cost) * part + plan_us(timing, child);
}

static double
aggregate_us(const Timing *timing, const AggPath *path)
{
	const Path *child = path->subpath;
	double		grouped = path->aggstrategy == AGG_HASHED ? child->rows * timing->crowd : 0;

	return above_us(timing, &path->path, child) + grouped * GROUPED_ROW_US;
}

/* Of a subquery's path, which has a planner's state of its own. */
static double
subquery_us(const Timing *timing, const SubqueryScanPath *path)
{
	Timing inner = {.root = path->path.parent->subroot, .crowd = timing->crowd};

	return own_us(timing, &path->path, path->subpath->total_cost) +
		plan_us(&inner, path->subpath);
}

static double
append_us(const Timing *timing, const Path *path, const List *children)
{
	double	  us = 0;
	Cost	  cost = 0;
	ListCell *lc;

	foreach(lc, children)
	{
		us += plan_us(timing, lfirst(lc));
		cost += ((const Path *) lfirst(lc))->total_cost;
	}
	return us + own_us(timing, path, cost);
}

/* The inner side of a nested loop. It runs for each outer row if it depends on that, and
 * once a value if Memoize keeps what it returned. What it is charged for, to `cost`. */
static double
inner_us(const Timing *timing, const Path *inner, double outer_rows, Cost *cost)
{
	double runs = inner->param_info != NULL ? Max(outer_rows, 1) : 1;

	*cost = inner->total_cost * runs;
	if (IsA(inner, MemoizePath))
	{
		const MemoizePath *memoize = (const MemoizePath *) inner;
		double misses = memoize->est_entries > 0 ? Min(memoize->est_entries, runs) : runs;

		*cost = misses * memoize->subpath->total_cost;
		return misses * plan_us(timing, memoize->subpath);
	}
	return runs * plan_us(timing, inner);
}

static double
join_us(const Timing *timing, const JoinPath *join)
{
	const Path *outer = join->outerjoinpath;
	const Path *inner = join->innerjoinpath;
	Cost		inner_cost = inner->total_cost;
	double		us = plan_us(timing, outer);

	if (IsA(join, NestPath))
		us += inner_us(timing, inner, outer->rows, &inner_cost);
	else
		us += plan_us(timing, inner);
	if (IsA(join, HashPath))
		us += missed_us(timing, &join->path, inner);
	return us + own_us(timing, &join->path, outer->total_cost + inner_cost);
}

/* Workers begin anew below it. */
static double
gather_us(const Timing *timing, const Path *path, const Path *child)
{
	Timing below = *timing;

	if (child->parallel_workers > 0)
		below.crowd = Max(tb_plain_processes(child->parallel_workers) /
							  tb_plain_busy_processes(child->parallel_workers),
						  1);
	return plan_us(&below, child) + tb_plain_gather_us(path->rows);
}

/* Of the path below as much as it is charged for. */
static double
limit_us(const Timing *timing, const LimitPath *path)
{
	const Path *child = path->subpath;
	double		part = child->total_cost > 0 ?
			 Min(path->path.total_cost / child->total_cost, 1) :
			 1;

	return plan_us(timing, child) * part;
}

/* What the node reads, if that is one path and nothing else is to be said of it. */
static const Path *
only_child(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_MaterialPath:
			return ((const MaterialPath *) path)->subpath;
		case T_MemoizePath:
			return ((const MemoizePath *) path)->subpath;
		case T_UniquePath:
			return ((const UniquePath *) path)->subpath;
		case T_ProjectionPath:
			return ((const ProjectionPath *) path)->subpath;
		case T_ProjectSetPath:
			return ((const ProjectSetPath *) path)->subpath;
		case T_GroupPath:
			return ((const GroupPath *) path)->subpath;
		case T_UpperUniquePath:
			return ((const UpperUniquePath *) path)->subpath;
		case T_GroupingSetsPath:
			return ((const GroupingSetsPath *) path)->subpath;
		case T_WindowAggPath:
			return ((const WindowAggPath *) path)->subpath;
		case T_SetOpPath:
			return ((const SetOpPath *) path)->subpath;
		default:
			return NULL;
	}
}

static double
plan_us(const Timing *timing, const Path *path)
{
	const Path *child;

	check_stack_depth();
	switch (nodeTag(path))
	{
		case T_Path:
		case T_IndexPath:
		case T_BitmapHeapPath:
			return scan_us(timing, path);
		case T_NestPath:
		case T_MergePath:
		case T_HashPath:
			return join_us(timing, (const JoinPath *) path);
		case T_GatherPath:
			return gather_us(timing, path, ((const GatherPath *) path)->subpath);
		case T_GatherMergePath:
			return gather_us(timing, path, ((const GatherMergePath *) path)->subpath);
		case T_AppendPath:
			return append_us(timing, path, ((const AppendPath *) path)->subpaths);
		case T_MergeAppendPath:
			return append_us(timing, path, ((const MergeAppendPath *) path)->subpaths);
		case T_SubqueryScanPath:
			return subquery_us(timing, (const SubqueryScanPath *) path);
		case T_LimitPath:
			return limit_us(timing, (const LimitPath *) path);
		case T_SortPath:
		case T_IncrementalSortPath:
			return sort_us(timing, path, ((const SortPath *) path)->subpath);
		case T_AggPath:
			return aggregate_us(timing, (const AggPath *) path);
		default:
			break;
	}
	child = only_child(path);
	/* Of nodes of ours, whose costs are times, and of what is not known here. */
	return child != NULL ? above_us(timing, path, child) : own_us(timing, path, 0);
}

double
tb_plain_plan_us(PlannerInfo *root, const Path *path)
{
	Timing timing = {.root = root, .crowd = 1};

	if (path->parallel_workers > 0)
		timing.crowd = Max(tb_plain_processes(path->parallel_workers) /
							   tb_plain_busy_processes(path->parallel_workers),
						   1);
	return plan_us(&timing, path);
}
