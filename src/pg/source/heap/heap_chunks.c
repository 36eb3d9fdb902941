/*
 * heap_chunks.c - see heap_chunks.h.
 *
 * When turbined has read a chunk's runs, they are confirmed against the visibility map.
 * Pages that moved are read buffered (all pages of the runs, if the slot does not hold
 * the others). Then the chunk is released. A chunk without runs is released at once.
 *
 * With feeders (feeders.h) the pages to be copied are left to them, and to what the
 * leader copies between messages. The chunk is sent at once, and released when it has
 * been filled as well.
 *
 * The node may read a page in a slot only after its chunk is DONE: runs are confirmed by
 * then. If a chunk was decoded on the way, the slot holds only the pages that its row ids
 * refer to. Called by the heap source and by heap scans.
 *
 * If turbined has the columns of blocks, ROWS gets their row ids without any page. Their
 * tuples are as visible as when the map was looked at: whoever removes one waits for the
 * snapshot.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "pg/shmem/cache_progress.h"
#include "pg/source/heap/heap_chunks.h"
#include "pg/source/heap/relation_statistics.h"
#include "turbine/mutant.h"

typedef struct RunList
{
	uint32		count;
	TbRun	   *runs; /* room for a slot's pages; made when first needed */
	XLogRecPtr *lsn;  /* of each run's map page, as classified */
} RunList;

/* What a slot's chunk holds. */
typedef struct HeapChunk
{
	TbHeapPart	*part;		/* whose blocks they are */
	bool		 cached;	/* turbined has its columns; no pages are in the slot */
	bool		 filling;	/* feeders or the leader still copy pages */
	bool		 rewritten; /* pages of runs are not as turbined read them */
	uint32		 npages;
	BlockNumber *blocks;	/* of each page; room for a slot's */
	uint8		*why;		/* of each page: TbWhyBuffered, or NO_REASON */
	RunList		 direct;	/* pages that turbined reads */
	RunList		 copied;	/* dirty in shared buffers, but all-visible: may be kept */
	RunList		 placed;	/* all others, if the program has a column of TIDs */
} HeapChunk;

/* It is not buffered, or its relation is too small or of a kind to be read otherwise. */
#define NO_REASON TB_WHY_COUNT

struct TbHeapChunks
{
	TbServiceQuery *query;
	TbSlots		   *slots;
	TbHeapParts	   *parts;
	TbFeeders	   *feeders; /* NULL: this process copies all pages itself */
	bool			has_tids;
	TbBlockStats	stats;
	bool		   *unmoved;					   /* scratch: by page of a slot */
	TbBufferedPage *wanted;						   /* scratch: pages to be copied */
	uint32			nwanted;
	HeapChunk		chunks[FLEXIBLE_ARRAY_MEMBER]; /* by slot */
};

TbHeapChunks *
tb_heap_chunks_make(TbServiceQuery *query, TbSlots *slots, TbHeapParts *parts)
{
	uint32		  count = tb_slots_count(slots);
	TbHeapChunks *chunks = palloc0(offsetof(TbHeapChunks, chunks) +
								   count * sizeof(HeapChunk));

	chunks->query = query;
	chunks->slots = slots;
	chunks->parts = parts;
	chunks->has_tids = tb_program_has_tids(tb_service_query_spec(query)->program);
	for (uint32 i = 0; i < count; i++)
	{
		chunks->chunks[i].blocks = palloc(tb_slots_pages(slots) * sizeof(BlockNumber));
		chunks->chunks[i].why = palloc(tb_slots_pages(slots));
	}
	chunks->unmoved = palloc(tb_slots_pages(slots) * sizeof(bool));
	chunks->wanted = palloc(tb_slots_pages(slots) * sizeof(TbBufferedPage));
	return chunks;
}

void
tb_heap_chunks_set_feeders(TbHeapChunks *chunks, TbFeeders *feeders)
{
	chunks->feeders = feeders;
}

TbHeapPart *
tb_heap_chunks_part(const TbHeapChunks *chunks, uint32 slot)
{
	return chunks->chunks[slot].part;
}

const BlockNumber *
tb_heap_chunks_blocks(const TbHeapChunks *chunks, uint32 slot, uint32 *npages)
{
	*npages = chunks->chunks[slot].npages;
	return chunks->chunks[slot].blocks;
}

const TbBlockStats *
tb_heap_chunks_stats(const TbHeapChunks *chunks)
{
	return &chunks->stats;
}

static void
count_buffered(TbHeapChunks *chunks, TbHeapPart *part)
{
	part->stats.blocks_buffered++;
	chunks->stats.buffered++;
}

