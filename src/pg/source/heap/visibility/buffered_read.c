/*
 * buffered_read.c - see buffered_read.h.
 *
 * Does for one page what heapgetpage does, in its order: prune, share lock,
 * visibility of every tuple, and under SERIALIZABLE the conflict check of every
 * tuple, visible or not. The page is copied first and tested in the copy, which
 * is in the processor's cache then; most tuples are decided by their hint bits
 * there. The rest go to PostgreSQL's own routine, on the buffer's tuple and
 * before the lock is released (it may set hint bits).
 *
 * Called for blocks that may not be read directly, by queries and by local
 * evaluation alike.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufpage.h"
#include "storage/predicate.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pg/compat/pg17.h"
#include "pg/source/heap/visibility/buffered_read.h"
#include "pg/source/heap/visibility/fresh_blocks.h"

#include "turbine/types.h"
#include "turbine/mutant.h"

/* By which a table grows at most, for one process. */
#define MOST_NEW_BLOCKS 64

StaticAssertDecl(TB_PAGE_SIZE == BLCKSZ, "page size");
StaticAssertDecl(TB_MAX_TUPLES_PER_PAGE == MaxHeapTuplesPerPage, "tuples a page");

void
tb_buffered_join(TbBufferedReader *reader, Relation rel, Snapshot snapshot,
				 BlockNumber nblocks)
{
	reader->rel = rel;
	reader->snapshot = snapshot;
	/* As heapam: a big scan must not sweep the buffer pool clean. */
	reader->strategy = nblocks > (BlockNumber) NBuffers / 4 ?
		GetAccessStrategy(BAS_BULKREAD) :
		NULL;
	reader->check_conflicts = CheckForSerializableConflictOutNeeded(rel, snapshot);
}

void
tb_buffered_begin(TbBufferedReader *reader, Relation rel, Snapshot snapshot,
				  BlockNumber nblocks)
{
	PredicateLockRelation(rel, snapshot);
	tb_buffered_join(reader, rel, snapshot, nblocks);
	pgstat_count_heap_scan(rel);
}

void
tb_buffered_end(TbBufferedReader *reader)
{
	if (reader->strategy != NULL)
		FreeAccessStrategy(reader->strategy);
	reader->strategy = NULL;
}

/* Visible to the snapshot by hint bits alone: inserted by a transaction known
 * to be committed and older than any that the snapshot takes as running, and
 * not deleted or locked. */
static inline bool
visible_by_hints(HeapTupleHeader tuple, TransactionId snapshot_xmin)
{
	if (((tuple->t_infomask & HEAP_XMAX_INVALID) == 0 && !TB_MUTANT(deleted_is_visible)) ||
		(tuple->t_infomask & HEAP_XMIN_COMMITTED) == 0)
		return false;
	return HeapTupleHeaderXminFrozen(tuple) ||
		TransactionIdPrecedes(HeapTupleHeaderGetRawXmin(tuple), snapshot_xmin);
}

/* PostgreSQL's own verdict on the tuple in the buffer, which is locked. */
static bool
visible_by_heapam(TbBufferedReader *reader, Buffer buffer, BlockNumber block,
				  OffsetNumber offnum, bool all_visible)
{
	Page		  page = BufferGetPage(buffer);
	ItemId		  lp = PageGetItemId(page, offnum);
	HeapTupleData tuple;
	bool		  visible;

	tuple.t_tableOid = RelationGetRelid(reader->rel);
	tuple.t_data = (HeapTupleHeader) PageGetItem(page, lp);
	tuple.t_len = ItemIdGetLength(lp);
	ItemPointerSet(&tuple.t_self, block, offnum);
	visible = all_visible || HeapTupleSatisfiesVisibility(&tuple, reader->snapshot, buffer);
	if (reader->check_conflicts)
		HeapCheckForSerializableConflictOut(visible, reader->rel, &tuple, buffer,
											reader->snapshot);
	return visible;
}

static HeapTupleHeader
tuple_of(Page page, OffsetNumber offnum)
{
	return (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, offnum));
}

/* `fresh`: what the rows depend on. */
static void
blank_invisible(TbBufferedReader *reader, Buffer buffer, BlockNumber block, Page copy,
				bool all_visible, TbFreshPage *fresh)
{
	TransactionId xmin = reader->snapshot->xmin;
	bool		  hints_decide = !reader->check_conflicts &&
		reader->snapshot->snapshot_type == SNAPSHOT_MVCC;
	OffsetNumber lines = PageGetMaxOffsetNumber(copy);

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= lines; offnum++)
	{
		ItemId lp = PageGetItemId(copy, offnum);

		if (!ItemIdIsNormal(lp))
			continue;
		if (hints_decide && visible_by_hints((HeapTupleHeader) PageGetItem(copy, lp), xmin))
		{
			if (!HeapTupleHeaderXminFrozen(tuple_of(copy, offnum)))
				tb_fresh_note(fresh, HeapTupleHeaderGetRawXmin(tuple_of(copy, offnum)));
			continue;
		}
		if (!visible_by_heapam(reader, buffer, block, offnum, all_visible))
			ItemIdSetUnused(lp);
		if (reader->marks_fresh)
			tb_fresh_row(fresh, tuple_of(BufferGetPage(buffer), offnum), reader->snapshot);
	}
}

