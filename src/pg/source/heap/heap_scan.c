/*
 * heap_scan.c - see heap_scan.h.
 *
 * Chunks are sent ahead: more of them, the longer the node has asked for them. A scan
 * that loses the service goes on locally from the first block not yet delivered. It reads
 * chunks buffered into private memory, and the node evaluates them.
 *
 * If turbined has the columns of blocks, it is asked for their row ids alone, in the same
 * order, and tuples are taken from shared buffers. That pays as long as few pages have
 * rows that pass. Otherwise the rest of the table is read as if nothing were cached.
 *
 * Rows go to the node, and to the user's functions, between chunks. So feeders are
 * launched only if the whole statement is in parallel mode. They come once some chunks
 * were wanted, and stay to the end or until the executor shuts the node down.
 *
 * Owns its memory context, the conversation, the slots and the feeders. Must never hand
 * out a chunk before those of earlier blocks. Called by GpuScan.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "turbine/kernel.h"

#include "pg/compat/pg16.h"
#include "pg/settings/guc.h"
#include "pg/shmem/cache_advice.h"
#include "pg/shmem/query_counters.h"
#include "pg/source/heap/feeders/feeders.h"
#include "pg/source/heap/heap_chunks.h"
#include "pg/source/heap/heap_parts.h"
#include "pg/source/heap/heap_scan.h"
#include "pg/source/heap/heap_tuples.h"
#include "pg/source/heap/relation_statistics.h"
#include "pg/conversation/slots.h"

/* Pages of a local chunk: small enough to stay in the processor's cache. */
#define LOCAL_PAGES 16

/* Delivered, before all slots are used, and feeders: a LIMIT may be near. */
#define FIRST_CHUNKS 8

/* Pages of cached chunks that must have been seen before TB_WANTED_PAGES_SHARE is asked. */
#define JUDGED_PAGES 256

struct TbHeapScan
{
	MemoryContext context;
	TbHeapParts	 *parts; /* one: the table */
	TbHeapTuples *tuples;
	TbProfile	 *profile;
	double		  engine_us;
	bool		  in_parallel_mode;

	/* In the service. */
	TbServiceQuery *query;
	bool			local; /* not, or no longer */
	TbSlots		   *slots; /* NULL: never was */
	TbHeapChunks   *chunks;

	/* Slots of chunks sent and not delivered, in block order: a ring. */
	uint32 queue[TB_MAX_SLOTS];
	uint32 queue_head;
	uint32 queue_length;
	uint64 delivered;
	int	   current_slot;   /* of the chunk that was handed out last; -1: none */

	TbFeeders	 *feeders; /* NULL: none */
	TbFeederStats feeder_stats;
	bool		  feeders_considered;
	bool		  shut_down; /* with slots half filled */

	/* The local chunk, made when first needed. */
	char		*local_pages;
	BlockNumber *local_blocks;

	uint64 cached_pages; /* of chunks delivered */
	uint64 wanted_pages; /* of these, with rows that passed */
	bool   gave_up;		 /* on cached chunks */

	uint64 blocks_local;
	uint64 rows_deferred;
	uint64 rows_undecided;
	uint64 chunks_evaluated;
};

static bool
announce_files(TbHeapScan *scan)
{
	tb_heap_parts_classify(scan->parts);
	tb_heap_parts_prefer_gpus(scan->parts, scan->query);
	return tb_heap_parts_send_files(scan->parts, scan->query);
}

static bool
start(TbHeapScan *scan)
{
	if (!tb_service_query_connect(scan->query) || !announce_files(scan) ||
		!tb_service_query_begin(scan->query, scan->parts->total_blocks,
								tb_heap_parts_most_is_buffered(scan->parts)) ||
		(tb_guc_enable_cache &&
		 !(tb_heap_parts_ask_for_cached(scan->parts, scan->query) &&
		   tb_heap_parts_take_cached(scan->parts, scan->query))))
		return false;
	scan->slots = tb_slots_make(scan->query);
	scan->chunks = tb_heap_chunks_make(scan->query, scan->slots, scan->parts);
	return true;
}

TbHeapScan *
tb_heap_scan_begin(const TbProgramSpec *spec, const TbHeapInput *input)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pg_turbine heap scan",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	TbHeapScan	 *scan = palloc0(sizeof(TbHeapScan));

	Assert(spec->program->sink == TB_SINK_ROWS && input->parts == NULL);
	scan->context = context;
	scan->profile = spec->profile;
	scan->engine_us = input->engine_us;
	scan->in_parallel_mode = input->in_parallel_mode;
	scan->current_slot = -1;
	scan->parts = tb_heap_parts_make(input);
	scan->parts->rows = true;
	scan->tuples = tb_heap_tuples_make();
	scan->query = tb_service_query_make(spec, RelationGetRelationName(input->rel));
	tb_stat_add(TB_COUNTER_QUERIES, 1);
	/* Without blocks there is nothing to filter. */
	if (!tb_heap_parts_blocks_left(scan->parts))
		scan->local = true;
	else if (!start(scan))
	{
		/* Of what turbined has, an answer may be missing: nothing of it is used. */
		scan->parts->parts[0].cached = NULL;
		tb_service_query_note_fallback(scan->query);
		scan->local = true;
	}
	MemoryContextSwitchTo(old);
	return scan;
}

