/*
 * deferred_rows.c - see deferred_rows.h.
 *
 * Owns copies of rows whose slot has gone on. Detoasting may take long and may raise
 * PostgreSQL's errors; it must never happen while messages are held. Called by the heap
 * source.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "pg/source/heap/deferred_rows.h"
#include "pg/source/heap/heap_tuples.h"
#include "pg/conversation/column_chunk.h"

typedef struct PendingRow
{
	HeapTuple	tuple; /* a copy */
	TbHeapPart *part;
} PendingRow;

struct TbDeferredRows
{
	TbServiceQuery *query;
	TbSlots		   *slots;
	TbHeapParts	   *parts;
	TbHeapTuples   *tuples;
	uint64			count;	 /* taken so far */
	List		   *pending; /* PendingRow, not yet in `rows` */
	TbColumnChunk  *rows;	 /* made when the first row is deferred */
	bool			full;	 /* the first of `pending` does not fit */
};

TbDeferredRows *
tb_deferred_rows_make(TbServiceQuery *query, TbSlots *slots, TbHeapParts *parts)
{
	TbDeferredRows *deferred = palloc0(sizeof(TbDeferredRows));

	deferred->query = query;
	deferred->slots = slots;
	deferred->parts = parts;
	deferred->tuples = tb_heap_tuples_make();
	return deferred;
}

bool
tb_deferred_rows_take(TbDeferredRows *deferred, const TbHeapChunks *chunks, uint32 slot)
{
	const TbChunkDone *done = tb_slots_done(deferred->slots, slot);
	const TbReady	  *ready = tb_service_query_ready(deferred->query);
	TbHeapPart		  *part = tb_heap_chunks_part(chunks, slot);
	char			  *pages = tb_slots_memory(deferred->slots, slot);
	const BlockNumber *blocks;
	const uint32	  *ids;
	uint32			   npages;

	if (done->ndeferred == 0)
		return true;
	blocks = tb_heap_chunks_blocks(chunks, slot, &npages);
	tb_heap_tuples_set_pages(deferred->tuples, part, blocks, npages, pages);
	ids = tb_heap_tuples_take_ids(deferred->tuples,
								  (const uint32 *) (pages + ready->ids_offset) +
									  done->nrows,
								  done->ndeferred);
	if (ids == NULL)
		return tb_service_query_protocol_error(deferred->query, "row id out of range");
	for (uint32 i = 0; i < done->ndeferred; i++)
	{
		PendingRow *row = palloc(sizeof(PendingRow));

		row->tuple = heap_copytuple(tb_heap_tuples_get(deferred->tuples, ids[i]));
		row->part = part;
		deferred->pending = lappend(deferred->pending, row);
	}
	deferred->count += done->ndeferred;
	return true;
}

/* Adds the last pending row; false, with *why, if the engine can not hold it. */
static bool
add_last(TbDeferredRows *deferred, TbFailure *why)
{
	PendingRow		*row = llast(deferred->pending);
	const TbProgram *program = tb_service_query_spec(deferred->query)->program;

	switch (
		tb_column_chunk_add(deferred->rows, row->tuple, RelationGetDescr(row->part->rel),
							tb_heap_parts_layout(deferred->parts, row->part, program), why))
	{
		case TB_ROW_ADDED:
			deferred->pending = list_delete_last(deferred->pending);
			heap_freetuple(row->tuple);
			pfree(row);
			return true;
		case TB_ROW_NO_SPACE:
			deferred->full = true;
			return true;
		case TB_ROW_IMPOSSIBLE:
			break;
	}
	return false;
}

bool
tb_deferred_rows_gather(TbDeferredRows *deferred)
{
	TbProfile *profile = tb_service_query_spec(deferred->query)->profile;
	TbFailure  why;
	TbClock	   before;
	bool	   ok = true;

	if (deferred->pending == NIL || deferred->full)
		return true;
	if (deferred->rows == NULL)
		deferred->rows =
			tb_column_chunk_make(tb_service_query_spec(deferred->query)->program,
								 (Size) tb_slots_pages(deferred->slots) * TB_PAGE_SIZE);
	if (!tb_service_query_flush(deferred->query))
		return false;
	before = tb_profile_enter(profile, TB_CLOCK_DETOAST);
	while (ok && deferred->pending != NIL && !deferred->full)
	{
		ok = add_last(deferred, &why);
		CHECK_FOR_INTERRUPTS();
	}
	(void) tb_profile_enter(profile, before);
	return ok || tb_service_query_give_up(deferred->query, &why);
}

bool
tb_deferred_rows_are_full(const TbDeferredRows *deferred)
{
	return deferred->full;
}

bool
tb_deferred_rows_are_there(const TbDeferredRows *deferred)
{
	return deferred->rows != NULL && tb_column_chunk_count(deferred->rows) > 0;
}

bool
tb_deferred_rows_send(TbDeferredRows *deferred, uint32 slot)
{
	Assert(tb_deferred_rows_are_there(deferred));
	tb_column_chunk_write(deferred->rows, tb_slots_memory(deferred->slots, slot));
	deferred->full = false;
	return tb_slots_send_columns(deferred->slots, slot);
}

uint64
tb_deferred_rows_count(const TbDeferredRows *deferred)
{
	return deferred->count;
}
