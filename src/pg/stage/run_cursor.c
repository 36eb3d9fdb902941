/*
 * run_cursor.c - see run_cursor.h.
 *
 * Owns the run of the stages, and through it the kept plan's state. Called by the
 * nodes' exec.c. Must never fall back after a row has been returned.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"

#include "pg/stage/plan_private.h"
#include "pg/stage/run_cursor.h"

void
tb_run_cursor_open(TbRunCursor *cursor, CustomScanState *css, int eflags)
{
	Size	   size;
	TbProfile *profile = tb_profile_make(css->ss.ps.state);

	cursor->run = tb_stage_run_make(css, eflags);
	cursor->run->profile = profile;
	cursor->outputs = tb_private_outputs((CustomScan *) css->ss.ps.plan, &size);
	cursor->noutputs = size / sizeof(TbOutput);
	tb_run_cursor_leave(cursor);
}

void
tb_run_cursor_leave_unread(TbRunCursor *cursor)
{
	const Plan *plan = cursor->run->css->ss.ps.plan;
	TbOutput   *outputs = palloc(sizeof(TbOutput) * Max(cursor->noutputs, 1));
	Bitmapset  *read = NULL;
	uint64		read_columns = 0;
	uint64		columns = 0;

	pull_varattnos((Node *) plan->targetlist, INDEX_VAR, &read);
	pull_varattnos((Node *) plan->qual, INDEX_VAR, &read);
	for (int i = 0; i < cursor->noutputs; i++)
	{
		outputs[i] = cursor->outputs[i];
		columns |= tb_output_columns(&outputs[i]);
		if (bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, read))
			read_columns |= tb_output_columns(&outputs[i]);
		else
			outputs[i] = (TbOutput) {.kind = TB_OUT_UNREAD,
									 .display = TB_NONE,
									 .least_display = TB_NONE};
	}
	bms_free(read);
	cursor->outputs = outputs;
	cursor->run->unread_columns = columns & ~read_columns;
}

void
tb_run_cursor_enter(TbRunCursor *cursor)
{
	(void) tb_profile_enter(cursor->run->profile, TB_CLOCK_RESULT);
}

void
tb_run_cursor_leave(TbRunCursor *cursor)
{
	(void) tb_profile_enter(cursor->run->profile, TB_CLOCK_STOPPED);
}

TupleTableSlot *
tb_run_cursor_kept_tuple(TbRunCursor *cursor)
{
	TbClock			before = tb_profile_enter(cursor->run->profile, TB_CLOCK_FALLBACK);
	TupleTableSlot *slot;

	Assert(cursor->falling_back);
	slot = ExecProcNode(tb_stage_run_kept(cursor->run));
	(void) tb_profile_enter(cursor->run->profile, before);
	return slot;
}

static void
end_run(TbRunCursor *cursor)
{
	tb_stage_run_end(cursor->run);
	cursor->batch = NULL;
}

void
tb_run_cursor_fall_back(TbRunCursor *cursor, const char *why)
{
	Assert(!cursor->returned_row && !cursor->falling_back);
	end_run(cursor);
	cursor->falling_back = true;
	strlcpy(cursor->fallback_message, why, sizeof(cursor->fallback_message));
	(void) tb_stage_run_kept(cursor->run);
}

void
tb_run_cursor_start(TbRunCursor *cursor)
{
	TbFailure why;
	TbClock	  before;

	if (cursor->started)
		return;
	cursor->started = true;
	before = tb_profile_enter(cursor->run->profile, TB_CLOCK_PLAN);
	switch (tb_stage_run_start(cursor->run, &why))
	{
		case TB_RUN_STARTED:
			break;
		case TB_RUN_EMPTY:
			cursor->finished = true;
			break;
		case TB_RUN_FALLBACK:
			tb_run_cursor_fall_back(cursor, why.message);
			break;
	}
	(void) tb_profile_enter(cursor->run->profile, before);
}

/* False at the end, or if the run falls back. */
static bool
next_batch(TbRunCursor *cursor)
{
	TbFailure why;

	switch (tb_stage_run_next(cursor->run, &cursor->batch, &why))
	{
		case TB_RESULTS_BATCH:
			cursor->next_row = 0;
			return true;
		case TB_RESULTS_FALLBACK:
			if (cursor->returned_row)
				elog(ERROR, "pg_turbine gave up after returning rows: %s", why.message);
			tb_run_cursor_fall_back(cursor, why.message);
			return false;
		default:
			cursor->batch = NULL;
			cursor->finished = true;
			return false;
	}
}

bool
tb_run_cursor_advance(TbRunCursor *cursor)
{
	while (!cursor->finished && !cursor->falling_back)
	{
		if (cursor->batch != NULL && cursor->next_row < cursor->batch->nrows)
			return true;
		if (!next_batch(cursor))
			break;
	}
	return false;
}

TupleTableSlot *
tb_run_cursor_store(TbRunCursor *cursor, TupleTableSlot *slot)
{
	ExprContext	 *econtext = cursor->run->css->ss.ps.ps_ExprContext;
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

	Assert(cursor->batch != NULL && cursor->next_row < cursor->batch->nrows);
	tb_final_row(cursor->outputs, cursor->noutputs, cursor->batch, cursor->next_row++,
				 slot->tts_values, slot->tts_isnull);
	MemoryContextSwitchTo(old);
	slot->tts_isnull[cursor->noutputs] = true; /* the notes of the plan */
	return ExecStoreVirtualTuple(slot);
}

const TbResultBatch *
tb_run_cursor_take_batch(TbRunCursor *cursor, uint32 *first)
{
	Assert(cursor->batch != NULL && cursor->next_row < cursor->batch->nrows);
	*first = cursor->next_row;
	cursor->next_row = cursor->batch->nrows;
	cursor->returned_row = true;
	return cursor->batch;
}

void
tb_run_cursor_rescan(TbRunCursor *cursor)
{
	end_run(cursor);
	cursor->started = false;
	cursor->finished = false;
	cursor->returned_row = false;
	cursor->falling_back = false;
	tb_stage_run_rescan_plans(cursor->run);
}

void
tb_run_cursor_close(TbRunCursor *cursor)
{
	(void) tb_profile_enter(cursor->run->profile, TB_CLOCK_PLAN);
	end_run(cursor);
	tb_profile_end(cursor->run->profile);
	tb_stage_run_end_plans(cursor->run);
}
