/*
 * exec.c - GpuScan: returns the rows of a table that pass the filters.
 *
 * Phases:
 *   begin         expressions are prepared; nothing is sent
 *   first fetch   parameters are evaluated, the query starts
 *   fetches       chunks come in the order of blocks. A chunk's rows are those that the
 *                 device passed and those that it deferred, merged in row order
 *   end, rescan   the query ends; ShutdownCustomScan ends its parallel workers
 *
 * If the device did not filter a chunk, it is filtered here, with the same clauses, by
 * ExecQual. In a parallel plan each participant takes shares of the table's blocks
 * (block_shares.h) and runs a query for each.
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
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/convert/param_block.h"
#include "pg/stage/plan_private.h"
#include "pg/source/heap/relation_statistics.h"
#include "pg/errors/first_row.h"
#include "pg/nodes/scan/gpu_scan.h"
#include "pg/planner/relation_check.h"

static void
begin_scan(CustomScanState *css, EState *estate, int eflags)
{
	TbScanState *node = (TbScanState *) css;
	CustomScan	*plan = (CustomScan *) css->ss.ps.plan;

	node->profile = tb_profile_make(estate);

	/*
	 * ExecInitCustomScan has made a virtual scan slot. Tuples here are heap
	 * tuples, and so are those of EvalPlanQual: redo what depends on that.
	 */
	ExecInitScanTupleSlot(estate, &css->ss, RelationGetDescr(css->ss.ss_currentRelation),
						  &TTSOpsHeapTuple);
	ExecAssignScanProjectionInfoWithVarno(&css->ss, plan->scan.scanrelid);
	css->ss.ps.qual = ExecInitQual(plan->scan.plan.qual, &css->ss.ps);

	node->context = AllocSetContextCreate(estate->es_query_cxt, "GpuScan",
										  ALLOCSET_SMALL_SIZES);
	node->program = tb_private_program(plan, 0);
	node->work = tb_private_stage(plan, 0).work;
	if (tb_private_stage(plan, 0).brin_plan >= 0)
		tb_brin_scan_init(&node->brin, css,
						  list_nth(plan->custom_plans, tb_private_stage(plan, 0).brin_plan),
						  eflags);
	node->filters = ExecInitQual(list_nth(plan->custom_exprs, TB_SCAN_EXPRS_EVALUATED),
								 &css->ss.ps);
	node->param_states = ExecInitExprList(list_nth(plan->custom_exprs,
												   TB_SCAN_EXPRS_PARAMS),
										  &css->ss.ps);
	(void) tb_profile_enter(node->profile, TB_CLOCK_STOPPED);
}

/* Of these blocks, or of the whole table. */
static void
start_plain(TbScanState *node, const TbBlockSet *share)
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
evaluates_parameters(TbScanState *node)
{
	CustomScan *plan = (CustomScan *) node->css.ss.ps.plan;

	return tb_postgres_reaches_filters(node->css.ss.ss_currentRelation,
									   list_nth(plan->custom_exprs,
												TB_SCAN_EXPRS_EVALUATED),
									   node->filters,
									   list_nth(plan->custom_exprs, TB_SCAN_EXPRS_PARAMS),
									   &node->css.ss.ps);
}

/* The blocks that are this participant's next, or all that BRIN leaves. False: there are
 * none. */
static bool
choose_blocks(TbScanState *node, Relation rel, TbBlockSet **blocks)
{
	BlockNumber first;
	BlockNumber end;

	if (node->shares == NULL)
	{
		*blocks = tb_brin_scan_run(&node->brin, rel);
		return *blocks == NULL || tb_block_set_count(*blocks) > 0;
	}
	if (!tb_block_shares_take(node->shares, &first, &end))
		return false;
	*blocks = tb_block_set_of_range(first, end, node->shares->nblocks);
	return true;
}

static void
start_query(TbScanState *node)
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
start(TbScanState *node)
{
	TbClock before = tb_profile_enter(node->profile, TB_CLOCK_PLAN);

	start_query(node);
	(void) tb_profile_enter(node->profile, before);
}

