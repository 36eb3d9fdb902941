/*
 * gpu_sort.h - GpuSort: order, limit, DISTINCT ON and window functions over the rows
 * of a table or join, or over the groups of an aggregation, on a device.
 *
 *   plan.c      at which steps it is offered, the paths, their costs, the plan
 *   analyze.c   the input, the result plan, PostgreSQL's kept plan
 *   sort_key.c  clauses of ORDER BY, PARTITION BY and DISTINCT as keys
 *   window.c    window functions and their frames
 *   explain.c   what EXPLAIN shows
 *
 * Execution is that of the node below, GpuJoin or GpuPreAgg: the last stage's results
 * come back as if they had been computed in that order.
 */
#ifndef TURBINE_PG_NODES_SORT_GPU_SORT_H
#define TURBINE_PG_NODES_SORT_GPU_SORT_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/results/result_columns.h"
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

/* What is sorted: the results of a last stage or a continuation, and which of their columns
 * an expression of the query is. */
typedef struct TbSortInput
{
	RelOptInfo						*rel;	 /* the table or join */
	const TbAggAnalysis				*groups; /* NULL: rows */
	/* Whose rows are sorted; NULL: those of the last stage. */
	const struct TbContinuationPlan *continuation;
	List							*stages; /* TbStage */
	TbResultColumns					 columns;
	/* Of the program whose rows are sorted. */
	uint32							 ncolumns;
	/* Columns that the backend fetches of the rows that are left; the last of `columns`. */
	int								 fetched;
	double							 rows; /* estimated */
	/* PostgreSQL's plan: of rows it returns scan_tlist, of groups their target. */
	Path							*kept;
} TbSortInput;

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

/* analyze.c: NULL, with *reason, if PostgreSQL must do it. */
extern TbSortPlan *tb_sort_analyze(PlannerInfo *root, RelOptInfo *output_rel,
								   const TbSortRequest *request, const char **reason);

/* Whether the engine makes groups of GROUP BY out of those with DISTINCT first: by a
 * continuation, else by a pass of the result plan. */
static inline bool
tb_sort_folds_distinct(const TbSortPlan *plan)
{
	return plan->input->groups != NULL && plan->input->groups->distincts != NIL;
}

/* The latter. */
static inline bool
tb_sort_folds_by_pass(const TbSortPlan *plan)
{
	return tb_sort_folds_distinct(plan) && plan->input->continuation == NULL;
}

/* explain.c */
extern void tb_sort_explain(CustomScanState *node, List *ancestors,
							struct ExplainState *es);

#endif
