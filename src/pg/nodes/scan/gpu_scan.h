/*
 * gpu_scan.h - GpuScan: a table's rows that pass filters run on a device.
 *
 *   plan.c          which filters go there, the paths and the plan
 *   exec.c          rows out of chunks; filters that PostgreSQL has to run
 *   block_shares.c  participants of a parallel plan share the table
 *   explain.c       what EXPLAIN shows
 */
#ifndef TURBINE_PG_NODES_SCAN_GPU_SCAN_H
#define TURBINE_PG_NODES_SCAN_GPU_SCAN_H

#include "postgres.h"

#include "access/tableam.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "pg/nodes/scan/block_shares.h"
#include "pg/planner/cost.h"
#include "pg/source/heap/heap_scan.h"
#include "pg/source/heap/brin_scan.h"
#include "pg/stage/plan_private.h"

typedef struct TbScanState
{
	CustomScanState css;
	TbProgram	   *program;
	TbWork			work;
	List		   *param_states; /* ExprState */
	ExprState	   *filters;	  /* TB_SCAN_EXPRS_EVALUATED */

	TbBrinScan brin;			  /* which blocks are read */

	MemoryContext context;		  /* of one scan: parameters */
	TbProfile	 *profile;		  /* NULL: nobody asks */

	TbBlockShares *shares; /* in a parallel plan, of which each is a scan; else NULL */

	/* The running scan: one of the first two, or neither. */
	TbHeapScan	 *query;
	TableScanDesc plain; /* PostgreSQL's own scan: serializable, or a
						  * parameter that devices do not know */
	bool		  started;
	bool		  finished;

	/* Position in the current chunk. */
	TbRowChunk chunk;
	uint32	   next_row;
	uint32	   next_deferred;
	bool	   have_chunk;

	/* EXPLAIN ANALYZE; of the scans that have ended. */
	TbRunStats	 stats;
	bool		 have_stats;
	uint64		 rows_removed;
	TbBlockStats shared_stats; /* of all participants, when the plan was shut down */
	uint64		 shared_rows_removed;
	bool		 have_shared;
} TbScanState;

/* plan.c: offers a path to a table of the query. */
extern void tb_scan_add_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern void tb_scan_init(void);

/* exec.c */
extern Node *tb_scan_create_state(CustomScan *plan);

/* explain.c */
extern void tb_scan_explain(CustomScanState *node, List *ancestors,
							struct ExplainState *es);

#endif
