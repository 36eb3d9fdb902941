/*
 * aggregate_input.c - drives the input of a blocking sink to its end.
 *
 * All slots are kept busy with chunks of blocks. Rows that the engine defers
 * are copied, detoasted into a chunk of columns, and sent in a free slot when
 * that is full or nothing else is left. Then INPUT_END, and every batch of
 * groups (AGGREGATE) or rows (PROJECT) is kept until QUERY_DONE: only then is it certain that PostgreSQL's
 * plan is not needed after all. Feeders, if there are any, come and go with the
 * input. Called once a query, by heap_query.c.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"

#include "pg/bridge/failure.h"
#include "pg/source/heap/feeders.h"
#include "pg/source/heap/query_state.h"
#include "pg/source/service/column_chunk.h"

/* A row that the engine deferred. */
typedef struct PendingRow
{
	HeapTuple	tuple;			/* a copy */
	TbTablePart *part;
} PendingRow;

typedef struct InputState
{
	TbHeapQuery *query;
	TbRowsChunk *rows;			/* made when the first row is deferred */
	bool		rows_full;
	List	   *pending;		/* PendingRow, not yet in `rows` */
} InputState;

/* Copies the deferred rows of a finished chunk; its slot is free then. */
static bool
take_deferred(InputState *input, int slot_index)
{
	TbHeapQuery *query = input->query;
	TbSlot	   *slot = &query->slots[slot_index];
	char	   *base = tb_chunks_slot(query, slot_index);

	slot->state = TB_SLOT_FREE;
	if (slot->done.ndeferred == 0)
		return true;
	if (!tb_tuples_take_ids(query, slot, base))
		return false;
	tb_tuples_set_pages(query, slot_index, slot->blocks, slot->npages, base);
	for (uint32 i = 0; i < slot->done.ndeferred; i++)
	{
		HeapTuple	tuple = tb_heap_query_tuple(query,
												query->ids[slot->done.nrows + i]);

		PendingRow *row = palloc(sizeof(PendingRow));

		row->tuple = heap_copytuple(tuple);
		row->part = slot->part;
		input->pending = lappend(input->pending, row);
	}
	query->stats.rows_deferred += slot->done.ndeferred;
	return true;
}

/* Moves pending rows into the chunk of columns until it is full. */
static bool
gather_rows(InputState *input)
{
	TbHeapQuery *query = input->query;
	TbClock		before;

	if (input->rows == NULL && input->pending != NIL)
		input->rows = tb_rows_chunk_make(query->spec.program,
										 (Size) query->ready.slot_pages * TB_PAGE_SIZE);
	if (input->pending == NIL || input->rows_full)
		return true;
	if (!tb_query_flush(query))
		return false;
	before = tb_profile_enter(query->spec.profile, TB_CLOCK_DETOAST);
	while (input->pending != NIL && !input->rows_full)
	{
		PendingRow *row = llast(input->pending);

		switch (tb_rows_chunk_add(input->rows, row->tuple,
								  RelationGetDescr(row->part->rel),
								  tb_part_layout(query, row->part), &query->failure))
		{
			case TB_ROW_ADDED:
				input->pending = list_delete_last(input->pending);
				heap_freetuple(row->tuple);
				pfree(row);
				break;
			case TB_ROW_NO_SPACE:
				input->rows_full = true;
				break;
			case TB_ROW_IMPOSSIBLE:
				(void) tb_profile_enter(query->spec.profile, before);
				tb_connection_close(query->conn);
				query->conn = NULL;
				return false;
		}
		CHECK_FOR_INTERRUPTS();
	}
	(void) tb_profile_enter(query->spec.profile, before);
	return true;
}

/* Deals with the messages that have come, or waits for one. */
static bool
serve_messages_noting(InputState *input, bool wait, bool *any)
{
	TbHeapQuery *query = input->query;

	*any = false;
	for (;;)
	{
		TbIncoming	message;
		TbReceived	received = tb_query_receive(query, wait, &message);

		if (received == TB_RECEIVED_LOST)
			return false;
		if (received == TB_RECEIVED_NOTHING)
			return true;
		if (!tb_chunks_message(query, &message))
			return false;
		for (uint32 i = 0; i < query->ready.nslots; i++)
			if (query->slots[i].state == TB_SLOT_DONE && !take_deferred(input, i))
				return false;
		wait = false;
		*any = true;
	}
}

static bool
serve_messages(InputState *input, bool wait)
{
	bool		any;

	return serve_messages_noting(input, wait, &any);
}

