/*
 * row_chunks.c - delivery of ROWS: chunks of rows in block order.
 *
 * Chunks are sent ahead, the more the longer the node has asked for them. A query
 * that loses the daemon goes on locally from the first block not yet delivered:
 * chunks are read buffered into private memory and the node evaluates them.
 *
 * Rows go to the node, and to the user's functions, between chunks. So feeders are
 * launched only where the whole statement is in parallel mode; they come once some
 * chunks were wanted, and stay to the end or until the executor shuts the node down.
 *
 * Called by heap_query.c.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"

#include "pg/source/heap/feeders.h"
#include "pg/source/heap/query_state.h"

/* Pages of a local chunk: small enough to stay in the processor's cache. */
#define LOCAL_PAGES 16

/* Delivered, before all slots are used, and feeders: a LIMIT may be near. */
#define FIRST_CHUNKS 8

/* The next chunk of the relation, read here; false at its end. */
static bool
next_local_chunk(TbHeapQuery *query, TbRowChunk *chunk)
{
	uint32		npages;

	if (!tb_blocks_left(query))
		return false;
	if (query->local_pages == NULL)
	{
		query->local_pages = palloc(LOCAL_PAGES * BLCKSZ);
		query->local_blocks = palloc(LOCAL_PAGES * sizeof(BlockNumber));
	}
	npages = tb_blocks_take(query, query->local_blocks, LOCAL_PAGES);
	for (uint32 page = 0; page < npages; page++)
		tb_buffered_read(&query->part->reader, query->local_blocks[page],
						 query->local_pages + (Size) page * BLCKSZ);
	query->stats.blocks_buffered += npages;
	query->part->stats.blocks_buffered += npages;
	tb_tuples_set_pages(query, -1, query->local_blocks, npages, query->local_pages);
	chunk->evaluate = true;
	chunk->nrows = tb_tuples_list_visible(query);
	chunk->rowids = query->ids;
	chunk->rows_in = chunk->nrows;
	return true;
}

/* Chunks not yet delivered are read again. */
static void
go_local(TbHeapQuery *query)
{
	tb_feeders_end(query, true);
	if (query->queue_length > 0)
		query->next_block = query->slots[query->queue[query->queue_head]].blocks[0];
	query->queue_length = 0;
	query->in_flight = 0;
}

/* Chunks under way at once. It grows with what was delivered, so that a LIMIT
 * does not read far ahead. */
static uint32
read_ahead(TbHeapQuery *query)
{
	return query->delivered >= FIRST_CHUNKS ? query->ready.nslots :
		Min(query->ready.nslots, 2u << query->delivered);
}

/* Once the rows that are wanted are known not to be few. */
static void
begin_feeding(TbHeapQuery *query)
{
	if (!query->spec.in_parallel_mode || query->feeders_considered ||
		!tb_blocks_left(query))
		return;
	if (query->delivered < FIRST_CHUNKS && force_parallel_mode == FORCE_PARALLEL_OFF)
		return;
	query->feeders_considered = true;
	tb_feeders_begin(query);
}

static bool
issue_ahead(TbHeapQuery *query)
{
	while (tb_blocks_left(query) &&
		   query->queue_length < read_ahead(query))
	{
		int			slot = tb_chunks_free_slot(query);
		uint32		tail = (query->queue_head + query->queue_length) % TB_MAX_SLOTS;

		if (slot < 0)
			return true;
		/* Queued before it is sent: if that fails, its blocks are not lost. */
		query->queue[tail] = slot;
		query->queue_length++;
		query->slots[slot].blocks[0] = query->next_block;
		if (!tb_chunks_issue(query, slot))
			return false;
	}
	return true;
}

