/*
 * gpu_join.h - GpuJoin: all joins of a query level on a device, rows returned.
 *
 *   plan.c        which joins, the path, PostgreSQL's kept plan, the plan
 *   projection.c  the programs that return expressions over joined rows
 *   exec.c        rows out of the run; the fallback; what EXPLAIN shows
 */
#ifndef TURBINE_PG_NODES_JOIN_GPU_JOIN_H
#define TURBINE_PG_NODES_JOIN_GPU_JOIN_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "pg/stage/plan_private.h"
#include "pg/stage/stage_run.h"

/* plan.c: called by the join hook, for every pair of sides that makes the join; and when
 * PostgreSQL has found all paths of the last one. */
extern void tb_join_note_path(PlannerInfo *root, RelOptInfo *joinrel);
extern void tb_join_add_path(PlannerInfo *root, RelOptInfo *joinrel);
extern void tb_join_init(void);

/* Fills in the path's costs, of its rows; every one is formed as a tuple here. */
extern void tb_join_cost(List *stages, Path *path);

typedef struct TbJoinState
{
	CustomScanState css;
	TbRunCursor		cursor;
	int	   undecided; /* column that marks rows for PostgreSQL to decide; -1: none */
	uint64 sent;	  /* such rows */
} TbJoinState;

/* exec.c */
extern Node *tb_join_create_state(CustomScan *plan);

/* The cursor of such a node (GpuJoin, GpuFileScan, GpuSort over a table or join) whose rows
 * are nothing but columns of results; outputs: one a column of the rows, without junk.
 * NULL of others. */
extern TbRunCursor *tb_join_bare_cursor(PlanState *state, List **outputs);

/* What EXPLAIN shows. */
extern void tb_join_explain(CustomScanState *node, List *ancestors,
							struct ExplainState *es);

#endif
