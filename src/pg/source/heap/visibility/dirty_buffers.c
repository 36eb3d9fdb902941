/*
 * dirty_buffers.c - see dirty_buffers.h.
 *
 * Relies on buf_internals.h; only reads there. Called by direct_classify.c. Blocks and
 * pages lie anywhere in memory, so what takes time is waiting for it: hence the fetching
 * ahead.
 */
#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "pg/source/heap/visibility/dirty_buffers.h"

/* Dirty blocks between the one that is asked of and the one that is fetched. */
#define AHEAD 4

static void
add_found(TbFoundBlocks *found, BlockNumber block, Buffer buffer)
{
	if (found->count == found->room)
	{
		found->room *= 2;
		found->blocks = repalloc_huge(found->blocks, found->room * sizeof(BlockNumber));
		found->buffers = repalloc_huge(found->buffers, found->room * sizeof(Buffer));
	}
	found->blocks[found->count] = block;
	found->buffers[found->count++] = buffer;
}

static void
find_dirty(Relation rel, BlockNumber nblocks, TbFoundBlocks *found)
{
	RelFileNode node = RelationGetSmgr(rel)->smgr_rnode.node;

	for (int i = 0; i < NBuffers; i++)
	{
		BufferDesc *header = GetBufferDescriptor(i);
		BlockNumber block;

		if ((pg_atomic_read_u32(&header->state) & BM_DIRTY) == 0 ||
			header->tag.forkNum != MAIN_FORKNUM ||
			!RelFileNodeEquals(header->tag.rnode, node))
			continue;
		block = header->tag.blockNum;
		if (block < nblocks)
			add_found(found, block, BufferDescriptorGetBuffer(header));
	}
}

static uint32
rank_of(const TbDirtyBuffers *dirty, BlockNumber block)
{
	uint64 below = (UINT64CONST(1) << (block % 64)) - 1;

	return dirty->before[block / 64] + pg_popcount64(dirty->bits[block / 64] & below);
}

TbDirtyBuffers *
tb_dirty_buffers_of(const TbFoundBlocks *found, BlockNumber nblocks)
{
	TbDirtyBuffers *dirty = palloc0(sizeof(TbDirtyBuffers));
	Size			nwords = nblocks / 64 + 1;

	dirty->bits = palloc_extended(nwords * sizeof(uint64),
								  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	dirty->before = palloc_extended(nwords * sizeof(uint32), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < found->count; i++)
		dirty->bits[found->blocks[i] / 64] |= UINT64CONST(1) << (found->blocks[i] % 64);
	for (Size i = 0; i < nwords; i++)
	{
		dirty->before[i] = dirty->count;
		dirty->count += pg_popcount64(dirty->bits[i]);
	}
	dirty->buffers = palloc_extended(Max(dirty->count, 1) * sizeof(Buffer),
									 MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < found->count; i++)
		dirty->buffers[rank_of(dirty, found->blocks[i])] = found->buffers[i];
	return dirty;
}

TbDirtyBuffers *
tb_dirty_buffers_sweep(Relation rel, BlockNumber nblocks)
{
	TbFoundBlocks	found = {.room = 1024};
	TbDirtyBuffers *dirty;

	found.blocks = palloc(found.room * sizeof(BlockNumber));
	found.buffers = palloc(found.room * sizeof(Buffer));
	find_dirty(rel, nblocks, &found);
	dirty = tb_dirty_buffers_of(&found, nblocks);
	pfree(found.blocks);
	pfree(found.buffers);
	return dirty;
}

/* The header, and of the page its own header and the first line pointers: what is looked at
 * before the page is copied, which the processor then sees coming. */
static void
fetch_ahead(Buffer buffer)
{
	const char *page = (const char *) BufferGetBlock(buffer);

	__builtin_prefetch(GetBufferDescriptor(buffer - 1));
	__builtin_prefetch(page);
	__builtin_prefetch(page + PG_CACHE_LINE_SIZE);
}

Buffer
tb_dirty_buffers_hint(const TbDirtyBuffers *dirty, BlockNumber block)
{
	uint32 rank;

	if (!tb_dirty_buffers_has(dirty, block))
		return InvalidBuffer;
	rank = rank_of(dirty, block);
	if (rank + AHEAD < dirty->count)
		fetch_ahead(dirty->buffers[rank + AHEAD]);
	return dirty->buffers[rank];
}
