/*
 * exec.c - GpuJoin: returns the joined rows.
 *
 * Phases:
 *   begin         expressions are prepared; nothing is sent
 *   first fetch   all stages run
 *   fetches       rows come in batches. Each becomes a tuple of the scan slot
 *                 (custom_scan_tlist), which ExecScan projects
 *
 * If the run gives up, PostgreSQL's kept plan is initialized. It returns the same
 * columns, which take the same way.
 *
 * Owns the cursor over the run, which owns the rest. Values live in the per-tuple memory
 * context. Called by the executor. Must never fall back after it has returned a row.
 */
#include "postgres.h"

#include "executor/executor.h"

#include "pg/compat/pg18.h"
#include "pg/nodes/join/gpu_join.h"
#include "pg/stage/explain.h"

static void
begin_join(CustomScanState *css, EState *estate, int eflags)
{
	TbRunCursor *cursor = &((TbJoinState *) css)->cursor;

	tb_run_cursor_open(cursor, css, eflags);
	tb_run_cursor_leave_unread(cursor);
}

/* A row of the kept plan into the scan slot; valid until its next one. */
static TupleTableSlot *
store_kept(TbRunCursor *cursor, TupleTableSlot *slot)
{
	TupleTableSlot *kept = tb_run_cursor_kept_tuple(cursor);

	if (TupIsNull(kept))
		return slot;
	slot_getallattrs(kept);
	memcpy(slot->tts_values, kept->tts_values, cursor->noutputs * sizeof(Datum));
	memcpy(slot->tts_isnull, kept->tts_isnull, cursor->noutputs * sizeof(bool));
	slot->tts_isnull[cursor->noutputs] = true;
	return ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
next_row(ScanState *ss)
{
	TbRunCursor	   *cursor = &((TbJoinState *) ss)->cursor;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;

	ExecClearTuple(slot);
	/* Its rows have been taken another way. */
	if (cursor->pauses)
		return slot;
	tb_run_cursor_leave_stream(cursor);
	tb_run_cursor_start(cursor);
	if (tb_run_cursor_advance(cursor))
	{
		cursor->returned_row = true;
		return tb_run_cursor_store(cursor, slot);
	}
	return cursor->falling_back ? store_kept(cursor, slot) : slot;
}

static bool
recheck(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
exec_join(CustomScanState *css)
{
	TbRunCursor	   *cursor = &((TbJoinState *) css)->cursor;
	TupleTableSlot *slot;

	tb_run_cursor_enter(cursor);
	slot = ExecScan(&css->ss, (ExecScanAccessMtd) next_row, (ExecScanRecheckMtd) recheck);
	tb_run_cursor_leave(cursor);
	return slot;
}

static void
end_join(CustomScanState *css)
{
	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	tb_run_cursor_close(&((TbJoinState *) css)->cursor);
}

static void
rescan(CustomScanState *css)
{
	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	tb_run_cursor_rescan(&((TbJoinState *) css)->cursor);
	ExecScanReScan(&css->ss);
}

/* All of it is what stages show, since a join has nothing of its own. */
void
tb_join_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	tb_explain_run(&((TbJoinState *) css)->cursor, ancestors, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = TB_GPU_JOIN_NAME,
	.BeginCustomScan = begin_join,
	.ExecCustomScan = exec_join,
	.EndCustomScan = end_join,
	.ReScanCustomScan = rescan,
	.ExplainCustomScan = tb_join_explain,
};

TbRunCursor *
tb_join_bare_cursor(PlanState *state, List **outputs)
{
	TbRunCursor *cursor;
	ListCell	*lc;

	if (state == NULL || !IsA(state, CustomScanState) ||
		((CustomScanState *) state)->methods->ExecCustomScan != exec_join ||
		state->plan->qual != NIL)
		return NULL;
	cursor = &((TbJoinState *) state)->cursor;
	*outputs = NIL;
	foreach(lc, state->plan->targetlist)
	{
		const TargetEntry *entry = lfirst(lc);
		const Var		  *var = (const Var *) entry->expr;

		if (entry->resjunk) /* of the order alone; behind all others */
			continue;
		if (!IsA(var, Var) || var->varno != INDEX_VAR || var->varattno < 1 ||
			var->varattno > cursor->noutputs)
			return NULL;
		if (cursor->outputs[var->varattno - 1].kind == TB_OUT_FETCHED)
			return NULL;
		*outputs = lappend(*outputs, &cursor->outputs[var->varattno - 1]);
	}
	return cursor;
}

Node *
tb_join_create_state(CustomScan *plan)
{
	TbJoinState *node = (TbJoinState *) newNode(sizeof(TbJoinState), T_CustomScanState);

	node->css.methods = &exec_methods;
	return (Node *) node;
}
