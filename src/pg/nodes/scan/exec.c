/*
 * exec.c - GpuScan: returns the rows of a table that pass the filters.
 *
 * Phases:
 *   begin         expressions are prepared; nothing is sent
 *   first fetch   parameters are evaluated, the query starts
 *   fetches       chunks come in the order of blocks. A chunk's rows are those that the
 *                 device passed, those that it left undecided, and those that it
 *                 deferred, merged in row order
 *   end, rescan   the query ends; ShutdownCustomScan ends its parallel workers
 *
 * If the device did not filter a chunk, it is filtered here, with the same clauses, by
 * ExecQual. In a parallel plan each participant takes shares of the table's blocks
 * (BlockShares) and runs a query for each.
 *
 * Owns the heap scan (source/heap/heap_scan.h), or a plain table scan in its place. Tuple
 * slots hold tuples that the scan owns until its next tuple. Called by the executor.
 *
 * Must never fail because of the service. Must leave PostgreSQL's own clauses (plan.qual)
 * and the projection to ExecScan.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/parallel.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "storage/spin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "turbine/kernel.h"

#include "pg/compat/pg18.h"
#include "pg/convert/param_block.h"
#include "pg/errors/first_row.h"
#include "pg/nodes/scan/gpu_scan.h"
#include "pg/planner/cost.h"
#include "pg/planner/relation_check.h"
#include "pg/source/heap/block_index_scan.h"
#include "pg/source/heap/heap_scan.h"
#include "pg/source/heap/relation_statistics.h"
#include "pg/source/heap/visibility/direct_classify.h"
#include "pg/source/run_stats.h"
#include "pg/stage/explain.h"
#include "pg/stage/plan_private.h"

/* A participant, so that unequal ones end together. */
#define SHARES_EACH 3

/* Asking the service for a share takes some 0.3 ms, in which PostgreSQL reads 150 blocks.
 */
#define LEAST_BLOCKS 1024

/*
 * A table's blocks, shared among the participants of a parallel plan: runs of blocks, some
 * for each participant, so that whoever is through first takes another. Lies in the plan's
 * dynamic shared memory. The leader makes it before workers start, or before they start
 * anew; then anybody takes shares, and waits for nobody.
 */
typedef struct BlockShares
{
	BlockNumber		 nblocks;		 /* of the table, when it was made */
	BlockNumber		 blocks;		 /* of a share; the last may have fewer */
	bool			 created_before; /* TbHeapInput */
	pg_atomic_uint32 next;			 /* share */

	/* For EXPLAIN ANALYZE: of shares that are through. */
	slock_t		 mutex;
	TbBlockStats stats;
	uint64		 rows_removed;
} BlockShares;

typedef struct ScanNode
{
	CustomScanState css;
	TbProgram	   *program;
	TbWork			work;
	List		   *param_states; /* ExprState */
	ExprState	   *filters;	  /* TB_SCAN_EXPRS_EVALUATED */

	TbBlockIndexScan block_index; /* which blocks are read */

	MemoryContext context;		  /* of one scan: parameters */
	TbProfile	 *profile;		  /* NULL: nobody asks */

	BlockShares *shares; /* in a parallel plan, of which each is a scan; else NULL */

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
} ScanNode;

/* By the leader, of so many participants. */
static void
init_block_shares(BlockShares *shares, Relation rel, int participants)
{
	BlockNumber count = (BlockNumber) participants * SHARES_EACH;

	memset(shares, 0, sizeof(*shares));
	shares->nblocks = RelationGetNumberOfBlocks(rel);
	shares->blocks = Max(shares->nblocks / count + 1, LEAST_BLOCKS);
	shares->created_before = tb_direct_created_before(rel);
	pg_atomic_init_u32(&shares->next, 0);
	SpinLockInit(&shares->mutex);
}

/* As if no share had been taken. */
static void
reset_block_shares(BlockShares *shares)
{
	pg_atomic_write_u32(&shares->next, 0);
}

