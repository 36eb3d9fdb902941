/*
 * regroup.h - the groups of GROUP BY out of those that have the key of DISTINCT besides,
 * by a second program of the engine.
 *
 * As set_fold.h in the backend and nodes/sort/distinct_fold.h below an order, but with all
 * threads, and with nothing that comes back except what is returned.
 */
#ifndef TURBINE_PG_AGGREGATE_REGROUP_H
#define TURBINE_PG_AGGREGATE_REGROUP_H

#include "postgres.h"

#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/planner/program/program_builder.h"
#include "pg/conversation/continuation_program.h"

/* Adding a row to a group: 2 cores take 20 ns. */
#define TB_REGROUPED_ROW_US 0.02

typedef struct TbRegroup
{
	TbContinuationProgram program;
	List				 *params;  /* Expr: the program's */
	TbOutput			 *outputs; /* of its groups, one an entry of scan_tlist */
	Cost				  cost;	   /* of all groups */
} TbRegroup;

/* The program that the builder holds, over rows of an earlier one. NULL if a limit is
 * exceeded. */
extern TbRegroup *tb_regroup_finish(TbBuilder *builder, double groups);

/* NULL if there is no DISTINCT, if states can not be combined that way, or if there are too
 * few groups for a program of their own. */
extern TbRegroup *tb_regroup_make(const TbAggAnalysis *analysis);

#endif
