/*
 * heap_source.c - see heap_source.h.
 *
 * Puts together what reads heap relations: the parts and their blocks, the chunks of
 * pages, feeders, and the rows that the engine defers. Owns the feeders; must never let
 * them outlive the input. Called through the methods of source.h.
 */
#include "postgres.h"

#include "utils/rel.h"

#include "pg/source/heap/deferred_rows.h"
#include "pg/source/heap/feeders/feeders.h"
#include "pg/source/heap/heap_chunks.h"
#include "pg/source/heap/heap_parts.h"
#include "pg/source/heap/heap_source.h"
#include "pg/settings/guc.h"
#include "pg/source/heap/relation_statistics.h"

typedef struct HeapSource
{
	TbSource		base;
	TbHeapParts	   *parts;
	double			engine_us;
	TbServiceQuery *query; /* from announce() on */

	/* From begin() on. */
	TbSlots		   *slots;
	TbHeapChunks   *chunks;
	TbDeferredRows *deferred;

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
	return true;
}

static bool
heap_ask(TbSource *source, TbServiceQuery *query)
{
	return !tb_guc_enable_cache ||
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
	heap->deferred = tb_deferred_rows_make(query, slots, heap->parts);
	if (tb_guc_enable_cache && !tb_heap_parts_take_cached(heap->parts, query))
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

	if (!tb_deferred_rows_gather(heap->deferred) ||
		!tb_heap_parts_more(heap->parts, heap->query, &blocks_left))
		return TB_FILL_LOST;
	if (!blocks_left && heap->feeders != NULL)
		tb_feeders_no_more(heap->feeders);
	/* Few rows wait for others as long as others may come. */
	rows_due = tb_deferred_rows_are_full(heap->deferred) ||
		(!blocks_left && tb_slots_in_flight(heap->slots) == 0 &&
		 tb_deferred_rows_are_there(heap->deferred));
	if (slot < 0 || !(rows_due || blocks_left))
		return TB_FILL_NOTHING;
	sent = rows_due ? tb_deferred_rows_send(heap->deferred, slot) :
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
		ok = tb_deferred_rows_take(heap->deferred, heap->chunks, slot);
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
	stats->rows_deferred = tb_deferred_rows_count(heap->deferred);
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
