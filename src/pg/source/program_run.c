/*
 * program_run.c - one program run over its sources, see program_run.h.
 *
 * Phases:
 *   begin     connection, QUERY, READY
 *   input     chunks of the sources, until none has more and none is in flight
 *   results   result batches are kept until QUERY_DONE. Only then is it certain that
 *             PostgreSQL's plan is not needed
 *   end       the connection is given back
 *
 * All slots are kept busy. What is said of a chunk goes to the source that has sent it.
 * Owns the conversation, the slots and the sources. Must not know what a source sends.
 * Called by the stages of a node.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "pg/shmem/query_counters.h"
#include "pg/source/program_run.h"
#include "pg/conversation/result_batches.h"

struct TbProgramRun
{
	MemoryContext	 context;
	List			*sources;
	TbSource		*sender[TB_MAX_SLOTS]; /* of the chunk in each slot */
	TbServiceQuery	*query;
	TbSlots			*slots;				   /* NULL before READY */
	bool			 input_done;
	TbResultBatches *batches;			   /* once all have come */

	/* Of a stream. */
	List		  *streamed;	  /* TbStreamBatch that have come */
	TbStreamBatch *current;		  /* the one that was returned */
	uint64		   streamed_rows; /* of all that came */
	bool		   done;
};

MemoryContext
tb_program_run_context(void)
{
	return AllocSetContextCreate(CurrentMemoryContext, "pg_turbine program run",
								 ALLOCSET_DEFAULT_SIZES);
}

static bool
start_run(TbProgramRun *run)
{
	TbInputSize all = {0};
	ListCell   *lc;

	/* What goes before READY goes together. */
	if (!tb_service_query_connect(run->query) || !tb_service_query_hold(run->query, true))
		return false;
	foreach(lc, run->sources)
	{
		TbSource   *source = lfirst(lc);
		TbInputSize size = {0};

		if (!source->methods->announce(source, run->query, &size))
			return false;
		all.nblocks += size.nblocks;
		all.copied = all.copied || size.copied;
	}
	if (!tb_service_query_send_query(run->query, all.nblocks, all.copied))
		return false;
	foreach(lc, run->sources)
	{
		TbSource *source = lfirst(lc);

		if (source->methods->ask != NULL && !source->methods->ask(source, run->query))
			return false;
	}
	if (!tb_service_query_await_ready(run->query) ||
		!tb_service_query_hold(run->query, false))
		return false;
	run->slots = tb_slots_make(run->query);
	foreach(lc, run->sources)
	{
		TbSource *source = lfirst(lc);

		if (!source->methods->begin(source, run->query, run->slots))
			return false;
	}
	return true;
}

TbProgramRun *
tb_program_run_begin(const TbProgramSpec *spec, List *sources, const char *input_name,
					 MemoryContext context, TbFailure *why)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	TbProgramRun *run = palloc0(sizeof(TbProgramRun));
	bool		  ok;

	run->context = context;
	run->sources = sources;
	run->query = tb_service_query_make(spec, input_name);
	/* The stages of a node count as one query. */
	if (spec->program->sink != TB_SINK_BUILD)
		tb_stat_add(TB_COUNTER_QUERIES, 1);
	ok = start_run(run);
	if (!ok)
	{
		tb_service_query_note_fallback(run->query);
		*why = *tb_service_query_failure(run->query);
	}
	MemoryContextSwitchTo(old);
	if (ok)
		return run;
	tb_program_run_end(run);
	return NULL;
}

/* A batch of the stream; false if it can not be one. */
static bool
keep_streamed(TbProgramRun *run, const TbIncoming *message)
{
	const TbStream *stream = tb_service_query_spec(run->query)->stream;
	TbStreamBatch  *batch;
	Size			size;

	if (stream == NULL)
		return tb_service_query_protocol_error(run->query, "a batch without a stream");
	size = offsetof(TbStreamBatch, columns) + stream->ncolumns * sizeof(batch->columns[0]);
	if (message->length != size)
		return tb_service_query_protocol_error(run->query, "a malformed batch");
	batch = MemoryContextAlloc(run->context, size);
	memcpy(batch, message->payload, size);
	if (batch->ncolumns != stream->ncolumns || batch->rows == 0 ||
		batch->rows > stream->rows)
		return tb_service_query_protocol_error(run->query, "a malformed batch");
	run->streamed = lappend(run->streamed, batch);
	run->streamed_rows += batch->rows;
	return true;
}

/* Deals with the messages that have come, or waits for one. *any: there was one. */
static bool
serve_messages(TbProgramRun *run, bool wait, bool *any)
{
	*any = false;
	for (;;)
	{
		TbIncoming	message;
		TbSlotEvent event;
		TbSource   *sender;
		TbReceived	received = tb_service_query_receive(run->query, wait, &message);

		if (received == TB_RECEIVED_LOST)
			return false;
		if (received == TB_RECEIVED_NOTHING)
			return true;
		if (message.type == TB_MSG_STREAM_BATCH)
		{
			if (!keep_streamed(run, &message))
				return false;
			wait = false;
			*any = true;
			continue;
		}
		if (!tb_slots_take(run->slots, &message, &event))
			return false;
		/* The slot's source takes the answer. */
		sender = run->sender[event.slot];
		if (event.type == TB_MSG_CHUNK_DONE)
		{
			if (!sender->methods->chunk_done(sender, event.slot))
				return false;
		}
		else if (!sender->methods->chunk_read(sender, event.slot, event.outcome))
			return false;
		/* Once something came, never wait. */
		wait = false;
		*any = true;
	}
}