/* Makes every visible tuple of the current pages the chunk's. */
static void
list_all(TbHeapScan *scan, TbRowChunk *chunk)
{
	chunk->evaluate = true;
	chunk->rowids = tb_heap_tuples_list_visible(scan->tuples, &chunk->nrows);
	chunk->rows_in = chunk->nrows;
}

/* The next chunk of the relation, read here; false at its end. */
static bool
next_local_chunk(TbHeapScan *scan, TbRowChunk *chunk)
{
	TbHeapPart	  *part = scan->parts->current;
	TbBufferedPage pages[LOCAL_PAGES];
	uint32		   npages;

	if (!tb_heap_parts_blocks_left(scan->parts))
		return false;
	if (scan->local_pages == NULL)
	{
		scan->local_pages = palloc(LOCAL_PAGES * BLCKSZ);
		scan->local_blocks = palloc(LOCAL_PAGES * sizeof(BlockNumber));
	}
	npages = tb_heap_parts_take(scan->parts, scan->local_blocks, LOCAL_PAGES);
	for (uint32 page = 0; page < npages; page++)
		pages[page] = (TbBufferedPage) {.block = scan->local_blocks[page],
										.recent = InvalidBuffer,
										.page = scan->local_pages + (Size) page * BLCKSZ};
	tb_buffered_read_many(&part->reader, pages, npages);
	scan->blocks_local += npages;
	part->stats.blocks_buffered += npages;
	tb_heap_tuples_set_pages(scan->tuples, part, scan->local_blocks, npages,
							 scan->local_pages);
	list_all(scan, chunk);
	return true;
}

static void
end_feeders(TbHeapScan *scan, bool abandon)
{
	TbFeeders *feeders = scan->feeders;

	/* To end them may raise what they raised: they are ended once. */
	scan->feeders = NULL;
	if (scan->chunks != NULL)
		tb_heap_chunks_set_feeders(scan->chunks, NULL);
	tb_feeders_end(feeders, abandon);
}

static void
give_up_cached(TbHeapScan *scan)
{
	TbHeapPart *part = &scan->parts->parts[0];

	scan->gave_up = true;
	if (part->cached != NULL)
		tb_cached_segments_give_up(part->cached);
}

/* Chunks not yet delivered are read again. */
static void
go_local(TbHeapScan *scan)
{
	end_feeders(scan, true);
	give_up_cached(scan);
	if (scan->queue_length > 0)
	{
		uint32			   npages;
		const BlockNumber *blocks = tb_heap_chunks_blocks(scan->chunks,
														  scan->queue[scan->queue_head],
														  &npages);

		tb_heap_parts_go_back(scan->parts, blocks[0]);
	}
	scan->queue_length = 0;
	scan->local = true;
}

/* Chunks under way at once. It grows with the chunks delivered, so that a LIMIT
 * does not read far ahead. */
static uint32
read_ahead(const TbHeapScan *scan)
{
	uint32 slots = tb_slots_count(scan->slots);

	return scan->delivered >= FIRST_CHUNKS ? slots : Min(slots, 2u << scan->delivered);
}

/* Once the rows that are wanted are known not to be few. */
static void
begin_feeding(TbHeapScan *scan)
{
	TbFeederInput input = {.parts = scan->parts,
						   .query = scan->query,
						   .engine_us = scan->engine_us};

	if (!scan->in_parallel_mode || scan->feeders_considered ||
		!tb_heap_parts_blocks_left(scan->parts))
		return;
	if (scan->delivered < FIRST_CHUNKS && debug_parallel_query == DEBUG_PARALLEL_OFF)
		return;
	scan->feeders_considered = true;
	input.chunks_sent = tb_slots_sent(scan->slots);
	scan->feeders = tb_feeders_begin(&input, &scan->feeder_stats);
	tb_heap_chunks_set_feeders(scan->chunks, scan->feeders);
}

