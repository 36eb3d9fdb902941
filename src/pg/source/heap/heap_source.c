/*
 * heap_source.c - see heap_source.h.
 *
 * Puts together what reads heap relations: the parts and their blocks, the chunks of pages,
 * feeders, and the rows that the engine defers.
 *
 * Deferred rows are those that the engine could not decode from their pages: a value that
 * the program needs is compressed or out of line. The backend copies them, for their slot
 * goes on, detoasts them into a chunk of columns, and sends that when it is full or nothing
 * else is left. Detoasting may take long and may raise PostgreSQL's errors; it must never
 * happen while messages are held.
 *
 * Owns the feeders and the deferred rows; must never let feeders outlive the input. Called
 * through the methods of source.h.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "pg/conversation/column_chunk.h"
#include "pg/settings/guc.h"
#include "pg/source/heap/feeders/feeders.h"
#include "pg/source/heap/heap_chunks.h"
#include "pg/source/heap/heap_parts.h"
#include "pg/source/heap/heap_source.h"
#include "pg/source/heap/heap_tuples.h"
#include "pg/source/heap/relation_statistics.h"

typedef struct PendingRow
{
	HeapTuple	tuple; /* a copy */
	TbHeapPart *part;
} PendingRow;

typedef struct DeferredRows
{
	TbServiceQuery *query;
	TbSlots		   *slots;
	TbHeapParts	   *parts;
	TbHeapTuples   *tuples;
	uint64			count;	 /* taken so far */
	List		   *pending; /* PendingRow, not yet in `rows` */
	TbColumnChunk  *rows;	 /* made when the first row is deferred */
	bool			full;	 /* the first of `pending` does not fit */
} DeferredRows;

/* In the current memory context. */
static DeferredRows *
make_deferred(TbServiceQuery *query, TbSlots *slots, TbHeapParts *parts)
{
	DeferredRows *deferred = palloc0(sizeof(DeferredRows));

	deferred->query = query;
	deferred->slots = slots;
	deferred->parts = parts;
	deferred->tuples = tb_heap_tuples_make();
	return deferred;
}

/* Copies the deferred rows of a slot's chunk, which is DONE; the slot is not freed. */
static bool
take_deferred(DeferredRows *deferred, const TbHeapChunks *chunks, uint32 slot)
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
	/* Check the row ids */
	blocks = tb_heap_chunks_blocks(chunks, slot, &npages);
	tb_heap_tuples_set_pages(deferred->tuples, part, blocks, npages, pages);
	ids = tb_heap_tuples_take_ids(deferred->tuples,
								  (const uint32 *) (pages + ready->ids_offset) +
									  done->nrows,
								  done->ndeferred);
	if (ids == NULL)
		return tb_service_query_protocol_error(deferred->query, "row id out of range");
	/* Copy the rows */
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
add_last(DeferredRows *deferred, TbFailure *why)
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

/* Moves rows into the chunk of columns until it is full. */
static bool
gather_deferred(DeferredRows *deferred)
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
	/* Detoasting holds no messages */
	if (!tb_service_query_flush(deferred->query))
		return false;
	before = tb_profile_enter(profile, TB_CLOCK_DETOAST);
	/* Detoast until it is full */
	while (ok && deferred->pending != NIL && !deferred->full)
	{
		ok = add_last(deferred, &why);
		CHECK_FOR_INTERRUPTS();
	}
	(void) tb_profile_enter(profile, before);
	return ok || tb_service_query_give_up(deferred->query, &why);
}

/* Whether the chunk is full, and whether it has rows at all. */
static bool
deferred_are_full(const DeferredRows *deferred)
{
	return deferred->full;
}

static bool
deferred_are_there(const DeferredRows *deferred)
{
	return deferred->rows != NULL && tb_column_chunk_count(deferred->rows) > 0;
}

