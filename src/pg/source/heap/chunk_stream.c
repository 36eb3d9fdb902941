/*
 * chunk_stream.c - chunks of blocks through the slots of shared memory.
 *
 * A chunk is the next slot_pages blocks that are to be read; they ascend, and
 * leave gaps where blocks are skipped. Runs of direct blocks are left to
 * the daemon, all others are copied from shared buffers before the chunk is
 * sent. When the daemon has read a chunk's runs they are confirmed against the
 * visibility map, what moved (or all, if the slot does not hold what did not) is
 * read buffered, and the chunk is released; one without runs is released at once.
 *
 * With feeders (feeders.h) the pages to be copied are left to them and to what the
 * leader does between messages: the chunk is sent at once, and released when it
 * has been filled as well.
 *
 * A page in a slot may be read by the node only after its chunk is DONE: pages
 * of runs are then confirmed. Of a chunk that was decoded on the way the slot holds
 * those pages only that its row ids refer to. Called by ROWS delivery and aggregate
 * input.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "pg/source/heap/feeders.h"
#include "pg/source/heap/query_state.h"

void
tb_chunks_begin(TbHeapQuery *query)
{
	query->slots = palloc0(query->ready.nslots * sizeof(TbSlot));
	for (uint32 i = 0; i < query->ready.nslots; i++)
		query->slots[i].blocks = palloc(query->ready.slot_pages * sizeof(BlockNumber));
	query->unmoved = palloc(query->ready.slot_pages * sizeof(bool));
}

int
tb_chunks_free_slot(TbHeapQuery *query)
{
	for (uint32 i = 0; i < query->ready.nslots; i++)
		if (query->slots[i].state == TB_SLOT_FREE)
			return (int) i;
	return -1;
}

char *
tb_chunks_slot(TbHeapQuery *query, int slot)
{
	return query->slot_base + (Size) slot * query->ready.slot_size;
}

static void
count_buffered(TbHeapQuery *query, TbTablePart *part)
{
	part->stats.blocks_buffered++;
	query->stats.blocks_buffered++;
}

static void
read_buffered(TbHeapQuery *query, int slot, uint32 page)
{
	TbTablePart *part = query->slots[slot].part;

	tb_buffered_read(&part->reader, query->slots[slot].blocks[page],
					 tb_chunks_slot(query, slot) + (Size) page * TB_PAGE_SIZE);
	count_buffered(query, part);
}

/* Adds a direct page to the last run, if it continues it in the slot and in the
 * relation under the same map page, or starts a run. */
static void
add_to_runs(TbHeapQuery *query, TbSlot *slot, uint32 page)
{
	BlockNumber block = slot->blocks[page];
	TbRun	   *last = slot->nruns > 0 ? &slot->runs[slot->nruns - 1] : NULL;

	if (last != NULL && last->page + last->count == page &&
#ifndef TB_MUTANT_GAP_READ_THROUGH
		last->block + last->count == block &&
#endif
		TB_VM_PAGE(last->block) == TB_VM_PAGE(block))
	{
		last->count++;
		return;
	}
	if (slot->runs == NULL)
	{
		slot->runs = MemoryContextAlloc(query->context,
										query->ready.slot_pages * sizeof(TbRun));
		slot->run_lsn = MemoryContextAlloc(query->context,
										   query->ready.slot_pages * sizeof(XLogRecPtr));
	}
	slot->run_lsn[slot->nruns] = tb_direct_lsn(slot->part->direct, block);
	slot->runs[slot->nruns].page = page;
	slot->runs[slot->nruns].block = block;
	slot->runs[slot->nruns].count = 1;
	slot->nruns++;
}

/* Every page of the chunk is good: the daemon may use it. */
static bool
release_chunk(TbHeapQuery *query, uint32 slot_index)
{
	TbSlot	   *slot = &query->slots[slot_index];
	TbChunkRelease release = {.slot = slot_index,.rewritten = slot->rewritten};

#ifdef TB_MUTANT_REWRITTEN_UNTOLD
	release.rewritten = 0;
#endif
	slot->state = TB_SLOT_RUNNING;
	return tb_query_send(query, TB_MSG_CHUNK_RELEASE, &release, sizeof(release));
}

