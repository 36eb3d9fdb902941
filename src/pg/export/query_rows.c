/*
 * query_rows.c - see query_rows.h.
 *
 * Owns the receiver between the executor and a sink. Called by the functions that write
 * files and by those that keep results in memory.
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "tcop/dest.h"
#include "tcop/pquery.h"
#include "utils/plancache.h"
#include "utils/snapmgr.h"

#include "pg/compat/pg18.h"
#include "pg/export/query_rows.h"
#include "pg/nodes/join/gpu_join.h"
#include "pg/planner/planning.h"

typedef struct RowReceiver
{
	DestReceiver base;
	TbRowSink	*sink;
	bool		 has_begun;
	bool		 is_continued; /* another fetch of the same rows */
	QueryDesc	*query; /* whose plan's last node is asked for columns; NULL: not known */
	bool		 in_order; /* its rows are wanted as they lie in the table */
	uint64		 most;	   /* rows that may be taken that way, */
	uint64		 taken;	   /* and that have been */
	uint64		 batch;	   /* rows of a batch of a stream; 0: it is not asked for one */
	TbRunCursor *paused;   /* whose node returns no row meanwhile; NULL: none */
} RowReceiver;

/* Further rows, if the plan's last node is one that returns its results' columns. */
static void
take_columns(RowReceiver *receiver, PlanState *state)
{
	List		*outputs;
	TbRunCursor *cursor = tb_join_bare_cursor(state, &outputs);

	if (cursor == NULL)
		return;
	/* EXPLAIN ANALYZE counts this node's rows. */
	if (state->instrument != NULL)
		InstrStartNode(state->instrument);
	tb_run_cursor_enter(cursor);
	while (receiver->taken < receiver->most && tb_run_cursor_advance(cursor))
	{
		uint32				 first;
		uint32				 nrows;
		const TbResultBatch *batch;

		CHECK_FOR_INTERRUPTS();
		batch = tb_run_cursor_take_rows(cursor, receiver->most - receiver->taken, &first,
										&nrows);
		receiver->sink->add_batch(receiver->sink, outputs, batch, first, nrows);
		receiver->taken += nrows;
	}
	tb_run_cursor_leave(cursor);
	if (state->instrument != NULL)
		InstrStopNode(state->instrument, receiver->taken);
	state->state->es_processed += receiver->taken;
}

typedef struct SinkTaker
{
	TbBatchTaker base;
	RowReceiver *receiver;
	const List	*outputs;
} SinkTaker;

static void
pass_batch(TbBatchTaker *taker, const TbResultBatch *batch)
{
	SinkTaker	*self = (SinkTaker *) taker;
	RowReceiver *receiver = self->receiver;

	receiver->sink->add_batch(receiver->sink, self->outputs, batch, 0, batch->nrows);
	receiver->taken += batch->nrows;
}

/* All rows of a node that returns columns, before the executor asks for the first: none of
 * them is kept meanwhile. What fails in the middle begins anew, with PostgreSQL's plan. */
static void
take_all(RowReceiver *receiver, PlanState *state)
{
	SinkTaker	   taker = {.base = {.take = pass_batch}, .receiver = receiver};
	TbLeftColumns *left = NULL;
	List		  *outputs;
	TbRunCursor	  *cursor = tb_join_bare_cursor(state, &outputs);

	receiver->query = NULL;
	if (cursor == NULL)
		return;
	taker.outputs = outputs;
	if (receiver->sink->wants_left != NULL)
		left = receiver->sink->wants_left(receiver->sink, outputs, state->plan->plan_rows);
	if (state->instrument != NULL)
		InstrStartNode(state->instrument);
	tb_run_cursor_enter(cursor);
	/* On a GPU, if it can; as rows, if a device can. */
	if (left != NULL && tb_run_cursor_leave_columns(cursor, left, receiver->in_order))
	{
		receiver->sink->take_left(receiver->sink, left);
		receiver->taken = left->result->rows;
	}
	else if (!tb_run_cursor_deliver(cursor, &taker.base, receiver->in_order))
	{
		receiver->sink->restart(receiver->sink);
		receiver->taken = 0;
	}
	tb_run_cursor_leave(cursor);
	if (state->instrument != NULL)
		InstrStopNode(state->instrument, receiver->taken);
	state->state->es_processed += receiver->taken;
}