/* Takes in what other processes have done for any source; *any: there was something. */
static bool
poll_sources(TbProgramRun *run, bool *any)
{
	ListCell *lc;

	*any = false;
	foreach(lc, run->sources)
	{
		TbSource *source = lfirst(lc);
		bool	  some = false;

		if (source->methods->poll != NULL && !source->methods->poll(source, &some))
			return false;
		*any = *any || some;
	}
	return true;
}

/* Helps the other processes of the first source that has such. */
static TbSourceHelp
help_sources(TbProgramRun *run)
{
	ListCell *lc;

	foreach(lc, run->sources)
	{
		TbSource	*source = lfirst(lc);
		TbSourceHelp help = source->methods->help != NULL ? source->methods->help(source) :
															TB_HELP_NONE;

		if (help != TB_HELP_NONE)
			return help;
	}
	return TB_HELP_NONE;
}

/*
 * Nothing can be sent now. If other processes fill slots, this one helps them, or waits
 * for them or the service: looking for messages and for filled slots leaves the
 * latch alone if there is nothing, so whatever comes after the look ends the wait.
 */
static bool
idle(TbProgramRun *run)
{
	TbSourceHelp help;
	bool		 any;

	if (!tb_service_query_flush(run->query))
		return false;
	help = help_sources(run);
	if (help == TB_HELP_NONE)
		return serve_messages(run, true, &any);
	if (!serve_messages(run, false, &any))
		return false;
	if (help == TB_HELP_DONE || any)
		return true;
	if (!poll_sources(run, &any))
		return false;
	if (!any)
		tb_service_query_wait(run->query);
	return true;
}

/* Sends the next chunk of the first source that has one. */
static TbSourceFill
fill(TbProgramRun *run, int slot)
{
	ListCell *lc;

	foreach(lc, run->sources)
	{
		TbSource	*source = lfirst(lc);
		TbSourceFill filled = source->methods->fill(source, slot);

		if (filled == TB_FILL_SENT)
			run->sender[slot] = source;
		if (filled != TB_FILL_NOTHING)
			return filled;
	}
	return TB_FILL_NOTHING;
}

/* One step: sends a chunk if one is due and a slot is free, else waits. *finished when
 * nothing is left to send or to wait for. */
static bool
step(TbProgramRun *run, bool *finished)
{
	int	 slot = tb_slots_find_free(run->slots);
	bool any;

	if (!poll_sources(run, &any))
		return false;
	switch (fill(run, slot))
	{
		case TB_FILL_SENT:
			return serve_messages(run, false, &any);
		case TB_FILL_LOST:
			return false;
		case TB_FILL_NOTHING:
			break;
	}
	*finished = tb_slots_in_flight(run->slots) == 0;
	return *finished || idle(run);
}

static bool
run_input(TbProgramRun *run)
{
	TbProfile *profile = tb_service_query_spec(run->query)->profile;
	TbClock	   before = tb_profile_enter(profile, TB_CLOCK_READ);
	bool	   finished = false;
	bool	   ended = true; /* the service knows it */
	bool	   ok;
	ListCell  *lc;

	foreach(lc, run->sources)
	{
		TbSource *source = lfirst(lc);

		if (source->methods->begin_input != NULL)
			source->methods->begin_input(source);
	}
	ok = tb_service_query_hold(run->query, true);
	while (ok && !finished)
		ok = step(run, &finished);
	ok = ok && tb_service_query_hold(run->query, false);
	/* Parallel workers end while the service does what is left to do: all pages are there.
	 */
	foreach(lc, run->sources)
	{
		TbSource *source = lfirst(lc);

		ended = ended && source->methods->ended != NULL && source->methods->ended(source);
	}
	if (!ended)
		ok = ok && tb_service_query_send(run->query, TB_MSG_INPUT_END, NULL, 0);
	foreach(lc, run->sources)
	{
		TbSource *source = lfirst(lc);

		if (source->methods->end_input != NULL)
			source->methods->end_input(source, !ok);
	}
	(void) tb_profile_enter(profile, before);
	return ok;
}

void
tb_program_run_stats(const TbProgramRun *run, TbRunStats *stats)
{
	ListCell *lc;

	memset(stats, 0, sizeof(*stats));
	stats->service = *tb_service_query_stats(run->query);
	foreach(lc, run->sources)
	{
		const TbSource *source = lfirst(lc);

		if (source->methods->report != NULL)
			source->methods->report(source, stats);
	}
}

static bool
was_fed(const TbProgramRun *run)
{
	TbRunStats stats;

	tb_program_run_stats(run, &stats);
	return stats.feeders.launched > 0;
}