/* The page is to be read by read_wanted. */
static void
want_buffered(TbHeapChunks *chunks, uint32 slot, uint32 page)
{
	const HeapChunk *chunk = &chunks->chunks[slot];
	const TbDirect	*direct = chunk->part->direct;
	BlockNumber		 block = chunk->blocks[page];

	chunks->wanted[chunks->nwanted++] =
		(TbBufferedPage) {.block = block,
						  .recent = direct == NULL ? InvalidBuffer :
													 tb_direct_recent_buffer(direct, block),
						  .page = tb_slots_memory(chunks->slots, slot) +
							  (Size) page * TB_PAGE_SIZE};
	count_buffered(chunks, chunk->part);
}

static void
read_wanted(TbHeapChunks *chunks, TbHeapPart *part)
{
	tb_buffered_read_many(&part->reader, chunks->wanted, chunks->nwanted);
	chunks->nwanted = 0;
}

/* Adds a page to the last run, if it continues it in the slot and in the relation under
 * the same map page, or starts a run. */
static void
add_to_runs(TbHeapChunks *chunks, const HeapChunk *chunk, RunList *list, uint32 page)
{
	BlockNumber block = chunk->blocks[page];
	TbRun	   *last = list->count > 0 ? &list->runs[list->count - 1] : NULL;

	/* Does it continue the last run? */
	if (last != NULL && last->page + last->count == page &&
		(last->block + last->count == block || TB_MUTANT(gap_read_through)) &&
		TB_VM_PAGE(last->block) == TB_VM_PAGE(block))
	{
		last->count++;
		return;
	}
	/* Many chunks need no list. */
	if (list->runs == NULL)
	{
		MemoryContext context = GetMemoryChunkContext(chunks);
		uint32		  most = tb_slots_pages(chunks->slots);

		list->runs = MemoryContextAlloc(context, most * sizeof(TbRun));
		list->lsn = MemoryContextAlloc(context, most * sizeof(XLogRecPtr));
	}
	/* It begins a new run. */
	list->lsn[list->count] = list == &chunk->placed ?
		InvalidXLogRecPtr :
		tb_direct_lsn(chunk->part->direct, block);
	list->runs[list->count].page = page;
	list->runs[list->count].block = block;
	list->runs[list->count].count = 1;
	list->count++;
}

/* May its page be kept although it comes from shared buffers? If it is dirty there, but
 * all-visible, no second look is needed: whoever is given it sees the map's LSN and the
 * block's bit as they are now, so nobody has changed the page until then. turbined looks
 * whether the copy says that it is all-visible, so that no row was blanked; in recovery it
 * would not tell. Of other pages the copy says whether they may be kept as fresh ones. */
static bool
may_keep_copy(const HeapChunk *chunk, BlockNumber block)
{
	const TbHeapPart *part = chunk->part;

	if (part->cached == NULL || part->direct == NULL)
		return false;
	return part->reader.marks_fresh ||
		((part->cached->question.flags & TB_SEGMENTS_RECOVERY) == 0 &&
		 tb_direct_all_visible(part->direct, block));
}

/* Why a block is buffered, as far as is known before it is copied. */
static TbWhyBuffered
why_buffered(const HeapChunk *chunk, BlockNumber block)
{
	const TbHeapPart *part = chunk->part;

	if (part->direct == NULL || tb_direct_is_small(part->direct))
		return NO_REASON;
	if (part->cached != NULL && tb_cached_segments_were_doubtful(part->cached, block))
		return TB_WHY_CHANGED;
	return tb_direct_all_visible(part->direct, block) ? TB_WHY_DIRTY :
														TB_WHY_NOT_ALL_VISIBLE;
}

/* What the copies say besides. */
static void
count_reasons(TbHeapChunks *chunks, uint32 slot)
{
	const HeapChunk *chunk = &chunks->chunks[slot];

	for (uint32 i = 0; i < chunk->npages; i++)
	{
		const TbFreshHeader
			 *header = (const TbFreshHeader *) (tb_slots_memory(chunks->slots, slot) +
												(Size) i * TB_PAGE_SIZE);
		uint8 why = chunk->why[i];

		if (why == NO_REASON)
			continue;
		if (why == TB_WHY_NOT_ALL_VISIBLE && header->lsn == 0)
			why = TB_WHY_NO_LSN;
		else if (why == TB_WHY_NOT_ALL_VISIBLE && chunk->part->reader.marks_fresh &&
				 (header->flags & (TB_PAGE_IS_FRESH | PD_ALL_VISIBLE)) == 0)
			why = TB_WHY_UNDECIDED;
		chunks->stats.why[why]++;
		if (chunk->part->cached != NULL &&
			(header->flags & (TB_PAGE_IS_FRESH | PD_ALL_VISIBLE)) != 0)
			chunk->part->stats.blocks_kept++;
	}
}