void
tb_buffered_read(TbBufferedReader *reader, BlockNumber block, char *page)
{
	tb_buffered_read_recent(reader, block, InvalidBuffer, page);
}

/* Pins the block's buffer, and counts it as ReadBuffer does. */
static Buffer
pin_block(const TbBufferedReader *reader, BlockNumber block, Buffer recent)
{
	Relation rel = reader->rel;

	if (recent == InvalidBuffer ||
		!ReadRecentBuffer(TB_SMGR_LOCATOR(rel), MAIN_FORKNUM, block, recent))
		return ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_NORMAL, reader->strategy);
	pgstat_count_buffer_read(rel);
	pgstat_count_buffer_hit(rel);
	return recent;
}

/* Copies the block from its buffer, which is pinned, and unpins it. */
static void
copy_visible(TbBufferedReader *reader, BlockNumber block, Buffer buffer, char *page)
{
	Page		source;
	bool		all_visible;
	TbFreshPage fresh;

	heap_page_prune_opt(reader->rel, buffer);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	source = BufferGetPage(buffer);
	TB_TEST_FOR_OLD_SNAPSHOT(reader->snapshot, reader->rel, source);
	memcpy(page, source, BLCKSZ);

	/* The page's flag may reach a standby without its WAL record. */
	all_visible = PageIsAllVisible((Page) page) && !reader->snapshot->takenDuringRecovery;
	tb_fresh_begin(&fresh);
	if (!all_visible || reader->check_conflicts)
		blank_invisible(reader, buffer, block, (Page) page, all_visible, &fresh);
	if (reader->marks_fresh)
	{
		/* A hint may have stamped the page, beside our lock, while it was copied. */
		PageSetLSN((Page) page, BufferGetLSNAtomic(buffer));
		tb_fresh_mark(&fresh, (Page) page);
	}
	UnlockReleaseBuffer(buffer);
}

void
tb_buffered_read_recent(TbBufferedReader *reader, BlockNumber block, Buffer recent,
						char *page)
{
	CHECK_FOR_INTERRUPTS();
	copy_visible(reader, block, pin_block(reader, block, recent), page);
}

/* Blocks of a list that are in no known buffer. */
typedef struct UnseenBlocks
{
	const TbBufferedPage *pages;
	uint32				  count;
	uint32				  next;
} UnseenBlocks;

static void
pass_over_seen(UnseenBlocks *unseen)
{
	while (unseen->next < unseen->count &&
		   unseen->pages[unseen->next].recent != InvalidBuffer)
		unseen->next++;
}

static BlockNumber
next_unseen(void *data)
{
	UnseenBlocks *unseen = data;

	pass_over_seen(unseen);
	return unseen->next < unseen->count ? unseen->pages[unseen->next++].block :
										  InvalidBlockNumber;
}

void
tb_buffered_read_many(TbBufferedReader *reader, const TbBufferedPage *pages, uint32 count)
{
	UnseenBlocks  asked = {.pages = pages, .count = count};
	TbBlockStream stream;

	/* A stream costs more than it gains for one block. */
	if (count == 1)
	{
		tb_buffered_read_recent(reader, pages->block, pages->recent, pages->page);
		return;
	}
	/* Those that are in no known buffer, read ahead. */
	pass_over_seen(&asked);
	if (asked.next < count)
	{
		UnseenBlocks copied = {.pages = pages, .count = count};
		Buffer		 buffer;

		tb_block_stream_begin(&stream, reader->rel, reader->strategy, next_unseen, &asked);
		while ((buffer = tb_block_stream_next(&stream)) != InvalidBuffer)
		{
			CHECK_FOR_INTERRUPTS();
			pass_over_seen(&copied);
			copy_visible(reader, pages[copied.next].block, buffer, pages[copied.next].page);
			copied.next++;
		}
		tb_block_stream_end(&stream);
	}
	for (uint32 i = 0; i < count; i++)
		if (pages[i].recent != InvalidBuffer)
			tb_buffered_read_recent(reader, pages[i].block, pages[i].recent, pages[i].page);
}

BlockNumber
tb_blocks_with_rows(Relation rel, BlockNumber nblocks)
{
	Buffer map = InvalidBuffer;
	bool   at_end;

	/* Who inserts there later conflicts with this transaction, but is looked for by a lock
	 * that is not taken yet. */
	if (nblocks == 0 || IsolationIsSerializable())
		return nblocks;
	/* A new page is never all-visible. The map is only asked whether a look is worth it. */
	at_end = (visibilitymap_get_status(rel, nblocks - 1, &map) &
			  VISIBILITYMAP_ALL_VISIBLE) != 0;
	if (map != InvalidBuffer)
		ReleaseBuffer(map);
	for (int i = 0; i < MOST_NEW_BLOCKS && !at_end; i++)
	{
		Buffer buffer = ReadBuffer(rel, nblocks - 1);

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		at_end = !PageIsNew(BufferGetPage(buffer));
		UnlockReleaseBuffer(buffer);
		if (!at_end && --nblocks == 0)
			at_end = true;
	}
	return nblocks;
}