/* Sends the chunk in a free slot. */
static bool
send_deferred(DeferredRows *deferred, uint32 slot)
{
	Assert(deferred_are_there(deferred));
	tb_column_chunk_write(deferred->rows, tb_slots_memory(deferred->slots, slot));
	deferred->full = false;
	return tb_slots_send_columns(deferred->slots, slot);
}

/* Rows taken so far. */
static uint64
count_deferred(const DeferredRows *deferred)
{
	return deferred->count;
}

typedef struct HeapSource
{
	TbSource		base;
	TbHeapParts	   *parts;
	double			engine_us;
	TbServiceQuery *query; /* from announce() on */

	/* From begin() on. */
	TbSlots		 *slots;
	TbHeapChunks *chunks;
	DeferredRows *deferred;

	TbFeeders	 *feeders; /* while the input lasts; NULL: none */
	TbFeederStats feeder_stats;
} HeapSource;

static bool
heap_announce(TbSource *source, TbServiceQuery *query, TbInputSize *size)
{
	HeapSource *heap = (HeapSource *) source;

	heap->query = query;
	/* The stages of a node have announced all their programs before. */
	if (tb_service_query_is_alone(query) &&
		!tb_heap_parts_prepare_layouts(heap->parts, query))
		return false;
	tb_heap_parts_classify(heap->parts);
	size->nblocks = heap->parts->total_blocks;
	size->copied = tb_heap_parts_most_is_buffered(heap->parts);
	tb_heap_parts_prefer_gpus(heap->parts, query);
	return true;
}

/* Where cached rows lie among others is not known: a stream wants them in their order. */
static bool
uses_cache(const TbServiceQuery *query)
{
	return tb_guc_enable_cache && tb_service_query_spec(query)->stream == NULL;
}

static bool
heap_ask(TbSource *source, TbServiceQuery *query)
{
	return !uses_cache(query) ||
		tb_heap_parts_ask_for_cached(((HeapSource *) source)->parts, query);
}

static bool
heap_ended(const TbSource *source)
{
	return tb_heap_parts_end_by_themselves(((const HeapSource *) source)->parts);
}

static bool
heap_begin(TbSource *source, TbServiceQuery *query, TbSlots *slots)
{
	HeapSource *heap = (HeapSource *) source;

	heap->slots = slots;
	heap->chunks = tb_heap_chunks_make(query, slots, heap->parts);
	heap->deferred = make_deferred(query, slots, heap->parts);
	if (uses_cache(query) && !tb_heap_parts_take_cached(heap->parts, query))
		return false;
	return tb_heap_parts_send_files(heap->parts, query) &&
		tb_heap_parts_announce_layout(heap->parts, query);
}

static void
heap_begin_input(TbSource *source)
{
	HeapSource	 *heap = (HeapSource *) source;
	TbFeederInput input = {.parts = heap->parts,
						   .query = heap->query,
						   .engine_us = heap->engine_us};

	heap->feeders = tb_feeders_begin(&input, &heap->feeder_stats);
	tb_heap_chunks_set_feeders(heap->chunks, heap->feeders);
}

static void
heap_end_input(TbSource *source, bool abandon)
{
	HeapSource *heap = (HeapSource *) source;
	TbFeeders  *feeders = heap->feeders;

	/* To end them may raise what they raised: they are ended once. */
	heap->feeders = NULL;
	if (heap->chunks != NULL)
		tb_heap_chunks_set_feeders(heap->chunks, NULL);
	tb_feeders_end(feeders, abandon);
}

