/*
 * continuation.h - the program of a GpuPreAgg over rows that an earlier program has made
 * (wire.h: TbContinuation), planned.
 *
 * These rows are groups of all keys: the groups of GROUP BY are made out of those that have
 * the key of DISTINCT besides, and the groups of several grouping sets. set_fold.h does
 * that in the backend, nodes/sort/analyze.c below an order of few groups; the engine does
 * it with all threads, and nothing comes back except what is returned. A GpuSort above
 * gives the groups of GROUP BY a result plan, so that only the first of an order come back.
 *
 * Or they are the rows of a subquery that a GpuSort or a GpuPreAgg computes, as columns of
 * the engine's results, so that no row leaves the engine.
 */
#ifndef TURBINE_PG_NODES_AGGREGATE_CONTINUATION_H
#define TURBINE_PG_NODES_AGGREGATE_CONTINUATION_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "pg/conversation/continuation_program.h"
#include "pg/convert/final_values.h"
#include "pg/nodes/aggregate/gpu_preagg.h"

typedef struct TbContinuationPlan
{
	TbContinuationProgram program;
	List				 *params;  /* Expr: the program's */
	TbOutput			 *outputs; /* of its groups, one an entry of scan_tlist */
	Cost				  cost;	   /* of all rows */
} TbContinuationPlan;

/* The rows of a node below. */
typedef struct TbRowsBelow
{
	RelOptInfo		 *rel;		  /* the subquery, as the level above has it */
	Path			 *path;		  /* of the subquery, a node of ours in it */
	const CustomPath *node;		  /* that node */
	List			 *stages;	  /* TbStage: its */
	List			 *scan_tlist; /* TargetEntry: the columns of its results */
	const TbOutput	 *outputs;	  /* the same */
	List			 *columns;	  /* Expr: the subquery's columns, made of those */
	List			 *raising;	  /* Expr: of its whole target, what may raise an error */
	List			 *having;	  /* Expr: what rows must meet, the same */
	Cost			  cost;		  /* of the node, without handing its rows to PostgreSQL */
} TbRowsBelow;

/* Of groups of all keys. NULL if there is neither DISTINCT nor a set, if states cannot be
 * combined that way, or if there are too few groups for a program of their own. */
extern TbContinuationPlan *tb_continuation_over_groups(const TbAggAnalysis *analysis);

/* Of the rows of a node below: the whole analysis, with its continuation. NULL, with
 * *reason, if the subquery has no such node, or if what is aggregated is not the engine's.
 */
extern TbAggAnalysis *tb_preagg_analyze_rows(PlannerInfo *root, const TbAggRequest *request,
											 const char **reason);

#endif