/* The next share; false: there is none left. */
static bool
take_blocks(BlockShares *shares, BlockNumber *first, BlockNumber *end)
{
	uint64 begin = (uint64) pg_atomic_fetch_add_u32(&shares->next, 1) * shares->blocks;

	if (begin >= shares->nblocks)
		return false;
	*first = (BlockNumber) begin;
	*end = (BlockNumber) Min(begin + shares->blocks, (uint64) shares->nblocks);
	return true;
}

/* What was done with a share. */
static void
add_block_stats(BlockShares *shares, const TbBlockStats *stats, uint64 rows_removed)
{
	SpinLockAcquire(&shares->mutex);
	tb_block_stats_add(&shares->stats, stats);
	shares->rows_removed += rows_removed;
	SpinLockRelease(&shares->mutex);
}

/* What was done with all that are through. */
static void
sum_block_stats(BlockShares *shares, TbBlockStats *stats, uint64 *rows_removed)
{
	SpinLockAcquire(&shares->mutex);
	*stats = shares->stats;
	*rows_removed = shares->rows_removed;
	SpinLockRelease(&shares->mutex);
}

static void
begin_scan(CustomScanState *css, EState *estate, int eflags)
{
	ScanNode   *node = (ScanNode *) css;
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;

	node->profile = tb_profile_make(estate);

	/*
	 * ExecInitCustomScan has made a virtual scan slot. Tuples here are heap
	 * tuples, and so are those of EvalPlanQual: redo what depends on that.
	 */
	ExecInitScanTupleSlot(estate, &css->ss, RelationGetDescr(css->ss.ss_currentRelation),
						  &TTSOpsHeapTuple);
	ExecAssignScanProjectionInfoWithVarno(&css->ss, plan->scan.scanrelid);
	css->ss.ps.qual = ExecInitQual(plan->scan.plan.qual, &css->ss.ps);

	/* The program, and blocks that it need not read. */
	node->context = AllocSetContextCreate(estate->es_query_cxt, "GpuScan",
										  ALLOCSET_SMALL_SIZES);
	node->program = tb_private_program(plan, 0);
	node->work = tb_private_stage(plan, 0).work;
	if (tb_private_stage(plan, 0).index_plan >= 0)
		tb_block_index_scan_init(&node->block_index, css,
								 list_nth(plan->custom_plans,
										  tb_private_stage(plan, 0).index_plan),
								 eflags);
	/* Filters for chunks that come back. */
	node->filters = ExecInitQual(list_nth(plan->custom_exprs, TB_SCAN_EXPRS_EVALUATED),
								 &css->ss.ps);
	node->param_states = ExecInitExprList(list_nth(plan->custom_exprs,
												   TB_SCAN_EXPRS_PARAMS),
										  &css->ss.ps);
	(void) tb_profile_enter(node->profile, TB_CLOCK_STOPPED);
}

/* Of these blocks, or of the whole table. */
static void
start_plain(ScanNode *node, const TbBlockSet *share)
{
	node->plain = table_beginscan_strat(node->css.ss.ss_currentRelation,
										node->css.ss.ps.state->es_snapshot, 0, NULL, true,
										share == NULL);
	if (share != NULL)
		heap_setscanlimits(node->plain, tb_block_set_next(share, 0),
						   tb_block_set_count(share));
}

/* Whether PostgreSQL would evaluate them too, where they may raise. Looks once. */
static bool
evaluates_parameters(ScanNode *node)
{
	CustomScan *plan = (CustomScan *) node->css.ss.ps.plan;

	return tb_postgres_reaches_filters(node->css.ss.ss_currentRelation,
									   list_nth(plan->custom_exprs,
												TB_SCAN_EXPRS_EVALUATED),
									   node->filters,
									   list_nth(plan->custom_exprs, TB_SCAN_EXPRS_PARAMS),
									   &node->css.ss.ps);
}

/* The blocks that are this participant's next, or all that an index leaves. False: there
 * are none. */
static bool
choose_blocks(ScanNode *node, Relation rel, TbBlockSet **blocks)
{
	BlockNumber first;
	BlockNumber end;

	if (node->shares == NULL)
	{
		*blocks = tb_block_index_scan_run(&node->block_index, rel);
		return *blocks == NULL || tb_block_set_count(*blocks) > 0;
	}
	if (!take_blocks(node->shares, &first, &end))
		return false;
	*blocks = tb_block_set_of_range(first, end, node->shares->nblocks);
	return true;
}