static bool
send_ahead(TbHeapScan *scan)
{
	while (tb_heap_parts_blocks_left(scan->parts) && scan->queue_length < read_ahead(scan))
	{
		int	   slot = tb_slots_find_free(scan->slots);
		uint32 tail = (scan->queue_head + scan->queue_length) % TB_MAX_SLOTS;

		if (slot < 0)
			return true;
		/* Queued before it is sent: if that fails, its blocks are not lost. */
		scan->queue[tail] = slot;
		scan->queue_length++;
		if (!tb_heap_chunks_send(scan->chunks, slot))
			return false;
	}
	return true;
}

static void
count_undecided(TbHeapScan *scan, const TbRowChunk *chunk)
{
	for (uint32 i = 0; i < chunk->nrows; i++)
		scan->rows_undecided += (chunk->rowids[i] & TB_ROWID_UNDECIDED) != 0;
}

/* Row ids of a cached chunk, in order: how many of its pages must be read for them. */
static void
judge_cached(TbHeapScan *scan, const TbRowChunk *chunk, uint32 npages)
{
	for (uint32 i = 0; i < chunk->nrows; i++)
		if (i == 0 ||
			TB_ROWID_PAGE(chunk->rowids[i]) != TB_ROWID_PAGE(chunk->rowids[i - 1]))
			scan->wanted_pages++;
	scan->cached_pages += npages;
	if (!scan->gave_up && scan->cached_pages >= JUDGED_PAGES &&
		scan->wanted_pages > scan->cached_pages * TB_WANTED_PAGES_SHARE)
		give_up_cached(scan);
}

/* Hands out the slot's chunk; false if what the service says of it is wrong. */
static bool
deliver(TbHeapScan *scan, uint32 slot, TbRowChunk *chunk)
{
	const TbChunkDone *done = tb_slots_done(scan->slots, slot);
	const TbReady	  *ready = tb_service_query_ready(scan->query);
	char			  *pages = tb_slots_memory(scan->slots, slot);
	uint32			   npages;
	const BlockNumber *blocks = tb_heap_chunks_blocks(scan->chunks, slot, &npages);
	bool			   cached = tb_heap_chunks_is_cached(scan->chunks, slot);

	/* Choose the tuples' pages. */
	if (cached && done->verdict != 0)
		tb_heap_chunks_read_pages(scan->chunks, slot);
	tb_heap_tuples_set_pages(scan->tuples, tb_heap_chunks_part(scan->chunks, slot), blocks,
							 npages, cached && done->verdict == 0 ? NULL : pages);
	/* The node evaluates all rows. */
	if (done->verdict != 0)
	{
		chunk->verdict = done->verdict;
		list_all(scan, chunk);
	}
	else
	{
		/* Rows passed, rows deferred. */
		chunk->rowids = tb_heap_tuples_take_ids(scan->tuples,
												(const uint32 *) (pages +
																  ready->ids_offset),
												done->nrows + done->ndeferred);
		if (chunk->rowids == NULL)
			return tb_service_query_protocol_error(scan->query, "row id out of range");
		chunk->nrows = done->nrows;
		chunk->ndeferred = done->ndeferred;
		chunk->deferred = chunk->rowids + done->nrows;
		chunk->rows_in = done->rows_in;
		count_undecided(scan, chunk);
		if (cached)
			judge_cached(scan, chunk, npages);
	}
	/* The slot is the node's now. */
	tb_slots_hand_out(scan->slots, slot);
	scan->current_slot = slot;
	scan->queue_head = (scan->queue_head + 1) % TB_MAX_SLOTS;
	scan->queue_length--;
	scan->delivered++;
	return true;
}

/* Deals with what has come in, from the service or from feeders. */
static bool
serve(TbHeapScan *scan)
{
	TbIncoming	message;
	TbSlotEvent event;
	TbReceived	received;
	bool		released;

	/* To send may be to take in what comes meanwhile. */
	do
	{
		while ((received = tb_service_query_receive(scan->query, false, &message)) ==
			   TB_RECEIVED)
		{
			if (!tb_slots_take(scan->slots, &message, &event))
				return false;
			if (event.type == TB_MSG_CHUNK_DONE)
				tb_heap_chunks_done(scan->chunks, event.slot);
			else if (!tb_heap_chunks_read(scan->chunks, event.slot, event.outcome))
				return false;
		}
		if (received == TB_RECEIVED_LOST)
			return false;
		if (!tb_heap_chunks_release_filled(scan->chunks, &released))
			return false;
	} while (released);
	return true;
}

/* Nothing can be sent or delivered now. What comes after serve() has looked ends the
 * wait. */
static void
feed_or_wait(TbHeapScan *scan)
{
	if (scan->feeders != NULL)
	{
		if (!tb_heap_parts_blocks_left(scan->parts))
			tb_feeders_no_more(scan->feeders);
		if (tb_feeders_help(scan->feeders))
			return;
	}
	tb_service_query_wait(scan->query);
}

