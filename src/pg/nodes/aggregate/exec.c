/*
 * exec.c - GpuPreAgg: returns the groups of an aggregation.
 *
 * Phases: BeginCustomScan prepares expressions only. The first fetch runs all
 * stages, the last one's whole input too; then groups come in batches, each turned
 * into a tuple of the scan slot (custom_scan_tlist), on which ExecScan evaluates
 * HAVING and the target list. If the run gives up before its first group,
 * PostgreSQL's kept plan is initialized and its tuples are returned as they are: it
 * computes the same target list and HAVING.
 *
 * Owns: the run of the stages, and the kept plan's state once it exists. Values live
 * in the per-tuple memory context. Called by the executor. Must never fall back
 * after a group has been returned.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/plan_private.h"

static void
begin_preagg(CustomScanState *css, EState *estate, int eflags)
{
	TbPreAggState *node = (TbPreAggState *) css;
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;
	Size		size;

	node->run = tb_stage_run_make(css, eflags);
	node->program = node->run->stages[node->run->nstages - 1].program;
	node->outputs = tb_private_outputs(plan, &size);
	node->noutputs = size / sizeof(TbOutput);
}

static void
fall_back(TbPreAggState *node, const char *why)
{
	node->falling_back = true;
	strlcpy(node->fallback_message, why, sizeof(node->fallback_message));
	(void) tb_stage_run_kept(node->run);
}

static void
end_run(TbPreAggState *node)
{
	tb_stage_run_end(node->run);
	node->batch = NULL;
}

/* Starts the run, or falls back. */
static void
start(TbPreAggState *node)
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
next_batch(TbPreAggState *node)
{
	TbFailure	why;

	switch (tb_stage_run_next(node->run, &node->batch, &why))
	{
		case TB_GROUPS_BATCH:
			node->next_row = 0;
			return true;
		case TB_GROUPS_FALLBACK:
			if (node->returned_row)
				elog(ERROR, "pg_turbine gave up after returning groups: %s", why.message);
			end_run(node);
			fall_back(node, why.message);
			return false;
		default:
			node->batch = NULL;
			node->finished = true;
			return false;
	}
}

/* A group into the scan slot. */
static TupleTableSlot *
store_row(TbPreAggState *node, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);

	tb_final_row(node->outputs, node->noutputs, node->batch, node->next_row++,
				 slot->tts_values, slot->tts_isnull);
	MemoryContextSwitchTo(old);
	slot->tts_isnull[node->noutputs] = true;	/* the notes of the plan */
	node->returned_row = true;
	return ExecStoreVirtualTuple(slot);
}

/* Without keys there is a row even of no input. */
static TupleTableSlot *
store_empty(TbPreAggState *node, TupleTableSlot *slot)
{
	tb_final_empty(node->outputs, node->noutputs, node->program,
				   slot->tts_values, slot->tts_isnull);
	slot->tts_isnull[node->noutputs] = true;
	node->returned_row = true;
	return ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
next_group(ScanState *ss)
{
	TbPreAggState *node = (TbPreAggState *) ss;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;

	ExecClearTuple(slot);
	while (!node->finished && !node->falling_back)
	{
		if (node->batch != NULL && node->next_row < node->batch->nrows)
			return store_row(node, slot);
		if (!next_batch(node))
			break;
	}
	if (node->finished && !node->returned_row && node->program->keys.count == 0)
		return store_empty(node, slot);
	return slot;
}

static bool
recheck(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
exec_preagg(CustomScanState *css)
{
	TbPreAggState *node = (TbPreAggState *) css;
	TupleTableSlot *slot;

	if (!node->started)
		start(node);
	if (!node->falling_back)
	{
		slot = ExecScan(&css->ss, (ExecScanAccessMtd) next_group,
						(ExecScanRecheckMtd) recheck);
		if (!node->falling_back)
			return slot;
	}
	return ExecProcNode(tb_stage_run_kept(node->run));
}

static void
end_preagg(CustomScanState *css)
{
	TbPreAggState *node = (TbPreAggState *) css;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	end_run(node);
	tb_stage_run_end_plans(node->run);
}

static void
rescan(CustomScanState *css)
{
	TbPreAggState *node = (TbPreAggState *) css;

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
	.CustomName = TB_GPU_PREAGG_NAME,
	.BeginCustomScan = begin_preagg,
	.ExecCustomScan = exec_preagg,
	.EndCustomScan = end_preagg,
	.ReScanCustomScan = rescan,
	.ExplainCustomScan = tb_preagg_explain,
};

Node *
tb_preagg_create_state(CustomScan *plan)
{
	TbPreAggState *node = (TbPreAggState *) newNode(sizeof(TbPreAggState), T_CustomScanState);

	node->css.methods = &exec_methods;
	return (Node *) node;
}