/* Once nothing of it is missing. */
static bool
release_if_complete(TbHeapChunks *chunks, uint32 slot)
{
	const HeapChunk *chunk = &chunks->chunks[slot];

	if (tb_slots_is_unread(chunks->slots, slot) || chunk->filling)
		return true;
	count_reasons(chunks, slot);
	return tb_slots_release(chunks->slots, slot, chunk->rewritten);
}

bool
tb_heap_chunks_release_filled(TbHeapChunks *chunks, bool *any)
{
	*any = false;
	if (chunks->feeders == NULL)
		return true;
	for (uint32 i = 0; i < tb_slots_count(chunks->slots); i++)
	{
		HeapChunk *chunk = &chunks->chunks[i];

		if (!chunk->filling || !tb_feeders_filled(chunks->feeders, i))
			continue;
		chunk->filling = false;
		*any = true;
		if (!release_if_complete(chunks, i))
			return false;
	}
	return true;
}

/* Decides for each page how it is read, and reads those that this process must; *copied:
 * there were such. */
static bool
fill_pages(TbHeapChunks *chunks, uint32 slot, bool *copied)
{
	HeapChunk *chunk = &chunks->chunks[slot];
	TbDirect  *direct = chunk->part->direct;

	chunks->nwanted = 0;
	for (uint32 page = 0; page < chunk->npages; page++)
	{
		chunk->why[page] = NO_REASON;
		if (direct != NULL && tb_direct_block(direct, chunk->blocks[page]))
		{
			add_to_runs(chunks, chunk, &chunk->direct, page);
			continue;
		}
		chunk->why[page] = why_buffered(chunk, chunk->blocks[page]);
		if (may_keep_copy(chunk, chunk->blocks[page]))
			add_to_runs(chunks, chunk, &chunk->copied, page);
		else if (chunks->has_tids)
			add_to_runs(chunks, chunk, &chunk->placed, page);
		if (chunks->feeders == NULL)
			want_buffered(chunks, slot, page);
		else
		{
			tb_feeders_add(chunks->feeders, slot, page, chunk->blocks[page]);
			count_buffered(chunks, chunk->part);
		}
	}
	*copied = chunks->nwanted > 0;
	if (*copied)
	{
		/* Copying takes long: what is held goes first. */
		if (!tb_service_query_flush(chunks->query))
			return false;
		read_wanted(chunks, chunk->part);
	}
	chunk->filling = chunks->feeders != NULL &&
		tb_feeders_fill(chunks->feeders, slot, chunk->part);
	return true;
}

/* The LSN that all runs were classified under; TB_NO_MAP_LSN: of several, or there are
 * none. */
static uint64
common_lsn(const HeapChunk *chunk)
{
	const RunList *lists[] = {&chunk->direct, &chunk->copied};
	uint64		   lsn = TB_NO_MAP_LSN;

	for (int i = 0; i < lengthof(lists); i++)
		for (uint32 j = 0; j < lists[i]->count; j++)
		{
			if (lsn != TB_NO_MAP_LSN && lists[i]->lsn[j] != lsn)
				return TB_NO_MAP_LSN;
			lsn = lists[i]->lsn[j];
		}
	return lsn;
}

static TbRuns
runs_of(const RunList *list)
{
	return (TbRuns) {list->count, list->runs};
}

static bool
send_cached(TbHeapChunks *chunks, uint32 slot)
{
	HeapChunk *chunk = &chunks->chunks[slot];

	chunks->stats.cached += chunk->npages;
	tb_count_cached_blocks(chunk->part->rel, chunk->npages);
	return tb_slots_send_segments(chunks->slots, slot, chunk->part->cached->question.part,
								  chunk->blocks[0], chunk->npages);
}