/* Whether a tuple that the device did not filter passes. */
static bool
passes(TbScanState *node, TupleTableSlot *slot)
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
next_rowid(TbScanState *node, uint32 *rowid, bool *unfiltered)
{
	const TbRowChunk *chunk = &node->chunk;
	bool			  row = node->next_row < chunk->nrows;
	bool			  deferred = node->next_deferred < chunk->ndeferred;

	if (row && deferred)
		deferred = chunk->deferred[node->next_deferred] < chunk->rowids[node->next_row];
	if (deferred)
	{
		*rowid = chunk->deferred[node->next_deferred++];
		*unfiltered = true;
		return true;
	}
	if (row)
	{
		*rowid = chunk->rowids[node->next_row++];
		*unfiltered = chunk->evaluate;
		return true;
	}
	return false;
}

static bool
next_chunk(TbScanState *node)
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
next_plain(TbScanState *node, TupleTableSlot *slot)
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
next_of_query(TbScanState *node, TupleTableSlot *slot)
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

static void finish(TbScanState *node);

static TupleTableSlot *
next_tuple(ScanState *ss)
{
	TbScanState	   *node = (TbScanState *) ss;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;
	TupleTableSlot *found = NULL;

	while (!node->finished)
	{
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
	return passes((TbScanState *) ss, slot);
}

static TupleTableSlot *
exec_scan(CustomScanState *css)
{
	TbScanState	   *node = (TbScanState *) css;
	TupleTableSlot *slot;

	(void) tb_profile_enter(node->profile, TB_CLOCK_RESULT);
	slot = ExecScan(&css->ss, (ExecScanAccessMtd) next_tuple, (ExecScanRecheckMtd) recheck);
	(void) tb_profile_enter(node->profile, TB_CLOCK_STOPPED);
	return slot;
}

/* Tells the others what was done with a share. */
static void
note_share(TbScanState *node)
{
	TbBlockStats plain = {0};

	tb_block_shares_note(node->shares, node->plain ? &plain : &node->stats.blocks,
						 node->rows_removed);
	node->rows_removed = 0;
}

static void
finish(TbScanState *node)
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
	TbScanState *node = (TbScanState *) css;

	(void) tb_profile_enter(node->profile, TB_CLOCK_PLAN);
	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	finish(node);
	tb_profile_end(node->profile);
	if (node->brin.index_scan != NULL)
		ExecEndNode(node->brin.index_scan);
}

static void
rescan(CustomScanState *css)
{
	TbScanState *node = (TbScanState *) css;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	finish(node);
	node->started = false;
	node->finished = false;
	if (node->brin.index_scan != NULL)
		tb_brin_scan_rescan(node->brin.index_scan, css->ss.ps.chgParam);
	ExecScanReScan(&css->ss);
}

/* No row is wanted any more. */
static void
shutdown_scan(CustomScanState *css)
{
	TbScanState *node = (TbScanState *) css;

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
	tb_block_shares_sum(node->shares, &node->shared_stats, &node->shared_rows_removed);
	node->have_shared = true;
	node->shares = NULL;
}

static Size
estimate_shares(CustomScanState *css, ParallelContext *context)
{
	return sizeof(TbBlockShares);
}

static void
make_shares(CustomScanState *css, ParallelContext *context, void *coordinate)
{
	TbScanState *node = (TbScanState *) css;

	node->shares = coordinate;
	tb_block_shares_init(node->shares, css->ss.ss_currentRelation, context->nworkers + 1);
}

static void
reset_shares(CustomScanState *css, ParallelContext *context, void *coordinate)
{
	((TbScanState *) css)->shares = coordinate;
	tb_block_shares_reset(coordinate);
}

static void
attach_shares(CustomScanState *css, shm_toc *toc, void *coordinate)
{
	((TbScanState *) css)->shares = coordinate;
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
	.ExplainCustomScan = tb_scan_explain,
};

Node *
tb_scan_create_state(CustomScan *plan)
{
	TbScanState *node = (TbScanState *) newNode(sizeof(TbScanState), T_CustomScanState);

	node->css.methods = &exec_methods;
	return (Node *) node;
}
