/*
 * heap_query.c - the interface of heap_query.h, and delivery of ROWS.
 *
 * Phases: begin (daemon, or local if it can not), chunks, end. A ROWS query
 * that loses the daemon goes on locally from the first block not yet
 * delivered: chunks are read buffered into private memory and the node
 * evaluates them. Owns the query's memory context and its connection; must
 * never raise for the daemon's sake. Called by the scan and aggregate nodes.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"

#include "pg/feed/query_state.h"
#include "pg/nodes/table_statistics.h"
#include "pg/supervisor/stat_queries.h"

/* Pages of a local chunk: small enough to stay in the processor's cache. */
#define LOCAL_PAGES 16

static TbHeapQuery *
make_query(Relation rel, Snapshot snapshot, const TbHeapQuerySpec *spec)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pg_turbine query",
												  ALLOCSET_DEFAULT_SIZES);
	TbHeapQuery *query = MemoryContextAllocZero(context, sizeof(TbHeapQuery));
	MemoryContext old;

	query->context = context;
	query->rel = rel;
	query->snapshot = snapshot;
	query->spec = *spec;
	query->current_slot = -1;
	old = MemoryContextSwitchTo(context);
	tb_parts_make(query);
	MemoryContextSwitchTo(old);
	/* The queries of a session are one. */
	if (spec->program->sink != TB_SINK_BUILD)
		tb_stat_add(TB_COUNTER_QUERIES, 1);
	return query;
}

TbHeapQuery *
tb_heap_query_begin(Relation rel, Snapshot snapshot, const TbHeapQuerySpec *spec,
					TbFailure *why)
{
	TbHeapQuery *query = make_query(rel, snapshot, spec);
	MemoryContext old = MemoryContextSwitchTo(query->context);
	bool		rows = spec->program->sink == TB_SINK_ROWS;
	/* Without blocks there is nothing to filter. */
	bool		ok = (rows && !tb_blocks_left(query)) || tb_query_start(query);

	if (!ok)
		tb_query_note_fallback(query);
	MemoryContextSwitchTo(old);
	if (ok || rows)
		return query;
	*why = query->failure;
	tb_heap_query_end(query);
	return NULL;
}

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

/* The daemon is lost: chunks not yet delivered are read again. */
static void
go_local(TbHeapQuery *query)
{
	tb_query_note_fallback(query);
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
	return query->delivered >= 8 ? query->ready.nslots :
		Min(query->ready.nslots, 2u << query->delivered);
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

/* After the last chunk: tells the daemon, takes its statistics. */
static bool
finish_rows(TbHeapQuery *query)
{
	TbIncoming	message;

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
		TbIncoming	message;
		TbReceived	received;
		bool		head_done;

		if (!issue_ahead(query))
			return false;
		if (query->queue_length == 0)
		{
			*more = false;
			return finish_rows(query);
		}
		head_done = query->slots[query->queue[query->queue_head]].state ==
			TB_SLOT_DONE;
		/* What has come in is dealt with first: the daemon may wait for it. */
		received = tb_query_receive(query, !head_done, &message);
		if (received == TB_RECEIVED_LOST)
			return false;
		if (received == TB_RECEIVED)
		{
			if (!tb_chunks_message(query, &message))
				return false;
			continue;
		}
		return deliver(query, query->queue[query->queue_head], chunk);
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
	if (was_connected)
	{
		bool		more;

		if (tb_query_connected(query) && next_service_chunk(query, chunk, &more))
			return more;
		go_local(query);
	}
	return next_local_chunk(query, chunk);
}

bool
tb_heap_query_next_chunk(TbHeapQuery *query, TbRowChunk *chunk)
{
	MemoryContext old = MemoryContextSwitchTo(query->context);
	bool		more;

	memset(chunk, 0, sizeof(*chunk));
	more = next_chunk(query, chunk);
	if (more)
	{
		query->stats.chunks_evaluated += chunk->evaluate;
		query->stats.rows_deferred += chunk->ndeferred;
		if (pgstat_should_count_relation(query->rel))
			query->rel->pgstat_info->t_counts.t_tuples_returned += chunk->rows_in;
	}
	MemoryContextSwitchTo(old);
	return more;
}

static void
count_rows_read(TbHeapQuery *query)
{
	for (uint32 i = 0; i < query->nparts; i++)
		tb_count_rows_read(query->parts[i].rel, query->parts[i].stats.rows);
}

TbGroupsResult
tb_heap_query_next_groups(TbHeapQuery *query, const TbGroups **groups,
						  TbFailure *why)
{
	MemoryContext old = MemoryContextSwitchTo(query->context);
	TbGroupsResult result;

	if (!query->input_done)
	{
		query->input_done = true;
		if (!tb_query_connected(query) || !tb_aggregate_run(query))
		{
			tb_query_note_fallback(query);
			*why = query->failure;
			MemoryContextSwitchTo(old);
			return TB_GROUPS_FALLBACK;
		}
		count_rows_read(query);
	}
	*groups = tb_group_batches_next(query->batches);
	result = *groups != NULL ? TB_GROUPS_BATCH : TB_GROUPS_END;
	MemoryContextSwitchTo(old);
	return result;
}

bool
tb_heap_query_build(TbHeapQuery *query, TbFailure *why)
{
	MemoryContext old = MemoryContextSwitchTo(query->context);
	bool		ok = tb_query_connected(query) && tb_build_run(query);

	if (!ok)
	{
		tb_query_note_fallback(query);
		*why = query->failure;
	}
	else
		count_rows_read(query);
	MemoryContextSwitchTo(old);
	return ok;
}

const TbHeapQueryStats *
tb_heap_query_stats(TbHeapQuery *query)
{
	return &query->stats;
}

TbPartStats
tb_heap_query_part_stats(TbHeapQuery *query, int part)
{
	return query->parts[part].stats;
}

void
tb_heap_query_end(TbHeapQuery *query)
{
	/* Unfinished: closing cancels it. */
	if (tb_query_connected(query))
		tb_connection_close(query->conn);
	query->conn = NULL;
	if (query->batches != NULL)
		tb_group_batches_end(query->batches);
	tb_parts_end(query);
	tb_stat_add(TB_COUNTER_CHUNKS_EVALUATED, query->stats.chunks_evaluated);
	tb_stat_add(TB_COUNTER_ROWS_DEFERRED, query->stats.rows_deferred);
	tb_stat_add(TB_COUNTER_BLOCKS_BUFFERED, query->stats.blocks_buffered);
	tb_stat_add(TB_COUNTER_BLOCKS_DIRECT, query->stats.blocks_direct);
	tb_stat_add(TB_COUNTER_BLOCKS_MOVED, query->stats.blocks_moved);
	tb_stat_add(TB_COUNTER_BLOCKS_FED, query->stats.blocks_fed);
	MemoryContextDelete(query->context);
}