static TbSourceFill
heap_fill(TbSource *source, int slot)
{
	HeapSource *heap = (HeapSource *) source;
	bool		blocks_left;
	bool		rows_due;
	bool		sent;

	if (!gather_deferred(heap->deferred) ||
		!tb_heap_parts_more(heap->parts, heap->query, &blocks_left))
		return TB_FILL_LOST;
	if (!blocks_left && heap->feeders != NULL)
		tb_feeders_no_more(heap->feeders);
	/* Few rows wait for others as long as others may come. */
	rows_due = deferred_are_full(heap->deferred) ||
		(!blocks_left && tb_slots_in_flight(heap->slots) == 0 &&
		 deferred_are_there(heap->deferred));
	if (slot < 0 || !(rows_due || blocks_left))
		return TB_FILL_NOTHING;
	sent = rows_due ? send_deferred(heap->deferred, slot) :
					  tb_heap_chunks_send(heap->chunks, slot);
	return sent ? TB_FILL_SENT : TB_FILL_LOST;
}

static bool
heap_chunk_read(TbSource *source, uint32 slot, TbReadOutcome outcome)
{
	return tb_heap_chunks_read(((HeapSource *) source)->chunks, slot, outcome);
}

static bool
heap_chunk_done(TbSource *source, uint32 slot)
{
	HeapSource *heap = (HeapSource *) source;
	bool		ok = true;

	if (tb_slots_kind(heap->slots, slot) == TB_CHUNK_PAGES)
	{
		tb_heap_chunks_done(heap->chunks, slot);
		ok = take_deferred(heap->deferred, heap->chunks, slot);
	}
	tb_slots_free(heap->slots, slot);
	return ok;
}

static bool
heap_poll(TbSource *source, bool *any)
{
	return tb_heap_chunks_release_filled(((HeapSource *) source)->chunks, any);
}

static TbSourceHelp
heap_help(TbSource *source)
{
	HeapSource *heap = (HeapSource *) source;

	if (heap->feeders == NULL)
		return TB_HELP_NONE;
	return tb_feeders_help(heap->feeders) ? TB_HELP_DONE : TB_HELP_THEIRS;
}

static void
heap_report(const TbSource *source, TbRunStats *stats)
{
	const HeapSource *heap = (const HeapSource *) source;

	stats->feeders = heap->feeder_stats;
	if (heap->chunks == NULL)
		return;
	stats->blocks = *tb_heap_chunks_stats(heap->chunks);
	tb_heap_parts_count_cached(heap->parts, stats);
	stats->blocks.excluded += stats->service.done.blocks_excluded_by_order;
	stats->rows_deferred = count_deferred(heap->deferred);
}

static void
heap_count_rows(TbSource *source)
{
	HeapSource *heap = (HeapSource *) source;

	for (uint32 i = 0; i < heap->parts->nparts; i++)
		tb_count_rows_read(heap->parts->parts[i].rel, heap->parts->parts[i].stats.rows);
	if (tb_service_query_ready(heap->query)->device == TB_DEVICE_HOST)
		tb_heap_parts_note_cached(heap->parts);
}

static void
heap_end(TbSource *source)
{
	heap_end_input(source, true);
	tb_heap_parts_end(((HeapSource *) source)->parts);
}

static const TbSourceMethods heap_methods = {
	.announce = heap_announce,
	.ask = heap_ask,
	.begin = heap_begin,
	.begin_input = heap_begin_input,
	.end_input = heap_end_input,
	.ended = heap_ended,
	.fill = heap_fill,
	.chunk_read = heap_chunk_read,
	.chunk_done = heap_chunk_done,
	.poll = heap_poll,
	.help = heap_help,
	.report = heap_report,
	.count_rows = heap_count_rows,
	.end = heap_end,
};

TbSource *
tb_heap_source_make(const TbHeapInput *input)
{
	HeapSource *heap = palloc0(sizeof(HeapSource));

	heap->base.methods = &heap_methods;
	heap->engine_us = input->engine_us;
	heap->parts = tb_heap_parts_make(input);
	return &heap->base;
}

TbPartStats
tb_heap_source_part_stats(const TbSource *source, int part)
{
	const HeapSource *heap = (const HeapSource *) source;

	Assert(source->methods == &heap_methods);
	Assert(part >= 0 && part < (int) heap->parts->nparts);
	return heap->parts->parts[part].stats;
}