/*
 * With feeders, nothing can be sent now: helps them, or waits for them or the service.
 * Looking for messages and for what is filled leaves the latch alone if there is
 * nothing, so what comes after the look ends the wait.
 */
static bool
feed_or_wait(InputState *input)
{
	TbHeapQuery *query = input->query;
	bool		any;

	if (!tb_query_flush(query))
		return false;
	if (tb_feeders_help(query))
		return serve_messages(input, false);
	if (!serve_messages_noting(input, false, &any))
		return false;
	if (any)
		return true;
	if (!tb_chunks_release_filled(query, &any))
		return false;
	if (!any)
		tb_query_wait(query);
	return true;
}

/* One step: sends a chunk if one is due and a slot is free, else waits.
 * *finished when nothing is left to send or to wait for. */
static bool
step(InputState *input, bool *finished)
{
	TbHeapQuery *query = input->query;
	int			slot = tb_chunks_free_slot(query);
	bool		blocks_left;
	bool		rows_due;
	bool		released;

	if (query->feeders != NULL && !tb_chunks_release_filled(query, &released))
		return false;
	if (!gather_rows(input) || !tb_parts_more(query, &blocks_left))
		return false;
	rows_due = input->rows_full ||
		(!blocks_left && query->in_flight == 0 && input->rows != NULL &&
		 tb_rows_chunk_count(input->rows) > 0);
	if (slot >= 0 && rows_due)
	{
		tb_rows_chunk_write(input->rows, tb_chunks_slot(query, slot));
		input->rows_full = false;
		return tb_chunks_issue_columns(query, slot);
	}
	if (slot >= 0 && blocks_left)
		return tb_chunks_issue(query, slot) && serve_messages(input, false);
	*finished = query->in_flight == 0;
	if (*finished)
		return true;
	if (query->feeders == NULL)
		return serve_messages(input, true);
	if (!blocks_left)
		tb_feeders_no_more(query);
	return feed_or_wait(input);
}

static bool
collect_groups(TbHeapQuery *query)
{
	uint64		nrows = 0;

	query->batches = tb_group_batches_make(query->spec.program, query->spec.result);
	for (;;)
	{
		TbIncoming	message;
		TbSlotFree	slot_free = {0};

		if (tb_query_receive(query, true, &message) != TB_RECEIVED)
			return false;
		if (message.type == TB_MSG_QUERY_DONE)
			return tb_query_take_done(query, &message, nrows);
		if (message.type != TB_MSG_GROUPS ||
			message.length < offsetof(TbGroups, columns))
			return tb_query_protocol_error(query, "unexpected message instead of groups");
		memcpy(&slot_free.slot, message.payload + offsetof(TbGroups, slot),
			   sizeof(slot_free.slot));
		if (slot_free.slot >= query->ready.nslots ||
			!tb_group_batches_add(query->batches, &message,
								  tb_chunks_slot(query, slot_free.slot),
								  query->ready.slot_size))
			return tb_query_protocol_error(query, "groups outside of their slot");
		nrows += ((const TbGroups *) message.payload)->nrows;
		if (!tb_query_send(query, TB_MSG_SLOT_FREE, &slot_free, sizeof(slot_free)))
			return false;
	}
}

static bool
run_input(TbHeapQuery *query)
{
	InputState	input = {.query = query};
	bool		finished = false;
	bool		ok = true;
	TbClock		before = tb_profile_enter(query->spec.profile, TB_CLOCK_READ);

	tb_feeders_begin(query);
	ok = tb_query_hold(query, true);
	while (ok && !finished)
		ok = step(&input, &finished);
	ok = ok && tb_query_hold(query, false);
	/* They end while the service does what is left to do: all pages are there. */
	ok = ok && tb_query_send(query, TB_MSG_INPUT_END, NULL, 0);
	tb_feeders_end(query, !ok);
	(void) tb_profile_enter(query->spec.profile, before);
	return ok;
}

bool
tb_aggregate_run(TbHeapQuery *query)
{
	return run_input(query) && collect_groups(query);
}

/* Nothing comes back but the end: the table stays there. */
bool
tb_build_run(TbHeapQuery *query)
{
	TbIncoming	message;

	if (!run_input(query) || tb_query_receive(query, true, &message) != TB_RECEIVED)
		return false;
	if (message.type != TB_MSG_QUERY_DONE)
		return tb_query_protocol_error(query, "unexpected message at the end of a query");
	return tb_query_take_done(query, &message, 0);
}