/* After the last chunk: tells the service, takes its statistics. */
static bool
finish(TbHeapScan *scan)
{
	bool fed = scan->feeder_stats.launched > 0;

	end_feeders(scan, false);
	if (!tb_service_query_send(scan->query, TB_MSG_INPUT_END, NULL, 0) ||
		!tb_service_query_await_done(scan->query, fed))
		return false;
	if (tb_service_query_ready(scan->query)->device == TB_DEVICE_HOST)
	{
		tb_heap_parts_note_cached(scan->parts);
		tb_advice_note_paid(RelationGetRelid(scan->parts->parts[0].rel),
							scan->wanted_pages * TB_WANTED_PAGE_US);
	}
	scan->local = true;
	return true;
}

/* The next chunk from the service. False: lost it. *more is false at the end. */
static bool
next_service_chunk(TbHeapScan *scan, TbRowChunk *chunk, bool *more)
{
	*more = true;
	for (;;)
	{
		begin_feeding(scan);
		if (!send_ahead(scan))
			return false;
		if (scan->queue_length == 0)
		{
			*more = false;
			return finish(scan);
		}
		if (!serve(scan))
			return false;
		if (tb_slots_state(scan->slots, scan->queue[scan->queue_head]) == TB_SLOT_DONE)
			return deliver(scan, scan->queue[scan->queue_head], chunk);
		feed_or_wait(scan);
	}
}

static void
retire_current(TbHeapScan *scan)
{
	if (scan->current_slot >= 0)
		tb_slots_free(scan->slots, scan->current_slot);
	scan->current_slot = -1;
	tb_heap_tuples_set_pages(scan->tuples, NULL, NULL, 0, NULL);
}

static bool
next_chunk(TbHeapScan *scan, TbRowChunk *chunk)
{
	bool more;

	retire_current(scan);
	if (!scan->local && scan->shut_down)
	{
		/* Against the executor's habit there is another chunk: it is read here. */
		tb_service_query_end(scan->query);
		go_local(scan);
	}
	else if (!scan->local)
	{
		if (tb_service_query_connected(scan->query) &&
			next_service_chunk(scan, chunk, &more))
			return more;
		tb_service_query_note_fallback(scan->query);
		go_local(scan);
	}
	return next_local_chunk(scan, chunk);
}

bool
tb_heap_scan_next(TbHeapScan *scan, TbRowChunk *chunk)
{
	MemoryContext old = MemoryContextSwitchTo(scan->context);
	TbClock		  before = tb_profile_enter(scan->profile, TB_CLOCK_READ);
	bool		  more;

	memset(chunk, 0, sizeof(*chunk));
	more = next_chunk(scan, chunk);
	if (more)
	{
		scan->chunks_evaluated += chunk->evaluate;
		scan->rows_deferred += chunk->ndeferred;
		tb_count_rows_read(scan->parts->parts[0].rel, chunk->rows_in);
	}
	(void) tb_profile_enter(scan->profile, before);
	MemoryContextSwitchTo(old);
	return more;
}

HeapTuple
tb_heap_scan_tuple(TbHeapScan *scan, uint32 rowid)
{
	return tb_heap_tuples_get(scan->tuples, rowid);
}

/* The current chunk may still be looked at. */
void
tb_heap_scan_shut_down(TbHeapScan *scan)
{
	if (scan->feeders == NULL)
		return;
	end_feeders(scan, true);
	scan->shut_down = true;
}

void
tb_heap_scan_stats(const TbHeapScan *scan, TbRunStats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->service = *tb_service_query_stats(scan->query);
	if (scan->chunks != NULL)
		stats->blocks = *tb_heap_chunks_stats(scan->chunks);
	if (scan->parts->parts[0].cached != NULL)
	{
		const TbCachedSegments *cached = scan->parts->parts[0].cached;

		stats->blocks.cached += cached->excluded;
		stats->blocks.excluded += cached->excluded;
		stats->rows_excluded = cached->excluded_rows;
		stats->segments.taken = cached->segments;
		stats->segments.by_filter = cached->excluded_by_filter;
		stats->segments.by_join = cached->excluded_by_join;
	}
	stats->blocks.buffered += scan->blocks_local;
	stats->feeders = scan->feeder_stats;
	stats->rows_deferred = scan->rows_deferred;
	stats->undecided = scan->rows_undecided;
	stats->chunks_evaluated = scan->chunks_evaluated;
}

void
tb_heap_scan_end(TbHeapScan *scan)
{
	TbRunStats stats;

	end_feeders(scan, true);
	/* Unfinished: closing cancels it. */
	tb_service_query_end(scan->query);
	tb_heap_parts_end(scan->parts);
	tb_heap_scan_stats(scan, &stats);
	tb_run_stats_count(&stats);
	MemoryContextDelete(scan->context);
}