/* The next batch of a node that streams. Its rows are the call's then, and the executor
 * gets none; or they come from the executor. */
static void
take_streamed(RowReceiver *receiver, PlanState *state)
{
	TbRowSink			 *sink = receiver->sink;
	List				 *outputs;
	TbRunCursor			 *cursor = tb_join_bare_cursor(state, &outputs);
	const TbStreamColumn *columns;
	const TbStreamBatch	 *batch;
	TbResultsNext		  next;
	int					  ncolumns;
	uint32				  device;

	if (cursor == NULL)
		return;
	columns = sink->stream(sink, outputs, &ncolumns, &device);
	list_free(outputs);
	if (columns == NULL)
		return;
	if (state->instrument != NULL)
		InstrStartNode(state->instrument);
	tb_run_cursor_enter(cursor);
	next = tb_run_cursor_stream(cursor, receiver->batch, columns, ncolumns, device, &batch);
	if (next == TB_RESULTS_BATCH && !sink->take_streamed(sink, batch))
	{
		tb_run_cursor_lost_streamed(cursor, "a batch was lost with the service");
		next = TB_RESULTS_FALLBACK;
	}
	if (next == TB_RESULTS_BATCH)
	{
		receiver->taken = batch->rows;
		tb_run_cursor_took_streamed(cursor, batch->rows);
	}
	tb_run_cursor_leave(cursor);
	if (state->instrument != NULL)
		InstrStopNode(state->instrument, receiver->taken);
	if (next == TB_RESULTS_FALLBACK)
		return;
	receiver->paused = cursor;
	cursor->pauses = true;
	state->state->es_processed += receiver->taken;
}

static void
receiver_startup(DestReceiver *self, int operation, TupleDesc desc)
{
	RowReceiver *receiver = (RowReceiver *) self;

	if (receiver->is_continued)
		return;
	if (receiver->has_begun)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the query must be a single statement")));
	if (desc->natts == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the query returns no columns")));
	receiver->has_begun = true;
	receiver->sink->begin(receiver->sink, desc);
	if (receiver->query != NULL && receiver->batch > 0 && receiver->sink->stream != NULL)
		take_streamed(receiver, receiver->query->planstate);
	else if (receiver->query != NULL && receiver->sink->restart != NULL &&
			 receiver->most == PG_UINT64_MAX)
		take_all(receiver, receiver->query->planstate);
}

static bool
receiver_receive(TupleTableSlot *slot, DestReceiver *self)
{
	RowReceiver *receiver = (RowReceiver *) self;
	QueryDesc	*query = receiver->query;

	receiver->sink->add(receiver->sink, slot);
	receiver->query = NULL;
	if (query != NULL)
		take_columns(receiver, query->planstate);
	return true;
}

static void
receiver_nothing(DestReceiver *self)
{
}

static void
init_receiver(RowReceiver *receiver, TbRowSink *sink)
{
	memset(receiver, 0, sizeof(*receiver));
	receiver->base.receiveSlot = receiver_receive;
	receiver->base.rStartup = receiver_startup;
	receiver->base.rShutdown = receiver_nothing;
	receiver->base.rDestroy = receiver_nothing;
	receiver->base.mydest = DestNone;
	receiver->sink = sink;
	receiver->most = PG_UINT64_MAX;
}

/* Whether it is one query that changes nothing: what a portal runs step by step. */
static bool
only_selects(SPIPlanPtr plan)
{
	List		*sources = SPI_plan_get_plan_sources(plan);
	List		*queries;
	const Query *query;

	if (list_length(sources) != 1)
		return false;
	queries = ((CachedPlanSource *) linitial(sources))->query_list;
	if (list_length(queries) != 1)
		return false;
	query = linitial_node(Query, queries);
	return query->commandType == CMD_SELECT && !query->hasModifyingCTE;
}

/* The plan is made where the portal is opened; its rows are taken as columns. */
static Portal
open_portal(const char *name, SPIPlanPtr plan, uint32 flags)
{
	TbPlanning planning = {.wants_columns = true};
	Portal volatile portal = NULL;

	tb_planning_push(&planning);
	PG_TRY();
	{
		portal = SPI_cursor_open(name, plan, NULL, NULL, (flags & TB_ROWS_SNAPSHOT) != 0);
	}
	PG_FINALLY();
	{
		tb_planning_pop(&planning);
	}
	PG_END_TRY();
	return portal;
}

/* In a portal, whose plan the receiver can see. */
static void
run_select(SPIPlanPtr plan, uint32 flags, RowReceiver *receiver)
{
	Portal portal = open_portal(NULL, plan, flags);

	receiver->query = portal->queryDesc;
	/* Otherwise, workers would stay away: it might be run in parts. */
	TB_PORTAL_RUNS_ONCE(portal);
	(void) PortalRunFetch(portal, FETCH_FORWARD, FETCH_ALL, &receiver->base);
	receiver->query = NULL;
	SPI_cursor_close(portal);
}

static _Noreturn void
raise_not_a_select(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("the query must be a single SELECT"),
			 errdetail(
				 "Statements that change data, and several statements, are not taken."),
			 errhint("Run them before, and select what they have left.")));
}