bool
tb_heap_chunks_send(TbHeapChunks *chunks, uint32 slot)
{
	HeapChunk	 *chunk = &chunks->chunks[slot];
	TbPagesOrigin origin = {0};
	bool		  copied;

	Assert(tb_slots_state(chunks->slots, slot) == TB_SLOT_FREE && !chunk->filling);
	chunk->part = chunks->parts->current;
	chunk->npages = tb_heap_parts_take_run(chunks->parts, chunk->blocks,
										   tb_slots_pages(chunks->slots));
	chunk->cached = chunk->npages > 0;
	if (chunk->cached)
		return send_cached(chunks, slot);
	chunk->npages = tb_heap_parts_take(chunks->parts, chunk->blocks,
									   tb_slots_pages(chunks->slots));
	chunk->direct.count = chunk->copied.count = chunk->placed.count = 0;
	chunk->rewritten = false;
	Assert(chunk->npages > 0);
	if (!fill_pages(chunks, slot, &copied))
		return false;
	origin.layout = tb_heap_parts_layout_number(chunks->parts, chunk->part);
	origin.part = chunk->part->cached != NULL ? chunk->part->cached->question.part : 0;
	origin.map_lsn = common_lsn(chunk);
	if (!tb_slots_send_pages(chunks->slots, slot, &origin, chunk->npages,
							 runs_of(&chunk->direct), runs_of(&chunk->copied),
							 runs_of(&chunk->placed)) ||
		!release_if_complete(chunks, slot))
		return false;
	/* While pages were copied, other messages have waited. */
	return !copied || tb_service_query_flush(chunks->query);
}

/* Which pages of the runs are as turbined read them, by page of the slot; false
 * if one is not. */
static bool
confirm_runs(TbHeapChunks *chunks, const HeapChunk *chunk)
{
	bool all = true;

	for (uint32 i = 0; i < chunk->direct.count; i++)
	{
		const TbRun *run = &chunk->direct.runs[i];
		bool		*unmoved = chunks->unmoved + run->page;

		tb_direct_confirm(chunk->part->direct, chunk->direct.lsn[i], run->block, run->count,
						  unmoved);
		for (uint32 j = 0; j < run->count && all; j++)
			all = unmoved[j];
	}
	return all;
}

/* Buffered reads replace those pages of the runs that can not be used. */
static bool
replace_moved(TbHeapChunks *chunks, uint32 slot)
{
	HeapChunk *chunk = &chunks->chunks[slot];

	chunks->nwanted = 0;
	for (uint32 i = 0; i < chunk->direct.count; i++)
	{
		const TbRun *run = &chunk->direct.runs[i];

		for (uint32 page = run->page; page < run->page + run->count; page++)
		{
			/* Was it good as read? */
			if (chunks->unmoved[page])
			{
				chunk->part->stats.blocks_direct++;
				tb_count_direct_block(chunk->part->rel);
				chunks->stats.direct++;
				continue;
			}
			chunks->stats.moved++;
			want_buffered(chunks, slot, page);
		}
	}
	/* The rest comes from shared buffers. */
	if (chunks->nwanted == 0)
		return true;
	if (!tb_service_query_flush(chunks->query))
		return false;
	read_wanted(chunks, chunk->part);
	chunk->rewritten = true;
	return true;
}

bool
tb_heap_chunks_read(TbHeapChunks *chunks, uint32 slot, TbReadOutcome outcome)
{
	HeapChunk *chunk = &chunks->chunks[slot];
	bool	   all;

	/* Decoded pages are nowhere else: one that has moved takes all with it. */
	all = outcome == TB_READ_FAILED ||
		(!confirm_runs(chunks, chunk) && outcome == TB_READ_DECODED);
	if (TB_MUTANT(moved_alone))
		all = outcome == TB_READ_FAILED;
	if (all)
		memset(chunks->unmoved, false, chunk->npages * sizeof(bool));
	return replace_moved(chunks, slot) && release_if_complete(chunks, slot);
}

bool
tb_heap_chunks_is_cached(const TbHeapChunks *chunks, uint32 slot)
{
	return chunks->chunks[slot].cached;
}

void
tb_heap_chunks_read_pages(TbHeapChunks *chunks, uint32 slot)
{
	HeapChunk *chunk = &chunks->chunks[slot];

	Assert(chunk->cached && tb_slots_state(chunks->slots, slot) == TB_SLOT_DONE);
	chunks->nwanted = 0;
	for (uint32 page = 0; page < chunk->npages; page++)
		want_buffered(chunks, slot, page);
	read_wanted(chunks, chunk->part);
	chunk->cached = false;
}

void
tb_heap_chunks_done(TbHeapChunks *chunks, uint32 slot)
{
	const TbChunkDone *done = tb_slots_done(chunks->slots, slot);

	tb_cache_progress_add(chunks->chunks[slot].npages);
	/* Deferred rows come again, as columns. */
	chunks->chunks[slot].part->stats.rows += done->rows_in + done->ndeferred;
}
