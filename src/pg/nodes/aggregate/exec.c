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
 * Where equal numerics that print differently may be in one group, all groups are
 * looked at, and kept, before the first is returned: if it matters which of
 * them PostgreSQL would show, it is asked. The same where groups of all keys are folded
 * to those of grouping sets.
 *
 * Owns: the run of the stages, the kept groups, and the kept plan's state once it
 * exists. Values live in the per-tuple memory context. Called by the executor. Must never fall back
 * after a group has been returned.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "pg/bridge/failure.h"
#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/plan_private.h"
#include "pg/supervisor/stat_queries.h"

#define SCALES_DIFFER "equal numerics print with different scales"

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
	node->sets = tb_private_sets(plan);
	/* The kept plan's tuples are returned in its own kind of slot. */
	css->ss.ps.resultopsfixed = false;
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

/* The next group of the batch into the scan slot. */
static TupleTableSlot *
store_row(TbPreAggState *node, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);

	tb_final_row(node->outputs, node->noutputs, node->batch, node->next_row++,
				 slot->tts_values, slot->tts_isnull);
	MemoryContextSwitchTo(old);
	slot->tts_isnull[node->noutputs] = true;	/* the notes of the plan */
	return ExecStoreVirtualTuple(slot);
}

static bool
has_row(const TbPreAggState *node)
{
	return node->batch != NULL && node->next_row < node->batch->nrows;
}

/* What a device has computed is not what PostgreSQL would show, or not all of it. */
static void
give_up_on_value(TbPreAggState *node, const char *message)
{
	TbFailure	why;

	tb_failure_set(&why, TB_FALLBACK_VALUE, "%s", message);
	tb_stat_fallback(&why, tb_stage_run_table_name(node->run));
	end_run(node);
	fall_back(node, message);
}

/* Keeps the row in the slot. */
static void
keep_row(TbPreAggState *node, TupleTableSlot *slot)
{
	CHECK_FOR_INTERRUPTS();
	tuplestore_puttupleslot(node->checked, slot);
	ExecClearTuple(slot);
	ResetExprContext(node->css.ss.ps.ps_ExprContext);
}

/* The group as rows of the sets that have all keys, and into those of the others. */
static bool
fold_group(TbPreAggState *node, TbSetFold *fold, TupleTableSlot *slot)
{
	ExprContext *econtext = node->css.ss.ps.ps_ExprContext;
	uint32		row = node->next_row++;
	const char *why;

	if (!tb_set_fold_add(fold, node->batch, row, &why))
	{
		give_up_on_value(node, why);
		return false;
	}
	for (int number = 0;; number++)
	{
		MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
		bool		more = tb_set_fold_whole_row(fold, number, node->batch, row,
												 slot->tts_values, slot->tts_isnull);

		MemoryContextSwitchTo(old);
		if (!more)
			return true;
		slot->tts_isnull[node->noutputs] = true;	/* the notes of the plan */
		keep_row(node, ExecStoreVirtualTuple(slot));
	}
}

/* Rows of the other sets, after the last group. */
static bool
keep_folded(TbPreAggState *node, TbSetFold *fold, TupleTableSlot *slot)
{
	ExprContext *econtext = node->css.ss.ps.ps_ExprContext;

	for (;;)
	{
		MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
		bool		ambiguous = false;
		bool		more = tb_set_fold_next(fold, slot->tts_values, slot->tts_isnull,
											&ambiguous);

		MemoryContextSwitchTo(old);
		if (!more)
			return true;
		if (ambiguous)
		{
			give_up_on_value(node, SCALES_DIFFER);
			return false;
		}
		slot->tts_isnull[node->noutputs] = true;
		keep_row(node, ExecStoreVirtualTuple(slot));
	}
}

/* All groups into node->checked; false, having fallen back, if PostgreSQL must
 * say how one prints, or fold grouping sets. */
static bool
check_groups(TbPreAggState *node, TupleTableSlot *slot)
{
	TbSetFold  *fold = NULL;
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);

	node->checked = tuplestore_begin_heap(false, false, work_mem);
	if (node->checked_slot == NULL)
		node->checked_slot = ExecInitExtraTupleSlot(node->css.ss.ps.state,
													slot->tts_tupleDescriptor,
													&TTSOpsMinimalTuple);
	if (node->sets != NULL)
		fold = tb_set_fold_begin(&node->css.ss.ps, node->sets, node->program, node->outputs,
								 node->noutputs, slot->tts_tupleDescriptor);
	MemoryContextSwitchTo(old);
	while (!node->finished && (has_row(node) || next_batch(node)))
	{
		if (!has_row(node))
			continue;
		if (!tb_final_is_unambiguous(node->outputs, node->noutputs, node->batch, node->next_row))
		{
			give_up_on_value(node, SCALES_DIFFER);
			break;
		}
		if (fold == NULL)
			keep_row(node, store_row(node, slot));
		else if (!fold_group(node, fold, slot))
			break;
	}
	node->finished = true;
	if (fold != NULL)
	{
		if (!node->falling_back)
			(void) keep_folded(node, fold, slot);
		tb_set_fold_end(fold);
	}
	return !node->falling_back;
}

static bool
next_checked(TbPreAggState *node, TupleTableSlot *slot)
{
	if (!tuplestore_gettupleslot(node->checked, true, false, node->checked_slot))
		return false;
	ExecCopySlot(slot, node->checked_slot);
	node->returned_row = true;
	return true;
}

static void
forget_checked(TbPreAggState *node)
{
	if (node->checked_slot != NULL)
		ExecClearTuple(node->checked_slot);
	if (node->checked != NULL)
		tuplestore_end(node->checked);
	node->checked = NULL;
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
	if (!node->falling_back && node->checked == NULL &&
		(node->sets != NULL ||
		 (!node->finished && tb_final_may_be_ambiguous(node->outputs, node->noutputs))))
	{
		if (!check_groups(node, slot))
			return slot;
	}
	if (node->checked != NULL && !node->falling_back && next_checked(node, slot))
		return slot;
	while (!node->finished && !node->falling_back)
	{
		if (has_row(node))
		{
			node->returned_row = true;
			return store_row(node, slot);
		}
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
	forget_checked(node);
	end_run(node);
	tb_stage_run_end_plans(node->run);
}

static void
rescan(CustomScanState *css)
{
	TbPreAggState *node = (TbPreAggState *) css;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	forget_checked(node);
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
