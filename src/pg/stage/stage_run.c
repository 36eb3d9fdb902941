/*
 * stage_run.c - runs the stages of a node, and a cursor over what they deliver, see
 * stage_run.h.
 *
 * Phases: connect and announce all programs (if there are several stages), run each BUILD
 * to its end, start the last stage, return its results. The run ends early if a table
 * that every row must match is empty. If anything fails, PostgreSQL's plan runs.
 *
 * Owns the connection of the stages, the program under way, and the kept plan's state. The
 * end of a run releases the first two, or the resource owner does. Called by the nodes'
 * exec.c.
 *
 * Must not evaluate a table's parameters before something is known to be read there: they
 * might raise an error that PostgreSQL would not raise. Must never fall back after a row
 * has been returned, but behind rows that a stream has brought.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "utils/memutils.h"

#include "pg/bridge/failure.h"
#include "pg/convert/param_block.h"
#include "pg/errors/first_row.h"
#include "pg/errors/may_raise.h"
#include "pg/planner/relation_check.h"
#include "pg/shmem/device_list.h"
#include "pg/shmem/query_counters.h"
#include "pg/source/heap/block_index_scan.h"
#include "pg/stage/stage_input.h"
#include "pg/stage/plan_private.h"
#include "pg/stage/stage_run.h"

/* ---- The run ---- */

typedef enum RunStart
{
	TB_RUN_STARTED,
	TB_RUN_EMPTY,	/* no row can come out */
	TB_RUN_FALLBACK /* PostgreSQL's plan must run, see *why */
} RunStart;

/* Literals, and parameters that have their value already. */
static bool
are_harmless(List *exprs)
{
	ListCell *lc;

	foreach(lc, exprs)
	{
		Node *expr = lfirst(lc);

		if (!IsA(expr, Const) &&
			!(IsA(expr, Param) && ((Param *) expr)->paramkind == PARAM_EXTERN))
			return false;
	}
	return true;
}

static void
prepare_stage(TbStageRun *run, int index, int eflags)
{
	CustomScan *plan = tb_stages_plan((CustomScan *) run->css->ss.ps.plan);
	TbRunStage *stage = &run->stages[index];
	List	   *params = list_nth(plan->custom_exprs, index);

	stage->info = tb_private_stage(plan, index);
	stage->program = tb_private_program(plan, index);
	stage->params = ExecInitExprList(params, &run->css->ss.ps);
	stage->harmless = are_harmless(params);
	stage->input = tb_stage_input_make(run->css, index, eflags);
}

/* Prepares expressions, and the plans whose rows are sent, which become the first
 * of custom_ps; lives as long as the executor state. */
static TbStageRun *
make_run(CustomScanState *css, int eflags)
{
	CustomScan *own = (CustomScan *) css->ss.ps.plan;
	CustomScan *plan = tb_stages_plan(own);
	TbStageRun *run = palloc0(sizeof(TbStageRun));

	run->css = css;
	run->groups = tb_private_groups(plan);
	run->result = tb_private_result(plan);
	run->continuation = tb_private_continuation(own);
	if (own != plan)
		run->continuation_params = ExecInitExprList(linitial(own->custom_exprs),
													&css->ss.ps);
	run->nstages = tb_private_nstages(plan);
	Assert(run->nstages > 0);
	run->stages = palloc0(sizeof(TbRunStage) * run->nstages);
	run->context = AllocSetContextCreate(css->ss.ps.state->es_query_cxt,
										 "pg_turbine stages", ALLOCSET_SMALL_SIZES);
	for (int i = 0; i < run->nstages; i++)
		prepare_stage(run, i, eflags & ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));
	return run;
}

/* The kept plan, initialized behind the others of custom_ps when first asked for. */
static PlanState *
kept_plan(TbStageRun *run)
{
	CustomScanState *css = run->css;
	EState			*estate = css->ss.ps.state;
	MemoryContext	 old;

	if (run->kept != NULL)
		return run->kept;
	old = MemoryContextSwitchTo(estate->es_query_cxt);
	run->kept = ExecInitNode(linitial(((CustomScan *) css->ss.ps.plan)->custom_plans),
							 estate, 0);
	css->custom_ps = lappend(css->custom_ps, run->kept);
	MemoryContextSwitchTo(old);
	return run->kept;
}