void
tb_query_rows(const char *query, uint32 flags, TbRowSink *sink)
{
	RowReceiver		  receiver;
	SPIExecuteOptions options = {.read_only = false,
								 .must_return_tuples = true,
								 .dest = &receiver.base};
	int				  cursor_options = CURSOR_OPT_NO_SCROLL;
	SPIPlanPtr		  plan;
	int				  result;

	init_receiver(&receiver, sink);
	receiver.in_order = (flags & TB_ROWS_IN_ORDER) != 0;
	if ((flags & TB_ROWS_IN_ORDER) == 0)
		cursor_options |= CURSOR_OPT_PARALLEL_OK;
	SPI_connect();
	plan = SPI_prepare_cursor(query, 0, NULL, cursor_options);
	if (plan == NULL)
		elog(ERROR, "the query could not be prepared: %s",
			 SPI_result_code_string(SPI_result));
	/* Can a portal run it stepwise? */
	if (only_selects(plan))
		run_select(plan, flags, &receiver);
	else if ((flags & (TB_ROWS_SELECT | TB_ROWS_SNAPSHOT)) != 0)
		raise_not_a_select();
	else
	{
		result = SPI_execute_plan_extended(plan, &options);
		if (result < 0)
			elog(ERROR, "the query could not be run: %s", SPI_result_code_string(result));
	}
	SPI_finish();
}

void
tb_open_cursor(const char *name, const char *query)
{
	SPIPlanPtr plan;

	SPI_connect();
	plan = SPI_prepare_cursor(query, 0, NULL, CURSOR_OPT_NO_SCROLL);
	if (plan == NULL)
		elog(ERROR, "the query could not be prepared: %s",
			 SPI_result_code_string(SPI_result));
	if (!only_selects(plan))
		raise_not_a_select();
	(void) open_portal(name, plan, TB_ROWS_SNAPSHOT);
	SPI_finish();
}

uint64
tb_cursor_rows(Portal portal, uint64 most, TbRowSink *sink)
{
	RowReceiver receiver;
	uint64		rows;

	init_receiver(&receiver, sink);
	SPI_connect();
	/* One through the executor: it starts the plan. */
	receiver.most = most - 1;
	receiver.batch = Min(most, TB_STREAM_MOST_ROWS);
	receiver.query = portal->strategy == PORTAL_ONE_SELECT && portal->holdStore == NULL ?
		portal->queryDesc :
		NULL;
	rows = PortalRunFetch(portal, FETCH_FORWARD, 1, &receiver.base);
	if (receiver.paused != NULL)
		receiver.paused->pauses = false;
	/* The others, if they do not come as columns. */
	else if (rows > 0 && rows < most)
	{
		receiver.is_continued = true;
		receiver.query = NULL;
		rows += PortalRunFetch(portal, FETCH_FORWARD, (long) (most - rows), &receiver.base);
	}
	SPI_finish();
	return rows;
}
