/*
 * dirty_buffers.h - the blocks of a relation that are dirty in shared buffers, and where.
 *
 * A look at all buffers' headers, a few nanoseconds each. It takes no locks: that a block
 * is not dirty is true of some moment of the look if its last change is older than the look
 * (direct_classify.c says why). Which buffer a block is in is a hint, since buffers change
 * hands: whoever follows it compares the buffer's tag.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_VISIBILITY_DIRTY_BUFFERS_H
#define TURBINE_PG_SOURCE_HEAP_VISIBILITY_DIRTY_BUFFERS_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "port/pg_bitutils.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "utils/relcache.h"

typedef struct TbDirtyBuffers
{
	uint32	count;
	uint64 *bits;	 /* a bit a block */
	uint32 *before;	 /* by word of `bits`: dirty blocks before its first one */
	Buffer *buffers; /* of the dirty blocks, ascending by block */
} TbDirtyBuffers;

/* Blocks in any order, and where each was seen. */
typedef struct TbFoundBlocks
{
	uint32		 count;
	uint32		 room;
	BlockNumber *blocks;
	Buffer		*buffers;
} TbFoundBlocks;

/* All found blocks are of the first `nblocks`. One that was moved meanwhile may have been
 * found twice: its last buffer counts. In the current context. */
extern TbDirtyBuffers *tb_dirty_buffers_of(const TbFoundBlocks *found, BlockNumber nblocks);

/* Of the relation's first `nblocks` blocks; in the current context. */
extern TbDirtyBuffers *tb_dirty_buffers_sweep(Relation rel, BlockNumber nblocks);

static inline bool
tb_dirty_buffers_has(const TbDirtyBuffers *dirty, BlockNumber block)
{
	return (dirty->bits[block / 64] >> (block % 64) & 1) != 0;
}

/* The buffer that the block was in; InvalidBuffer: it was not dirty. Whoever asks of one
 * will ask of the next ones soon: their headers and pages are fetched ahead. */
extern Buffer tb_dirty_buffers_hint(const TbDirtyBuffers *dirty, BlockNumber block);

#endif
