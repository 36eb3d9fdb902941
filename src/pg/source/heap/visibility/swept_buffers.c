/*
 * swept_buffers.c - see swept_buffers.h.
 *
 * Relies on buf_internals.h; only reads there. Called by direct_classify.c. Blocks and
 * pages lie anywhere in memory, so what takes time is waiting for it: hence the fetching
 * ahead.
 */
#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "pg/compat/pg16.h"
#include "pg/source/heap/visibility/buffer_lookup.h"
#include "pg/source/heap/visibility/swept_buffers.h"

/* Blocks between the one that is asked of and the one that is fetched. */
#define AHEAD 4

static void
add_found(TbFoundBlocks *found, BlockNumber block, Buffer buffer, bool dirty)
{
	if (found->count == found->room)
	{
		found->room *= 2;
		found->blocks = repalloc_huge(found->blocks, found->room * sizeof(BlockNumber));
		found->buffers = repalloc_huge(found->buffers, found->room * sizeof(Buffer));
		found->dirty = repalloc_huge(found->dirty, found->room * sizeof(bool));
	}
	found->blocks[found->count] = block;
	found->dirty[found->count] = dirty;
	found->buffers[found->count++] = buffer;
}

static void
find_in_headers(Relation rel, BlockNumber nblocks, TbFoundBlocks *found)
{
	RelFileLocator node = TB_SMGR_LOCATOR(rel);

	for (int i = 0; i < NBuffers; i++)
	{
		BufferDesc *header = GetBufferDescriptor(i);
		uint32		state = pg_atomic_read_u32(&header->state);
		BlockNumber block;

		if ((state & (BM_DIRTY | BM_VALID)) == 0 || header->tag.forkNum != MAIN_FORKNUM ||
			!BufTagMatchesRelFileLocator(&header->tag, &node))
			continue;
		block = header->tag.blockNum;
		if (block < nblocks)
			add_found(found, block, BufferDescriptorGetBuffer(header),
					  (state & BM_DIRTY) != 0);
	}
}

static uint32
rank_of(const TbSweptBuffers *swept, BlockNumber block)
{
	uint64 below = (UINT64CONST(1) << (block % 64)) - 1;

	return swept->before[block / 64] + pg_popcount64(swept->there[block / 64] & below);
}

TbSweptBuffers *
tb_swept_buffers_of(const TbFoundBlocks *found, BlockNumber nblocks)
{
	TbSweptBuffers *swept = palloc0(sizeof(TbSweptBuffers));
	Size			nwords = nblocks / 64 + 1;

	swept->dirty = palloc_extended(nwords * sizeof(uint64),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	swept->there = palloc_extended(nwords * sizeof(uint64),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	swept->before = palloc_extended(nwords * sizeof(uint32), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < found->count; i++)
	{
		uint64 bit = UINT64CONST(1) << (found->blocks[i] % 64);

		swept->there[found->blocks[i] / 64] |= bit;
		if (found->dirty[i])
			swept->dirty[found->blocks[i] / 64] |= bit;
	}
	for (Size i = 0; i < nwords; i++)
	{
		swept->before[i] = swept->count;
		swept->count += pg_popcount64(swept->there[i]);
	}
	swept->buffers = palloc_extended(Max(swept->count, 1) * sizeof(Buffer),
									 MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < found->count; i++)
		swept->buffers[rank_of(swept, found->blocks[i])] = found->buffers[i];
	return swept;
}

TbSweptBuffers *
tb_swept_buffers_sweep(Relation rel, BlockNumber nblocks)
{
	TbFoundBlocks	found = {.room = 1024};
	TbSweptBuffers *swept;

	found.blocks = palloc(found.room * sizeof(BlockNumber));
	found.buffers = palloc(found.room * sizeof(Buffer));
	found.dirty = palloc(found.room * sizeof(bool));
	find_in_headers(rel, nblocks, &found);
	swept = tb_swept_buffers_of(&found, nblocks);
	pfree(found.blocks);
	pfree(found.buffers);
	pfree(found.dirty);
	return swept;
}

Buffer
tb_swept_buffers_hint(const TbSweptBuffers *swept, BlockNumber block)
{
	uint32 rank;

	if ((swept->there[block / 64] >> (block % 64) & 1) == 0)
		return InvalidBuffer;
	rank = rank_of(swept, block);
	if (rank + AHEAD < swept->count)
		tb_buffer_fetch_ahead(swept->buffers[rank + AHEAD]);
	return swept->buffers[rank];
}
