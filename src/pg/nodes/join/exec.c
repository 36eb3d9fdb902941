/*
 * exec.c - GpuJoin: returns the joined rows.
 *
 * Phases:
 *   begin         expressions are prepared; nothing is sent
 *   first fetch   all stages run
 *   fetches       rows come in batches. Each becomes a tuple of the scan slot
 *                 (custom_scan_tlist), which ExecScan projects
 *
 * A row that devices left undecided is marked. The plan's filter, which is true of all
 * others, is evaluated by ExecScan.
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
#include "pg/nodes/join/projection.h"
#include "pg/shmem/query_counters.h"
#include "pg/stage/explain.h"

/* The column of that mark; -1: no row is undecided. */
static int
undecided_column(const CustomScan *plan)
{
	ListCell *lc;

	foreach(lc, plan->custom_scan_tlist)
	{
		const char *name = lfirst_node(TargetEntry, lc)->resname;

		if (name != NULL && strcmp(name, TB_UNDECIDED_COLUMN) == 0)
			return foreach_current_index(lc);
	}
	return -1;
}

static void
begin_join(CustomScanState *css, EState *estate, int eflags)
{
	TbRunCursor *cursor = &((TbJoinState *) css)->cursor;

	((TbJoinState *) css)->undecided = undecided_column((CustomScan *) css->ss.ps.plan);
	tb_run_cursor_open(cursor, css, eflags);
	tb_run_cursor_leave_unread(cursor);
}

/* A row of the kept plan into the scan slot; valid until its next one. It is decided, and
 * has no columns for PostgreSQL to decide by. */
static TupleTableSlot *
store_kept(TbRunCursor *cursor, TupleTableSlot *slot, int undecided)
{
	TupleTableSlot *kept = tb_run_cursor_kept_tuple(cursor);
	int				columns = undecided >= 0 ? undecided : cursor->noutputs;

	if (TupIsNull(kept))
		return slot;
	slot_getallattrs(kept);
	memcpy(slot->tts_values, kept->tts_values, columns * sizeof(Datum));
	memcpy(slot->tts_isnull, kept->tts_isnull, columns * sizeof(bool));
	for (int i = columns; i < cursor->noutputs; i++)
		slot->tts_isnull[i] = true;
	slot->tts_isnull[cursor->noutputs] = true;
	return ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
next_row(ScanState *ss)
{
	TbJoinState	   *node = (TbJoinState *) ss;
	TbRunCursor	   *cursor = &node->cursor;
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
		slot = tb_run_cursor_store(cursor, slot);
		if (node->undecided >= 0)
			node->sent += !slot->tts_isnull[node->undecided] &&
				DatumGetBool(slot->tts_values[node->undecided]);
		return slot;
	}
	return cursor->falling_back ? store_kept(cursor, slot, node->undecided) : slot;
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
	tb_stat_add(TB_COUNTER_ROWS_UNDECIDED, ((TbJoinState *) css)->sent);
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

/* What stages show, and how many rows PostgreSQL had to decide. */
void
tb_join_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	uint64 sent = ((TbJoinState *) css)->sent;

	if (es->analyze && sent > 0)
		ExplainPropertyUInteger("Sent to PostGIS", NULL, sent, es);
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