static void
start_query(ScanNode *node)
{
	EState		 *estate = node->css.ss.ps.state;
	Relation	  rel = node->css.ss.ss_currentRelation;
	TbProgramSpec spec = {0};
	TbHeapInput	  input = {0};
	TbBlockSet	 *blocks = NULL;
	const char	 *reason;
	MemoryContext old;

	Assert(node->query == NULL && node->plain == NULL);
	node->started = true;
	if (node->shares == NULL && !tb_isolation_qualifies())
	{
		start_plain(node, NULL);
		return;
	}
	/* No row, no evaluation of parameters: they might raise. */
	if (RelationGetNumberOfBlocks(rel) == 0)
	{
		node->finished = true;
		return;
	}
	old = MemoryContextSwitchTo(node->context);
	if (!evaluates_parameters(node))
	{
		Assert(node->shares == NULL);
		MemoryContextSwitchTo(old);
		start_plain(node, NULL);
		return;
	}
	if (!choose_blocks(node, rel, &blocks))
	{
		MemoryContextSwitchTo(old);
		node->finished = true;
		return;
	}
	if (!tb_isolation_qualifies())
	{
		start_plain(node, blocks);
		MemoryContextSwitchTo(old);
		return;
	}
	spec.program = node->program;
	input.rel = rel;
	input.snapshot = estate->es_snapshot;
	input.blocks = blocks;
	input.attributes = node->work.program.attributes;
	spec.shape = node->work.program.shape;
	spec.params = tb_param_block_make(node->program, node->param_states,
									  node->css.ss.ps.ps_ExprContext);
	if (spec.params == NULL)
		start_plain(node, blocks);
	else
	{
		(void) tb_choose_device(&node->work, &spec.device, &reason);
		spec.estimated_rows = node->work.rows;
		input.engine_us = tb_cost_engine_us(&node->work, spec.device);
		spec.profile = node->profile;
		/* Feeders would be workers of a worker. */
		input.in_parallel_mode = estate->es_use_parallel_mode && node->shares == NULL;
		input.created_before = node->shares != NULL && node->shares->created_before;
		node->query = tb_heap_scan_begin(&spec, &input);
	}
	MemoryContextSwitchTo(old);
}

static void
start(ScanNode *node)
{
	TbClock before = tb_profile_enter(node->profile, TB_CLOCK_PLAN);

	start_query(node);
	(void) tb_profile_enter(node->profile, before);
}

/* Whether a tuple that the device did not filter passes. */
static bool
passes(ScanNode *node, TupleTableSlot *slot)
{
	ExprContext *econtext = node->css.ss.ps.ps_ExprContext;

	ResetExprContext(econtext);
	econtext->ecxt_scantuple = slot;
	if (ExecQual(node->filters, econtext))
		return true;
	node->rows_removed++;
	return false;
}

/* The chunk's next row id, in order; whether PostgreSQL must filter it. */
static bool
next_rowid(ScanNode *node, uint32 *rowid, bool *unfiltered)
{
	const TbRowChunk *chunk = &node->chunk;
	bool			  row = node->next_row < chunk->nrows;
	bool			  deferred = node->next_deferred < chunk->ndeferred;

	if (row && deferred)
		deferred = chunk->deferred[node->next_deferred] <
			(chunk->rowids[node->next_row] & ~TB_ROWID_UNDECIDED);
	if (deferred)
	{
		*rowid = chunk->deferred[node->next_deferred++];
		*unfiltered = true;
		return true;
	}
	if (row)
	{
		*rowid = chunk->rowids[node->next_row++];
		*unfiltered = chunk->evaluate || (*rowid & TB_ROWID_UNDECIDED) != 0;
		return true;
	}
	return false;
}