/* Ends all of custom_ps. */
static void
end_plans(TbStageRun *run)
{
	ListCell *lc;

	foreach(lc, run->css->custom_ps)
		ExecEndNode(lfirst(lc));
}

/* Rescans all of custom_ps. */
static void
rescan_plans(TbStageRun *run)
{
	ListCell *lc;

	foreach(lc, run->css->custom_ps)
	{
		PlanState *plan = lfirst(lc);

		if (tb_is_index_scan(plan))
		{
			tb_block_index_scan_rescan(plan, run->css->ss.ps.chgParam);
			continue;
		}
		if (run->css->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(plan, run->css->ss.ps.chgParam);
		ExecReScan(plan);
	}
}

static bool
is_last(const TbStageRun *run, int index)
{
	return index == run->nstages - 1;
}

static uint32
device_of(const TbStageRun *run, int index)
{
	const TbRunStage *stage = &run->stages[index];

	if (is_last(run, index) && run->left != NULL)
		return run->left->device;
	if (is_last(run, index) && run->in_order)
		return TB_DEVICE_HOST;
	return tb_stage_device(&stage->info, stage->input->plan != NULL, !is_last(run, index));
}

static bool
prepare_programs(TbStageRun *run, int index, TbFailure *why)
{
	TbRunStage *stage = &run->stages[index];
	uint32		device = device_of(run, index);

	return tb_program_prepare(run->connection.conn, stage->program, device, why) &&
		(stage->input->methods->prepare == NULL ||
		 stage->input->methods->prepare(stage->input, run->connection.conn, device, why));
}

/* Announces all programs at once, so that they compile side by side; with the first QUERY,
 * as a rule. */
static bool
connect_stages(TbStageRun *run, TbFailure *why)
{
	if (!tb_stage_connection_begin(&run->connection, why) ||
		!tb_connection_hold(run->connection.conn, true, why))
		return false;
	for (int i = 0; i < run->nstages; i++)
		if (!prepare_programs(run, i, why))
			return false;
	return true;
}

/* Computes the parameters of a program. NULL, with *why: a value has no form that devices
 * know. */
static TbParamBlock *
compute_params(const TbStageRun *run, const TbProgram *program, List *params,
			   TbFailure *why)
{
	TbParamBlock *block = tb_param_block_make(program, params,
											  run->css->ss.ps.ps_ExprContext);

	if (block == NULL)
		tb_failure_set(why, TB_FALLBACK_VALUE,
					   "a parameter's value has no form that devices know");
	return block;
}

static bool
specify(TbStageRun *run, int index, TbProgramSpec *spec, TbFailure *why)
{
	TbRunStage *stage = &run->stages[index];
	bool		last = is_last(run, index);

	memset(spec, 0, sizeof(*spec));
	spec->program = stage->program;
	spec->params = compute_params(run, stage->program, stage->params, why);
	if (spec->params == NULL)
		return false;
	/* Device and estimates. */
	spec->device = device_of(run, index);
	spec->shape = stage->info.work.program.shape;
	spec->estimated_rows = stage->info.work.rows;
	spec->estimated_results = last ? run->groups : stage->info.work.built;
	/* What only the last stage has. */
	spec->result = last ? run->result : NULL;
	spec->unread_columns = last ? run->unread_columns : 0;
	spec->taker = last ? run->taker : NULL;
	spec->in_order = last && run->in_order;
	spec->left = last ? run->left : NULL;
	spec->stream = last ? run->stream : NULL;
	spec->stream_columns = run->stream_columns;
	spec->continuation = last ? run->continuation : NULL;
	if (spec->continuation != NULL)
	{
		spec->continuation_params = compute_params(run, spec->continuation->program,
												   run->continuation_params, why);
		if (spec->continuation_params == NULL)
			return false;
	}
	/* Where it runs. */
	spec->profile = run->profile;
	spec->connection = run->nstages > 1 ? &run->connection : NULL;
	spec->join_table = stage->info.join_table;
	return true;
}

/* Starts the stage's program over what its input has chosen. */
static bool
begin_program(TbStageRun *run, int index, TbFailure *why)
{
	TbRunStage	 *stage = &run->stages[index];
	TbInput		 *input = stage->input;
	TbInputUse	  use = {.snapshot = run->css->ss.ps.state->es_snapshot,
						 .attributes = stage->info.work.program.attributes,
						 .engine_us = tb_cost_engine_us(&stage->info.work,
														device_of(run, index)),
						 .econtext = run->css->ss.ps.ps_ExprContext};
	TbProgramSpec spec;
	MemoryContext context;
	MemoryContext old;
	List		 *sources = NIL;
	bool		  opened;

	/* A connection runs one query at a time. */
	Assert(run->program == NULL);
	if (!specify(run, index, &spec, why))
		return false;
	context = tb_program_run_context();
	old = MemoryContextSwitchTo(context);
	opened = input->methods->open(input, &use, &sources, why);
	MemoryContextSwitchTo(old);
	if (!opened)
	{
		MemoryContextDelete(context);
		return false;
	}
	run->current = index;
	run->program = tb_program_run_begin(&spec, sources, input->name, context, why);
	return run->program != NULL;
}

/* What the input has delivered, for EXPLAIN. */
static void
note_stats(TbStageRun *run)
{
	TbRunStage *stage = &run->stages[run->current];

	tb_program_run_stats(run->program, &stage->stats);
	if (stage->input->methods->note != NULL)
		stage->input->methods->note(stage->input);
	stage->have_stats = true;
}

static void
end_program(TbStageRun *run)
{
	if (run->program == NULL)
		return;
	note_stats(run);
	tb_program_run_end(run->program);
	run->program = NULL;
}

static void
close_input(TbRunStage *stage)
{
	if (stage->input->methods->close != NULL)
		stage->input->methods->close(stage->input);
}

/* Runs a stage that makes a join table. */
static bool
build(TbStageRun *run, int index, TbFailure *why)
{
	bool built = begin_program(run, index, why) && tb_program_run_build(run->program, why);

	end_program(run);
	close_input(&run->stages[index]);
	return built;
}

/* What this run has built as that table, for inputs. */
static const TbQueryDone *
table_built(const void *of, uint32 table)
{
	const TbStageRun *run = of;

	for (int i = 0; i < run->nstages - 1; i++)
		if (run->stages[i].info.join_table == table && run->stages[i].have_stats)
			return &run->stages[i].stats.service.done;
	elog(ERROR, "no stage has built table %u", table);
}

/* Whether something is left once what has no match in the tables that the stage probes is
 * left out. */
static bool
prune_by_joins(TbStageRun *run, TbRunStage *stage)
{
	return stage->input->methods->prune == NULL ||
		stage->input->methods->prune(stage->input, table_built, run);
}

/* Starts one stage, and finishes it if it is a join table. */
static RunStart
run_stage(TbStageRun *run, int index, TbFailure *why)
{
	TbRunStage *stage = &run->stages[index];

	CHECK_FOR_INTERRUPTS();
	if (!stage->input->methods->choose(stage->input))
	{
		if (stage->info.needed)
			return TB_RUN_EMPTY;
		if (!stage->harmless)
		{
			tb_failure_set(why, TB_FALLBACK_VALUE,
						   "a parameter must not be computed for an empty table");
			return TB_RUN_FALLBACK;
		}
	}
	/* PostgreSQL would meet rows: parameters that may raise are computed, for nothing. */
	else if (!prune_by_joins(run, stage) && stage->info.needed && stage->harmless)
		return TB_RUN_EMPTY;
	if (is_last(run, index))
		return begin_program(run, index, why) ? TB_RUN_STARTED : TB_RUN_FALLBACK;
	if (!build(run, index, why))
		return TB_RUN_FALLBACK;
	stage->ran = true;
	if (stage->info.needed && stage->stats.service.done.groups == 0)
		return TB_RUN_EMPTY;
	return TB_RUN_STARTED;
}

/*
 * Whether a stage that has not run may raise an error for a row of its table. No row
 * can come out of the node any more, but PostgreSQL may have begun with that table:
 * a hash join reads its outer side up to the first row that passes before it looks
 * at its hash table, a nested loop reads all of it.
 */
static bool
skipped_stage_may_raise(const TbStageRun *run)
{
	for (int i = 0; i < run->nstages; i++)
		if (!run->stages[i].ran &&
			(tb_program_raises_before_output(run->stages[i].program) ||
			 run->stages[i].info.late_filters ||
			 (is_last(run, i) && run->stages[i].input->plan != NULL)))
			return true;
	return false;
}

/* No block, no row: not worth a connection. */
static bool
some_needed_table_is_empty(TbStageRun *run)
{
	for (int i = 0; i < run->nstages; i++)
	{
		const TbInput *input = run->stages[i].input;

		if (run->stages[i].info.needed && input->methods->is_empty(input))
			return true;
	}
	return false;
}

/* Ends what runs; start may be called again. */
static void
end_stages(TbStageRun *run)
{
	end_program(run);
	for (int i = 0; i < run->nstages; i++)
		close_input(&run->stages[i]);
	tb_stage_connection_end(&run->connection);
	MemoryContextReset(run->context);
}

/* Whether PostgreSQL would compute the parameters of all stages, and fetch the rows of the
 * plans that join tables are built of, where either may raise. */
static bool
postgres_reaches(TbStageRun *run)
{
	CustomScan *plan = tb_stages_plan((CustomScan *) run->css->ss.ps.plan);
	TbAhead		ahead = {.node = &run->css->ss.ps,
						 .kept = linitial(plan->custom_plans),
						 .asked = &run->asked};

	for (int i = 0; i < run->nstages; i++)
	{
		TbRunStage *stage = &run->stages[i];

		ahead.inputs = lappend(ahead.inputs, stage->input);
		if (!stage->harmless)
			ahead.params = lappend(ahead.params, list_nth(plan->custom_exprs, i));
		/* Those of the last stage are fetched when PostgreSQL would fetch them. */
		if (stage->input->plan != NULL && !is_last(run, i))
			ahead.fetched = lappend(ahead.fetched, stage->input->plan->plan);
	}
	return tb_postgres_reaches(&ahead);
}

/* Builds the join tables and starts the last stage. */
static RunStart
start_run(TbStageRun *run, TbFailure *why)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);
	RunStart	  result = TB_RUN_STARTED;

	Assert(run->program == NULL && run->connection.conn == NULL);
	memset(why, 0, sizeof(*why));
	/* May it run at all? */
	if (!tb_isolation_qualifies())
	{
		tb_failure_set(why, TB_FALLBACK_NONE, "the isolation level is serializable");
		result = TB_RUN_FALLBACK;
	}
	else if (some_needed_table_is_empty(run))
		result = TB_RUN_EMPTY;
	else if (!postgres_reaches(run))
	{
		tb_failure_set(
			why, TB_FALLBACK_VALUE,
			"PostgreSQL might not evaluate an expression that may raise an error");
		tb_stat_fallback(why, tb_stage_run_table_name(run));
		result = TB_RUN_FALLBACK;
	}
	else if (run->nstages > 1 && !connect_stages(run, why))
		result = TB_RUN_FALLBACK;
	/* Build the tables, start the last stage. */
	for (int i = 0; i < run->nstages; i++)
		run->stages[i].ran = false;
	for (int i = 0; i < run->nstages && result == TB_RUN_STARTED; i++)
		result = run_stage(run, i, why);
	/* Nothing comes out: is that certain? */
	if (result == TB_RUN_EMPTY && skipped_stage_may_raise(run))
	{
		tb_failure_set(why, TB_FALLBACK_VALUE,
					   "PostgreSQL might raise an error for a row that is not read");
		tb_stat_fallback(why, tb_stage_run_table_name(run));
		result = TB_RUN_FALLBACK;
	}
	MemoryContextSwitchTo(old);
	if (result != TB_RUN_STARTED)
		end_stages(run);
	return result;
}

