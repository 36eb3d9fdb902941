/*
 * gpu_sort.h - GpuSort: order, limit, DISTINCT ON and window functions over the rows
 * of a table or join, or over the groups of an aggregation, on a device.
 *
 *   input.c        what it is done with: rows or groups, as columns of results
 *   sort_key.c     clauses of ORDER BY, PARTITION BY and DISTINCT as keys
 *   window.c       window functions
 *   likely_groups.c, estimate.c  groups that may be the first of an order that PostgreSQL
 *                  computes
 *   distinct_fold.c  groups with DISTINCT aggregates as partitions of a window
 *   kept_plan.c    PostgreSQL's plan for the same
 *   plan.c         the paths and the plan
 *   result_plan.c  the bytes that tell the engine
 *   explain.c      what EXPLAIN shows
 *
 * Execution is that of the node below, GpuJoin or GpuPreAgg: the last stage's results
 * come back as if they had been computed in that order.
 */
#ifndef TURBINE_PG_NODES_SORT_GPU_SORT_H
#define TURBINE_PG_NODES_SORT_GPU_SORT_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "pg/nodes/sort/input.h"
#include "pg/nodes/results/result_plan.h"
#include "pg/stage/plan_private.h"

/* What the node is to do, in terms of the query. */
typedef struct TbSortRequest
{
	RelOptInfo		 *rel;		/* the table or join, */
	const CustomPath *groups;	/* or the GpuPreAgg over one; else NULL */
	List			 *windows;	/* WindowClause, in the order of their passes */
	bool			  distinct; /* DISTINCT ON */
	bool			  order;	/* ORDER BY, and LIMIT */
} TbSortRequest;

/* How it does that; a path's custom_private points to it. */
typedef struct TbSortPlan
{
	TbSortRequest request;
	TbSortInput	 *input;
	TbResultPlan *result;
	List		 *pathkeys; /* the order in which rows are returned */
	Path		 *kept;
	double		  returned; /* rows, estimated */
	bool		  likely;	/* rows that may be among the first of the order come back, and
							 * PostgreSQL sorts them */
} TbSortPlan;

/* plan.c: called by the upper-path hook, at every step. */
extern void tb_sort_add_path(PlannerInfo *root, UpperRelationKind step,
							 RelOptInfo *input_rel, RelOptInfo *output_rel);
extern void tb_sort_init(void);

/* kept_plan.c: the same by PostgreSQL. */
extern Path *tb_sort_kept_path(PlannerInfo *root, RelOptInfo *output_rel,
							   const TbSortPlan *plan);

/* The order that a window needs of its rows. */
extern List *tb_sort_window_pathkeys(PlannerInfo *root, const WindowClause *clause);

/* The longer of DISTINCT ON and ORDER BY: one begins with the other. */
extern List *tb_sort_distinct_pathkeys(PlannerInfo *root);

/* explain.c */
extern void tb_sort_explain(CustomScanState *node, List *ancestors,
							struct ExplainState *es);

#endif