static bool
next_chunk(ScanNode *node)
{
	Assert(node->query != NULL && !node->have_chunk);
	CHECK_FOR_INTERRUPTS();
	node->next_row = 0;
	node->next_deferred = 0;
	if (!tb_heap_scan_next(node->query, &node->chunk))
	{
		node->have_chunk = false;
		return false;
	}
	node->have_chunk = true;
	if (!node->chunk.evaluate)
		node->rows_removed += node->chunk.rows_in - node->chunk.nrows;
	return true;
}

static TupleTableSlot *
next_plain(ScanNode *node, TupleTableSlot *slot)
{
	EState	 *estate = node->css.ss.ps.state;
	HeapTuple tuple;

	(void) tb_profile_enter(node->profile, TB_CLOCK_FALLBACK);
	while ((tuple = heap_getnext(node->plain, estate->es_direction)) != NULL)
	{
		ExecForceStoreHeapTuple(tuple, slot, false);
		if (passes(node, slot))
			return slot;
	}
	return NULL;
}

/* Of the query's chunks; NULL at the end. */
static TupleTableSlot *
next_of_query(ScanNode *node, TupleTableSlot *slot)
{
	uint32 rowid;
	bool   unfiltered;

	for (;;)
	{
		if (!node->have_chunk && !next_chunk(node))
			return NULL;
		if (!next_rowid(node, &rowid, &unfiltered))
		{
			node->have_chunk = false;
			continue;
		}
		ExecForceStoreHeapTuple(tb_heap_scan_tuple(node->query, rowid), slot, false);
		if (!unfiltered || passes(node, slot))
			return slot;
	}
}

static void finish(ScanNode *node);

static TupleTableSlot *
next_tuple(ScanState *ss)
{
	ScanNode	   *node = (ScanNode *) ss;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;
	TupleTableSlot *found = NULL;

	while (!node->finished)
	{
		/* The next row of this scan. */
		if (!node->started)
			start(node);
		if (node->plain != NULL)
			found = next_plain(node, slot);
		else if (node->query != NULL)
			found = next_of_query(node, slot);
		if (found != NULL)
			return found;
		/* Of a parallel plan, another share. */
		if (node->shares != NULL && !node->finished)
		{
			finish(node);
			node->started = false;
		}
		else
			node->finished = true;
	}
	return ExecClearTuple(slot);
}

/* EvalPlanQual: the tuple is another version; the device's filters are not in
 * plan.qual, so they are checked here. */
static bool
recheck(ScanState *ss, TupleTableSlot *slot)
{
	return passes((ScanNode *) ss, slot);
}

static TupleTableSlot *
exec_scan(CustomScanState *css)
{
	ScanNode	   *node = (ScanNode *) css;
	TupleTableSlot *slot;

	(void) tb_profile_enter(node->profile, TB_CLOCK_RESULT);
	slot = ExecScan(&css->ss, (ExecScanAccessMtd) next_tuple, (ExecScanRecheckMtd) recheck);
	(void) tb_profile_enter(node->profile, TB_CLOCK_STOPPED);
	return slot;
}

/* Tells the others what was done with a share. */
static void
note_share(ScanNode *node)
{
	TbBlockStats plain = {0};

	add_block_stats(node->shares, node->plain ? &plain : &node->stats.blocks,
					node->rows_removed);
	node->rows_removed = 0;
}

static void
finish(ScanNode *node)
{
	bool ran = node->query != NULL || node->plain != NULL;

	if (node->query)
	{
		tb_heap_scan_stats(node->query, &node->stats);
		node->have_stats = true;
		node->rows_removed += node->stats.rows_excluded;
		tb_heap_scan_end(node->query);
		node->query = NULL;
	}
	if (node->shares != NULL && ran)
		note_share(node);
	if (node->plain)
	{
		table_endscan(node->plain);
		node->plain = NULL;
	}
	node->have_chunk = false;
	MemoryContextReset(node->context);
}

static void
end_scan(CustomScanState *css)
{
	ScanNode *node = (ScanNode *) css;

	(void) tb_profile_enter(node->profile, TB_CLOCK_PLAN);
	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	finish(node);
	tb_profile_end(node->profile);
	if (node->block_index.index_scan != NULL)
		ExecEndNode(node->block_index.index_scan);
}