/* Batches of the last stage, as tb_program_run_next. */
static TbResultsNext
next_results(TbStageRun *run, const TbResultBatch **batch, TbFailure *why)
{
	Assert(run->program != NULL && is_last(run, run->current));
	CHECK_FOR_INTERRUPTS();
	memset(why, 0, sizeof(*why));
	return tb_program_run_next(run->program, batch, why);
}

const char *
tb_stage_run_table_name(const TbStageRun *run)
{
	return run->stages[run->nstages - 1].input->name;
}

const TbRunStats *
tb_stage_run_stats(TbStageRun *run, int index)
{
	TbRunStage *stage = &run->stages[index];

	if (run->program != NULL && run->current == index)
		note_stats(run);
	return stage->have_stats ? &stage->stats : NULL;
}

/* ---- The cursor ---- */

/* Batches of a stream that the service makes ahead: a part of a file is read by one thread
 * and is often as large as a batch, so one for each thread, as far as they take no more
 * memory than this; and at least one while the caller is at another. */
#define LEAST_STREAMED_AHEAD 2
#define STREAMED_AHEAD_BYTES (UINT64CONST(1) << 30)

static uint32
streamed_ahead(uint64 rows, const TbStreamColumn *columns, int ncolumns)
{
	TbDeviceInfo devices[TB_MAX_DEVICES];
	uint64		 threads = tb_devices_snapshot(devices, TB_MAX_DEVICES) > 0 ?
			  devices[TB_DEVICE_HOST].units :
			  1;
	uint64		 width = 0;

	/* Texts are taken to be as long as two numbers. */
	for (int i = 0; i < ncolumns; i++)
		width += tb_export_width(columns[i].format) +
			(tb_export_has_bytes(columns[i].format) ? 16 : 0);
	return Max(Min(threads, STREAMED_AHEAD_BYTES / Max(rows * width, 1)),
			   LEAST_STREAMED_AHEAD);
}