/* Once nothing of it is missing. */
static bool
release_if_complete(TbHeapQuery *query, uint32 slot_index)
{
	const TbSlot *slot = &query->slots[slot_index];

	return slot->unread || slot->filling || release_chunk(query, slot_index);
}

/* What feeders have filled since. */
bool
tb_chunks_release_filled(TbHeapQuery *query, bool *any)
{
	*any = false;
	for (uint32 i = 0; i < query->ready.nslots; i++)
	{
		TbSlot	   *slot = &query->slots[i];

		if (!slot->filling || !tb_feeders_filled(query, i))
			continue;
		slot->filling = false;
		*any = true;
		if (!release_if_complete(query, i))
			return false;
	}
	return true;
}

static bool
send_chunk(TbHeapQuery *query, int slot_index)
{
	TbSlot	   *slot = &query->slots[slot_index];
	TbChunk		chunk = {0};
	struct iovec parts[2];

	chunk.slot = slot_index;
	chunk.kind = slot->kind;
	chunk.npages = slot->npages;
	chunk.nruns = slot->nruns;
	chunk.sequence = query->sequence++;
	if (slot->kind == TB_CHUNK_PAGES)
		chunk.layout = query->layout_numbers[slot->part->layout];
	parts[0].iov_base = &chunk;
	parts[0].iov_len = offsetof(TbChunk, runs);
	parts[1].iov_base = slot->runs;
	parts[1].iov_len = slot->nruns * sizeof(TbRun);
	tb_profile_message(query->spec.profile, TB_MSG_CHUNK);
	if (!tb_connection_send(query->conn, TB_MSG_CHUNK, parts,
							slot->nruns > 0 ? 2 : 1, NULL, 0, &query->failure))
	{
		query->conn = NULL;
		return false;
	}
	slot->state = TB_SLOT_READING;
	query->in_flight++;
	slot->unread = slot->nruns > 0;
	slot->rewritten = false;
	return release_if_complete(query, slot_index);
}

/* Sends the next blocks of the relation in a free slot. */
bool
tb_chunks_issue(TbHeapQuery *query, int slot_index)
{
	TbSlot	   *slot = &query->slots[slot_index];
	bool		copied = false;

	slot->kind = TB_CHUNK_PAGES;
	slot->part = query->part;
	slot->npages = tb_blocks_take(query, slot->blocks, query->ready.slot_pages);
	slot->nruns = 0;
	for (uint32 page = 0; page < slot->npages; page++)
	{
		if (slot->part->direct != NULL &&
			tb_direct_block(slot->part->direct, slot->blocks[page]))
			add_to_runs(query, slot, page);
		else if (query->feeders == NULL)
		{
			/* Copying takes long: what is held goes first. */
			if (!copied && !tb_query_flush(query))
				return false;
			read_buffered(query, slot_index, page);
			copied = true;
		}
		else
		{
			tb_feeders_add(query, slot_index, page);
			count_buffered(query, slot->part);
		}
	}
	if (query->feeders != NULL)
		tb_feeders_fill(query, slot_index);
	/* Where pages are copied, others have waited while this was done. */
	return send_chunk(query, slot_index) && (!copied || tb_query_flush(query));
}

/* Sends a TbColumnsChunk that the caller has written to a free slot. */
bool
tb_chunks_issue_columns(TbHeapQuery *query, int slot_index)
{
	TbSlot	   *slot = &query->slots[slot_index];

	slot->kind = TB_CHUNK_COLUMNS;
	slot->npages = 0;
	slot->nruns = 0;
	return send_chunk(query, slot_index);
}

/* Which pages of the runs are as the daemon read them, by page of the slot; false
 * if one is not. */