/* Hands out the slot's chunk; false if what the daemon says of it is wrong. */
static bool
deliver(TbHeapQuery *query, int slot_index, TbRowChunk *chunk)
{
	TbSlot	   *slot = &query->slots[slot_index];
	char	   *base = tb_chunks_slot(query, slot_index);

	if (slot->done.verdict == 0 && !tb_tuples_take_ids(query, slot, base))
		return false;
	tb_tuples_set_pages(query, slot_index, slot->blocks, slot->npages, base);
	if (slot->done.verdict != 0)
	{
		chunk->evaluate = true;
		chunk->verdict = slot->done.verdict;
		chunk->nrows = tb_tuples_list_visible(query);
		chunk->rows_in = chunk->nrows;
	}
	else
	{
		chunk->nrows = slot->done.nrows;
		chunk->ndeferred = slot->done.ndeferred;
		chunk->rows_in = slot->done.rows_in;
	}
	chunk->rowids = query->ids;
	chunk->deferred = query->ids + chunk->nrows;
	slot->state = TB_SLOT_CURRENT;
	query->queue_head = (query->queue_head + 1) % TB_MAX_SLOTS;
	query->queue_length--;
	query->delivered++;
	return true;
}

/* Deals with what has come in, from the daemon, which may wait for it, or from
 * feeders. */
static bool
serve(TbHeapQuery *query)
{
	TbIncoming	message;
	TbReceived	received;
	bool		released = false;

	/* To send may be to take in what comes meanwhile. */
	do
	{
		while ((received = tb_query_receive(query, false, &message)) == TB_RECEIVED)
			if (!tb_chunks_message(query, &message))
				return false;
		if (received == TB_RECEIVED_LOST)
			return false;
		if (query->feeders != NULL && !tb_chunks_release_filled(query, &released))
			return false;
	} while (released);
	return true;
}

/* Nothing can be sent or delivered now. What comes after serve() has looked ends the
 * wait. */
static void
feed_or_wait(TbHeapQuery *query)
{
	if (query->feeders != NULL)
	{
		if (!tb_blocks_left(query))
			tb_feeders_no_more(query);
		if (tb_feeders_help(query))
			return;
	}
	tb_query_wait(query);
}

/* After the last chunk: tells the daemon, takes its statistics. */
static bool
finish_rows(TbHeapQuery *query)
{
	TbIncoming	message;

	tb_feeders_end(query, false);
	if (!tb_query_send(query, TB_MSG_INPUT_END, NULL, 0) ||
		tb_query_receive(query, true, &message) != TB_RECEIVED)
		return false;
	if (message.type != TB_MSG_QUERY_DONE)
		return tb_query_protocol_error(query, "unexpected message at the end of a query");
	return tb_query_take_done(query, &message, 0);
}

/* The next chunk from the daemon. False: lost it. *more is false at the end. */
static bool
next_service_chunk(TbHeapQuery *query, TbRowChunk *chunk, bool *more)
{
	*more = true;
	for (;;)
	{
		begin_feeding(query);
		if (!issue_ahead(query))
			return false;
		if (query->queue_length == 0)
		{
			*more = false;
			return finish_rows(query);
		}
		if (!serve(query))
			return false;
		if (query->slots[query->queue[query->queue_head]].state == TB_SLOT_DONE)
			return deliver(query, query->queue[query->queue_head], chunk);
		feed_or_wait(query);
	}
}

static void
retire_current(TbHeapQuery *query)
{
	if (query->current_slot >= 0)
		query->slots[query->current_slot].state = TB_SLOT_FREE;
	tb_tuples_set_pages(query, -1, NULL, 0, NULL);
}

static bool
next_chunk(TbHeapQuery *query, TbRowChunk *chunk)
{
	bool		was_connected = query->conn != NULL;

	retire_current(query);
	if (query->shut_down && was_connected)
	{
		tb_connection_close(query->conn);
		query->conn = NULL;
		go_local(query);
	}
	else if (was_connected)
	{
		bool		more;

		if (tb_query_connected(query) && next_service_chunk(query, chunk, &more))
			return more;
		tb_query_note_fallback(query);
		go_local(query);
	}
	return next_local_chunk(query, chunk);
}

bool
tb_rows_next(TbHeapQuery *query, TbRowChunk *chunk)
{
	TbClock		before = tb_profile_enter(query->spec.profile, TB_CLOCK_READ);
	bool		more = next_chunk(query, chunk);

	(void) tb_profile_enter(query->spec.profile, before);
	return more;
}

/* The current chunk may still be looked at. Should there be another, against what the
 * executor does, it is read here. */
void
tb_rows_shut_down(TbHeapQuery *query)
{
	if (query->feeders == NULL)
		return;
	tb_feeders_end(query, true);
	query->shut_down = true;
}