/* Columns of the outputs, as they are now, that come from the last stage's table. */
static void
open_fetched(TbRunCursor *cursor)
{
	const TbStageRun *run = cursor->run;

	cursor->fetched = tb_fetched_columns_make(&run->css->ss.ps,
											  run->stages[run->nstages - 1].input->rti,
											  cursor->outputs, cursor->noutputs);
}

void
tb_run_cursor_open(TbRunCursor *cursor, CustomScanState *css, int eflags)
{
	Size	   size;
	TbProfile *profile = tb_profile_make(css->ss.ps.state);

	cursor->run = make_run(css, eflags);
	cursor->run->profile = profile;
	cursor->outputs = tb_private_outputs((CustomScan *) css->ss.ps.plan, &size);
	cursor->noutputs = size / sizeof(TbOutput);
	open_fetched(cursor);
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
	open_fetched(cursor);
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

/* Passes over the rows that the stream has brought: from the table's first one on, where a
 * scan of PostgreSQL's would begin elsewhere. */
static void
skip_streamed(TbRunCursor *cursor)
{
	PlanState *kept = kept_plan(cursor->run);
	bool	   elsewhere = synchronize_seqscans;

	synchronize_seqscans = false;
	PG_TRY();
	{
		while (cursor->to_skip > 0)
		{
			TupleTableSlot *slot = ExecProcNode(kept);

			CHECK_FOR_INTERRUPTS();
			if (TupIsNull(slot))
				elog(ERROR, "PostgreSQL's plan has fewer rows than the engine has read");
			cursor->to_skip--;
		}
	}
	PG_FINALLY();
	{
		synchronize_seqscans = elsewhere;
	}
	PG_END_TRY();
}

TupleTableSlot *
tb_run_cursor_kept_tuple(TbRunCursor *cursor)
{
	TbClock			before = tb_profile_enter(cursor->run->profile, TB_CLOCK_FALLBACK);
	TupleTableSlot *slot;

	Assert(cursor->falling_back);
	if (cursor->to_skip > 0)
		skip_streamed(cursor);
	slot = ExecProcNode(kept_plan(cursor->run));
	(void) tb_profile_enter(cursor->run->profile, before);
	return slot;
}

static void
end_run(TbRunCursor *cursor)
{
	end_stages(cursor->run);
	cursor->batch = NULL;
}

void
tb_run_cursor_fall_back(TbRunCursor *cursor, const char *why)
{
	Assert(!cursor->returned_row && !cursor->falling_back);
	end_run(cursor);
	cursor->falling_back = true;
	strlcpy(cursor->fallback_message, why, sizeof(cursor->fallback_message));
	(void) kept_plan(cursor->run);
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
	switch (start_run(cursor->run, &why))
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

	switch (next_results(cursor->run, &cursor->batch, &why))
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
	tb_final_row(cursor->outputs, cursor->noutputs, cursor->batch, cursor->next_row,
				 slot->tts_values, slot->tts_isnull);
	if (cursor->fetched != NULL)
		tb_fetched_columns_fill(cursor->fetched, cursor->batch, cursor->next_row, slot);
	cursor->next_row++;
	MemoryContextSwitchTo(old);
	slot->tts_isnull[cursor->noutputs] = true; /* the notes of the plan */
	return ExecStoreVirtualTuple(slot);
}

const TbResultBatch *
tb_run_cursor_take_rows(TbRunCursor *cursor, uint64 most, uint32 *first, uint32 *nrows)
{
	Assert(cursor->batch != NULL && cursor->next_row < cursor->batch->nrows);
	*first = cursor->next_row;
	*nrows = (uint32) Min(most, (uint64) cursor->batch->nrows - cursor->next_row);
	cursor->next_row += *nrows;
	cursor->returned_row = true;
	return cursor->batch;
}

bool
tb_run_cursor_deliver(TbRunCursor *cursor, TbBatchTaker *taker, bool in_order)
{
	Assert(!cursor->started);
	cursor->run->taker = taker;
	cursor->run->in_order = in_order;
	tb_run_cursor_start(cursor);
	/* There are no batches for others. */
	(void) tb_run_cursor_advance(cursor);
	cursor->run->taker = NULL;
	cursor->run->in_order = false;
	return cursor->finished;
}

bool
tb_run_cursor_leave_columns(TbRunCursor *cursor, TbLeftColumns *left, bool in_order)
{
	Assert(!cursor->started);
	/* A device sorts rows on the host, and second programs run there. */
	if (cursor->run->result != NULL || cursor->run->continuation != NULL)
		return false;
	cursor->run->left = left;
	cursor->run->in_order = in_order;
	tb_run_cursor_start(cursor);
	(void) tb_run_cursor_advance(cursor);
	cursor->run->left = NULL;
	cursor->run->in_order = false;
	if (cursor->finished && left->are_left)
		return true;
	tb_run_cursor_rescan(cursor);
	return false;
}

/* Whether its rows come in one order, from the engine and from the kept plan: one scan of a
 * table or of files. */
static bool
may_stream(const TbStageRun *run)
{
	const CustomScan *plan = (const CustomScan *) run->css->ss.ps.plan;
	const Plan		 *kept = linitial(plan->custom_plans);

	return run->nstages == 1 && run->result == NULL && run->continuation == NULL &&
		run->stages[0].input->plan == NULL &&
		(IsA(kept, SeqScan) || IsA(kept, ForeignScan));
}

/* From row `streamed` on. */
static void
start_stream(TbRunCursor *cursor, uint64 rows, const TbStreamColumn *columns, int ncolumns,
			 uint32 device)
{
	TbStageRun	 *run = cursor->run;
	MemoryContext old = MemoryContextSwitchTo(run->css->ss.ps.state->es_query_cxt);

	if (cursor->stream_columns == NULL)
		cursor->stream_columns = palloc(sizeof(TbStreamColumn) * ncolumns);
	memcpy(cursor->stream_columns, columns, sizeof(TbStreamColumn) * ncolumns);
	MemoryContextSwitchTo(old);
	cursor->stream = (TbStream) {.rows = rows,
								 .skip = cursor->streamed,
								 .ncolumns = ncolumns,
								 .batches = streamed_ahead(rows, columns, ncolumns),
								 .device = device};
	run->stream = &cursor->stream;
	run->stream_columns = cursor->stream_columns;
	cursor->streams = true;
	tb_run_cursor_start(cursor);
}

/* The kept plan goes on behind the stream's rows. */
static void
leave_stream(TbRunCursor *cursor, const char *why)
{
	const TbInput *input = cursor->run->stages[0].input;

	cursor->streams = false;
	cursor->run->stream = NULL;
	cursor->to_skip = cursor->streamed;
	if (cursor->streamed > 0 && input->methods->is_unchanged != NULL &&
		!input->methods->is_unchanged(input))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("files of \"%s\" have changed while they were read", input->name),
				 errdetail("pg_turbine gave up in the middle: %s.", why),
				 errhint("Run the query again.")));
	if (!cursor->falling_back)
		tb_run_cursor_fall_back(cursor, why);
}

