/*
 * buffer_lookup.c - see buffer_lookup.h.
 *
 * Relies on buf_internals.h; changes nothing there. Called by the classification of blocks
 * and by the count of feeders, for cached columns. An answer is old as soon as it is given;
 * to find it nothing is pinned, and no more is locked than the partition of the buffer
 * table or, where the buffer is known, its header: either keeps a buffer that was found
 * from becoming another block's.
 */
#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

#include "pg/compat/pg16.h"
#include "pg/source/heap/visibility/buffer_lookup.h"

/* At even distances: what is there lies in long pieces. */
#define SAMPLED_BLOCKS 16

/* Locks the block's partition of the buffer table; NULL: the block has no buffer. */
static BufferDesc *
find_buffer(Relation rel, BlockNumber block, LWLock **partition)
{
	RelFileLocator locator = TB_SMGR_LOCATOR(rel);
	BufferTag	   tag;
	uint32		   hash;
	int			   buffer_id;

	InitBufferTag(&tag, &locator, MAIN_FORKNUM, block);
	hash = BufTableHashCode(&tag);
	*partition = BufMappingPartitionLock(hash);
	LWLockAcquire(*partition, LW_SHARED);
	buffer_id = BufTableLookup(&tag, hash);
	return buffer_id >= 0 ? GetBufferDescriptor(buffer_id) : NULL;
}

TbBufferState
tb_buffer_lookup(Relation rel, BlockNumber block)
{
	LWLock		 *partition;
	BufferDesc	 *header = find_buffer(rel, block, &partition);
	TbBufferState state = TB_BUFFER_ABSENT;

	if (header != NULL)
		state = (pg_atomic_read_u32(&header->state) & BM_DIRTY) != 0 ? TB_BUFFER_DIRTY :
																	   TB_BUFFER_CLEAN;
	LWLockRelease(partition);
	return state;
}

/* The LSN of a page that is not locked: one load, so that its halves are of one moment. */
static XLogRecPtr
load_lsn(Page page)
{
	uint64 halves = *(volatile uint64 *) page;

	StaticAssertStmt(offsetof(PageHeaderData, pd_lsn) == 0 && sizeof(PageXLogRecPtr) == 8,
					 "a page begins with its LSN");
#ifdef WORDS_BIGENDIAN
	return halves;
#else
	return halves << 32 | halves >> 32;
#endif
}

bool
tb_buffer_recent_lsn(Relation rel, BlockNumber block, Buffer recent, XLogRecPtr *lsn)
{
	BufferDesc	   *header;
	Page			page;
	BufferTag		tag;
	RelFileLocator	locator = TB_SMGR_LOCATOR(rel);
	volatile uint32 touched;
	uint32			state;
	bool			same;

	if (recent <= InvalidBuffer || recent > NBuffers)
		return false;
	header = GetBufferDescriptor(recent - 1);
	page = BufferGetPage(recent);
	/* Mapped into this process before the header is locked, which is a spin lock. */
	touched = ((PageHeader) page)->pd_lsn.xlogid;
	(void) touched;
	InitBufferTag(&tag, &locator, MAIN_FORKNUM, block);
	state = LockBufHdr(header);
	same = (state & BM_VALID) != 0 && BufferTagsEqual(&header->tag, &tag);
	if (same)
		*lsn = load_lsn(page);
	UnlockBufHdr(header, state);
	return same;
}

/* The page is not locked. Of an LSN that is being written both halves are as they were
 * before if the result is that of before. */
XLogRecPtr
tb_buffer_page_lsn(Relation rel, BlockNumber block, Buffer *recent)
{
	LWLock	   *partition;
	BufferDesc *header;
	XLogRecPtr	lsn = InvalidXLogRecPtr;

	if (tb_buffer_recent_lsn(rel, block, *recent, &lsn))
		return lsn;
	*recent = InvalidBuffer;
	header = find_buffer(rel, block, &partition);
	if (header != NULL && (pg_atomic_read_u32(&header->state) & BM_VALID) != 0)
	{
		*recent = BufferDescriptorGetBuffer(header);
		lsn = load_lsn(BufferGetPage(*recent));
	}
	LWLockRelease(partition);
	return lsn;
}

/* The header, and of the page its own header and the first line pointers: what is looked at
 * before the page is copied, which the processor then sees coming. */
void
tb_buffer_fetch_ahead(Buffer buffer)
{
	const char *page;

	if (buffer <= InvalidBuffer || buffer > NBuffers)
		return;
	page = (const char *) BufferGetBlock(buffer);
	__builtin_prefetch(GetBufferDescriptor(buffer - 1));
	__builtin_prefetch(page);
	__builtin_prefetch(page + PG_CACHE_LINE_SIZE);
}

double
tb_buffer_resident_share(Relation rel, BlockNumber nblocks)
{
	uint32 samples = Min(nblocks, SAMPLED_BLOCKS);
	uint32 found = 0;

	for (uint32 i = 0; i < samples; i++)
		found += tb_buffer_lookup(rel, (BlockNumber) ((uint64) nblocks * i / samples)) !=
			TB_BUFFER_ABSENT;
	return samples > 0 ? (double) found / samples : 0;
}