static bool
confirm_runs(TbHeapQuery *query, const TbSlot *slot)
{
	bool		all = true;

	for (uint32 i = 0; i < slot->nruns; i++)
	{
		const TbRun *run = &slot->runs[i];
		bool	   *unmoved = query->unmoved + run->page;

		tb_direct_confirm(slot->part->direct, slot->run_lsn[i], run->block,
						  run->count, unmoved);
		for (uint32 j = 0; j < run->count && all; j++)
			all = unmoved[j];
	}
	return all;
}

/* Buffered reads replace what can not be used of the runs' pages. */
static bool
replace_moved(TbHeapQuery *query, int slot_index)
{
	TbSlot	   *slot = &query->slots[slot_index];

	for (uint32 i = 0; i < slot->nruns; i++)
	{
		const TbRun *run = &slot->runs[i];

		for (uint32 page = run->page; page < run->page + run->count; page++)
		{
			if (query->unmoved[page])
			{
				slot->part->stats.blocks_direct++;
				query->stats.blocks_direct++;
				continue;
			}
			if (!slot->rewritten && !tb_query_flush(query))
				return false;
			query->stats.blocks_moved++;
			read_buffered(query, slot_index, page);
			slot->rewritten = true;
		}
	}
	return true;
}

/* The daemon has read the runs, or failed to. */
static bool
chunk_read(TbHeapQuery *query, const TbIncoming *message)
{
	TbChunkRead read;
	TbSlot	   *slot;
	bool		all;

	if (message->length != sizeof(read))
		return tb_query_protocol_error(query, "malformed CHUNK_READ");
	memcpy(&read, message->payload, sizeof(read));
	if (read.slot >= query->ready.nslots ||
		query->slots[read.slot].state != TB_SLOT_READING ||
		!query->slots[read.slot].unread)
		return tb_query_protocol_error(query, "CHUNK_READ of a slot not being read");
	if (read.outcome > TB_READ_DECODED)
		return tb_query_protocol_error(query, "CHUNK_READ with an unknown outcome");
	slot = &query->slots[read.slot];
	/* Decoded pages are nowhere else: one that has moved takes all with it. */
	all = read.outcome == TB_READ_FAILED ||
		(!confirm_runs(query, slot) && read.outcome == TB_READ_DECODED);
#ifdef TB_MUTANT_MOVED_ALONE
	all = read.outcome == TB_READ_FAILED;
#endif
	if (all)
		memset(query->unmoved, false, slot->npages * sizeof(bool));
	if (!replace_moved(query, read.slot))
		return false;
	slot->unread = false;
	return release_if_complete(query, read.slot);
}

static bool
chunk_done(TbHeapQuery *query, const TbIncoming *message)
{
	TbChunkDone done;
	TbSlot	   *slot;
	uint64		ids;

	if (message->length != sizeof(done))
		return tb_query_protocol_error(query, "malformed CHUNK_DONE");
	memcpy(&done, message->payload, sizeof(done));
	if (done.slot >= query->ready.nslots ||
		query->slots[done.slot].state != TB_SLOT_RUNNING)
		return tb_query_protocol_error(query, "CHUNK_DONE of a slot not running");
	slot = &query->slots[done.slot];
	ids = (uint64) done.nrows + done.ndeferred;
	if (ids > (query->ready.slot_size - query->ready.ids_offset) / sizeof(uint32) ||
		ids > (uint64) slot->npages * TB_MAX_TUPLES_PER_PAGE)
		return tb_query_protocol_error(query, "more row ids than rows");
	slot->done = done;
	/* Deferred rows come again, as columns. */
	if (slot->kind == TB_CHUNK_PAGES)
		slot->part->stats.rows += done.rows_in + done.ndeferred;
	slot->state = TB_SLOT_DONE;
	query->in_flight--;
	return true;
}

/* Acts on a message about chunks. */
bool
tb_chunks_message(TbHeapQuery *query, const TbIncoming *message)
{
	switch (message->type)
	{
		case TB_MSG_CHUNK_READ:
			return chunk_read(query, message);
		case TB_MSG_CHUNK_DONE:
			return chunk_done(query, message);
		default:
			return tb_query_protocol_error(query, "unexpected message from turbined");
	}
}