static void
rescan(CustomScanState *css)
{
	ScanNode *node = (ScanNode *) css;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	finish(node);
	node->started = false;
	node->finished = false;
	if (node->block_index.index_scan != NULL)
		tb_block_index_scan_rescan(node->block_index.index_scan, css->ss.ps.chgParam);
	ExecScanReScan(&css->ss);
}

/* No row is wanted any more. */
static void
shutdown_scan(CustomScanState *css)
{
	ScanNode *node = (ScanNode *) css;

	if (node->shares == NULL)
	{
		if (node->query)
			tb_heap_scan_shut_down(node->query);
		return;
	}
	/* The shared memory goes now. */
	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	finish(node);
	node->finished = true;
	sum_block_stats(node->shares, &node->shared_stats, &node->shared_rows_removed);
	node->have_shared = true;
	node->shares = NULL;
}

static Size
estimate_shares(CustomScanState *css, ParallelContext *context)
{
	return sizeof(BlockShares);
}

static void
make_shares(CustomScanState *css, ParallelContext *context, void *coordinate)
{
	ScanNode *node = (ScanNode *) css;

	node->shares = coordinate;
	init_block_shares(node->shares, css->ss.ss_currentRelation, context->nworkers + 1);
}

static void
reset_shares(CustomScanState *css, ParallelContext *context, void *coordinate)
{
	((ScanNode *) css)->shares = coordinate;
	reset_block_shares(coordinate);
}

static void
attach_shares(CustomScanState *css, shm_toc *toc, void *coordinate)
{
	((ScanNode *) css)->shares = coordinate;
}

/* Filters, skipped blocks, the device and, after ANALYZE, what it did. Runs nothing. */
static void
explain_scan(CustomScanState *css, List *ancestors, ExplainState *es)
{
	ScanNode   *node = (ScanNode *) css;
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;
	Oid			relid = RelationGetRelid(css->ss.ss_currentRelation);
	double		removed = node->rows_removed;
	TbRunStats	stats;
	double		loops = css->ss.ps.instrument ? css->ss.ps.instrument->nloops : 0;

	/* What it will do. */
	tb_explain_filter("GPU Filter", list_nth(plan->custom_exprs, TB_SCAN_EXPRS_FILTERS),
					  &css->ss.ps, ancestors, es);
	tb_explain_index(&node->block_index.use, "",
					 list_nth(plan->custom_exprs, TB_SCAN_EXPRS_INDEX), &css->ss.ps,
					 ancestors, es);
	if (!es->analyze)
	{
		tb_explain_device_choice(relid, &node->work, es);
		return;
	}
	/* What this process did. */
	if (node->query)
	{
		tb_heap_scan_stats(node->query, &stats);
		removed += stats.rows_excluded;
	}
	/* What all processes did. */
	if (node->have_shared)
	{
		stats = node->stats;
		stats.blocks = node->shared_stats;
		removed = node->shared_rows_removed;
	}
	/* Figures. */
	if (loops > 0)
		ExplainPropertyFloat("Rows Removed by GPU Filter", NULL, removed / loops, 0, es);
	if (node->query || node->have_shared)
		tb_explain_stats(relid, &stats, es);
	else if (node->have_stats)
		tb_explain_stats(relid, &node->stats, es);
	else if (node->plain)
		ExplainPropertyText("Device", "none", es);
	tb_explain_times(node->profile, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = TB_GPU_SCAN_NAME,
	.BeginCustomScan = begin_scan,
	.ExecCustomScan = exec_scan,
	.EndCustomScan = end_scan,
	.ReScanCustomScan = rescan,
	.ShutdownCustomScan = shutdown_scan,
	.EstimateDSMCustomScan = estimate_shares,
	.InitializeDSMCustomScan = make_shares,
	.ReInitializeDSMCustomScan = reset_shares,
	.InitializeWorkerCustomScan = attach_shares,
	.ExplainCustomScan = explain_scan,
};

Node *
tb_scan_create_state(CustomScan *plan)
{
	ScanNode *node = (ScanNode *) newNode(sizeof(ScanNode), T_CustomScanState);

	node->css.methods = &exec_methods;
	return (Node *) node;
}
