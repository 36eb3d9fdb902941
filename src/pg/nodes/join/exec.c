/*
 * exec.c - GpuJoin: returns the joined rows.
 *
 * Phases: BeginCustomScan prepares expressions only. The first fetch runs all
 * stages; then rows come in batches, each turned into a tuple of the scan slot
 * (custom_scan_tlist), which ExecScan projects. If the run gives up, PostgreSQL's
 * kept plan is initialized: it returns the same columns, which go the same way.
 *
 * Owns: the run of the stages, and the kept plan's state once it exists. Values
 * live in the per-tuple memory context. Called by the executor. Must never fall
 * back after a row has been returned.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "pg/nodes/join/gpu_join.h"
#include "pg/nodes/plan_private.h"

static void
begin_join(CustomScanState *css, EState *estate, int eflags)
{
	TbJoinState *node = (TbJoinState *) css;
	Size		size;

	node->run = tb_stage_run_make(css, eflags);
	node->outputs = tb_private_outputs((CustomScan *) css->ss.ps.plan, &size);
	node->noutputs = size / sizeof(TbOutput);
}

static void
fall_back(TbJoinState *node, const char *why)
{
	node->falling_back = true;
	strlcpy(node->fallback_message, why, sizeof(node->fallback_message));
	(void) tb_stage_run_kept(node->run);
}

static void
end_run(TbJoinState *node)
{
	tb_stage_run_end(node->run);
	node->batch = NULL;
}

/* Starts the run, or falls back. */
static void
start(TbJoinState *node)
{
	TbFailure	why;

	node->started = true;
	switch (tb_stage_run_start(node->run, &why))
	{
		case TB_RUN_STARTED:
			break;
		case TB_RUN_EMPTY:
			node->finished = true;
			break;
		case TB_RUN_FALLBACK:
			fall_back(node, why.message);
			break;
	}
}

/* Moves to the next batch; false at the end, or falls back. */
static bool
next_batch(TbJoinState *node)
{
	TbFailure	why;

	switch (tb_stage_run_next(node->run, &node->batch, &why))
	{
		case TB_GROUPS_BATCH:
			node->next_row = 0;
			return true;
		case TB_GROUPS_FALLBACK:
			if (node->returned_row)
				elog(ERROR, "pg_turbine gave up after returning rows: %s", why.message);
			end_run(node);
			fall_back(node, why.message);
			return false;
		default:
			node->batch = NULL;
			node->finished = true;
			return false;
	}
}

/* A row of the batch into the scan slot. */
static TupleTableSlot *
store_row(TbJoinState *node, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);

	tb_final_row(node->outputs, node->noutputs, node->batch, node->next_row++,
				 slot->tts_values, slot->tts_isnull);
	MemoryContextSwitchTo(old);
	slot->tts_isnull[node->noutputs] = true;	/* the notes of the plan */
	node->returned_row = true;
	return ExecStoreVirtualTuple(slot);
}

/* A row of the kept plan into the scan slot; valid until its next one. */
static TupleTableSlot *
store_kept(TbJoinState *node, TupleTableSlot *slot)
{
	TupleTableSlot *kept = ExecProcNode(tb_stage_run_kept(node->run));

	if (TupIsNull(kept))
		return slot;
	slot_getallattrs(kept);
	memcpy(slot->tts_values, kept->tts_values, node->noutputs * sizeof(Datum));
	memcpy(slot->tts_isnull, kept->tts_isnull, node->noutputs * sizeof(bool));
	slot->tts_isnull[node->noutputs] = true;
	return ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
next_row(ScanState *ss)
{
	TbJoinState *node = (TbJoinState *) ss;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;

	ExecClearTuple(slot);
	if (!node->started)
		start(node);
	while (!node->finished && !node->falling_back)
	{
		if (node->batch != NULL && node->next_row < node->batch->nrows)
			return store_row(node, slot);
		if (!next_batch(node))
			break;
	}
	return node->falling_back ? store_kept(node, slot) : slot;
}

static bool
recheck(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
exec_join(CustomScanState *css)
{
	return ExecScan(&css->ss, (ExecScanAccessMtd) next_row,
					(ExecScanRecheckMtd) recheck);
}

static void
end_join(CustomScanState *css)
{
	TbJoinState *node = (TbJoinState *) css;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	end_run(node);
	tb_stage_run_end_plans(node->run);
}

static void
rescan(CustomScanState *css)
{
	TbJoinState *node = (TbJoinState *) css;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	end_run(node);
	node->started = false;
	node->finished = false;
	node->returned_row = false;
	node->falling_back = false;
	/* The kept plan, once made, is used again if it is needed again. */
	tb_stage_run_rescan_plans(node->run);
	ExecScanReScan(&css->ss);
}

static const CustomExecMethods exec_methods = {
	.CustomName = TB_GPU_JOIN_NAME,
	.BeginCustomScan = begin_join,
	.ExecCustomScan = exec_join,
	.EndCustomScan = end_join,
	.ReScanCustomScan = rescan,
	.ExplainCustomScan = tb_join_explain,
};

Node *
tb_join_create_state(CustomScan *plan)
{
	TbJoinState *node = (TbJoinState *) newNode(sizeof(TbJoinState), T_CustomScanState);

	node->css.methods = &exec_methods;
	return (Node *) node;
}