/* The input and what comes of it: batches, or a join table, which stays there. */
static bool
run_to_end(TbProgramRun *run)
{
	bool	  ok = tb_service_query_connected(run->query) && run_input(run);
	ListCell *lc;

	if (ok && tb_service_query_spec(run->query)->program->sink == TB_SINK_BUILD)
		ok = tb_service_query_await_done(run->query, was_fed(run));
	else if (ok)
	{
		run->batches = tb_result_batches_collect(run->query, was_fed(run));
		ok = run->batches != NULL;
	}
	if (!ok)
		tb_service_query_note_fallback(run->query);
	foreach(lc, run->sources)
	{
		TbSource *source = lfirst(lc);

		if (ok && source->methods->count_rows != NULL)
			source->methods->count_rows(source);
	}
	return ok;
}

bool
tb_program_run_build(TbProgramRun *run, TbFailure *why)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);
	bool		  ok;

	Assert(tb_service_query_spec(run->query)->program->sink == TB_SINK_BUILD);
	ok = run_to_end(run);
	if (!ok)
		*why = *tb_service_query_failure(run->query);
	MemoryContextSwitchTo(old);
	return ok;
}

TbResultsNext
tb_program_run_next(TbProgramRun *run, const TbResultBatch **batch, TbFailure *why)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);
	TbResultsNext result;

	if (!run->input_done)
	{
		run->input_done = true;
		if (!run_to_end(run))
		{
			*why = *tb_service_query_failure(run->query);
			MemoryContextSwitchTo(old);
			return TB_RESULTS_FALLBACK;
		}
	}
	*batch = tb_result_batches_next(run->batches);
	result = *batch != NULL ? TB_RESULTS_BATCH : TB_RESULTS_END;
	MemoryContextSwitchTo(old);
	return result;
}

/* The input is through: what comes now. */
static bool
await_streamed(TbProgramRun *run)
{
	TbIncoming message;
	ListCell  *lc;

	if (tb_service_query_receive(run->query, true, &message) != TB_RECEIVED)
		return false;
	if (message.type == TB_MSG_STREAM_BATCH)
		return keep_streamed(run, &message);
	if (message.type != TB_MSG_QUERY_DONE)
		return tb_service_query_protocol_error(run->query,
											   "unexpected message instead of a batch");
	if (!tb_service_query_take_done(run->query, &message, run->streamed_rows, false))
		return false;
	run->done = true;
	foreach(lc, run->sources)
	{
		TbSource *source = lfirst(lc);

		if (source->methods->count_rows != NULL)
			source->methods->count_rows(source);
	}
	return true;
}

/* Up to the next batch, or the end. No parallel workers help: they would have to end with
 * this call. */
static bool
run_stream(TbProgramRun *run)
{
	bool finished = false;
	bool ok = tb_service_query_connected(run->query);

	if (ok && !run->input_done)
	{
		ok = tb_service_query_hold(run->query, true);
		while (ok && !finished && run->streamed == NIL)
			ok = step(run, &finished);
		ok = ok && tb_service_query_hold(run->query, false);
		if (ok && finished)
		{
			run->input_done = true;
			ok = tb_service_query_send(run->query, TB_MSG_INPUT_END, NULL, 0);
		}
	}
	while (ok && run->input_done && !run->done && run->streamed == NIL)
	{
		CHECK_FOR_INTERRUPTS();
		ok = await_streamed(run);
	}
	return ok;
}

TbResultsNext
tb_program_run_next_streamed(TbProgramRun *run, const TbStreamBatch **batch, TbFailure *why)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);
	TbResultsNext result = TB_RESULTS_END;
	bool		  ok = true;

	Assert(tb_service_query_spec(run->query)->stream != NULL);
	if (run->current != NULL)
		pfree(run->current);
	run->current = NULL;
	if (run->streamed == NIL && !run->done)
		ok = run_stream(run);
	if (ok && run->streamed != NIL)
	{
		run->current = linitial(run->streamed);
		run->streamed = list_delete_first(run->streamed);
		result = TB_RESULTS_BATCH;
	}
	*batch = run->current;
	if (!ok)
	{
		tb_service_query_note_fallback(run->query);
		*why = *tb_service_query_failure(run->query);
		result = TB_RESULTS_FALLBACK;
	}
	MemoryContextSwitchTo(old);
	return result;
}

void
tb_program_run_took_streamed(TbProgramRun *run)
{
	/* A connection that is lost shows at the next call. */
	if (tb_service_query_connected(run->query))
		(void) tb_service_query_send(run->query, TB_MSG_STREAM_TAKEN, NULL, 0);
}

void
tb_program_run_end(TbProgramRun *run)
{
	TbRunStats stats;
	ListCell  *lc;

	/* First whoever writes to slots. */
	foreach(lc, run->sources)
	{
		TbSource *source = lfirst(lc);

		if (source->methods->end != NULL)
			source->methods->end(source);
	}
	tb_program_run_stats(run, &stats);
	tb_run_stats_count(&stats);
	tb_service_query_end(run->query);
	if (run->batches != NULL)
		tb_result_batches_end(run->batches);
	MemoryContextDelete(run->context);
}