TbResultsNext
tb_run_cursor_stream(TbRunCursor *cursor, uint64 rows, const TbStreamColumn *columns,
					 int ncolumns, uint32 device, const TbStreamBatch **batch)
{
	TbFailure	  why;
	TbResultsNext next;

	if (cursor->falling_back || (cursor->started && !cursor->streams) ||
		!may_stream(cursor->run))
		return TB_RESULTS_FALLBACK;
	/* Batches of another size: what the service has made ahead is made anew. */
	if (cursor->started && !cursor->finished && cursor->stream.rows != rows)
	{
		end_run(cursor);
		cursor->started = false;
	}
	if (!cursor->started)
		start_stream(cursor, rows, columns, ncolumns, device);
	if (cursor->finished)
		return TB_RESULTS_END;
	if (cursor->falling_back)
	{
		leave_stream(cursor, cursor->fallback_message);
		return TB_RESULTS_FALLBACK;
	}
	CHECK_FOR_INTERRUPTS();
	memset(&why, 0, sizeof(why));
	next = tb_program_run_next_streamed(cursor->run->program, batch, &why);
	if (next == TB_RESULTS_FALLBACK)
		leave_stream(cursor, why.message);
	cursor->finished = next == TB_RESULTS_END;
	return next;
}

void
tb_run_cursor_took_streamed(TbRunCursor *cursor, uint64 rows)
{
	cursor->streamed += rows;
	tb_program_run_took_streamed(cursor->run->program);
}

void
tb_run_cursor_lost_streamed(TbRunCursor *cursor, const char *why)
{
	leave_stream(cursor, why);
}

void
tb_run_cursor_leave_stream(TbRunCursor *cursor)
{
	if (cursor->streams && !cursor->falling_back && !cursor->finished)
		leave_stream(cursor, "rows were asked for as tuples");
}

void
tb_run_cursor_rescan(TbRunCursor *cursor)
{
	end_run(cursor);
	tb_fetched_columns_release(cursor->fetched);
	cursor->streams = false;
	cursor->run->stream = NULL;
	cursor->streamed = cursor->to_skip = 0;
	cursor->started = false;
	cursor->finished = false;
	cursor->returned_row = false;
	cursor->falling_back = false;
	rescan_plans(cursor->run);
}

void
tb_run_cursor_close(TbRunCursor *cursor)
{
	(void) tb_profile_enter(cursor->run->profile, TB_CLOCK_PLAN);
	end_run(cursor);
	tb_fetched_columns_release(cursor->fetched);
	tb_profile_end(cursor->run->profile);
	end_plans(cursor->run);
}
