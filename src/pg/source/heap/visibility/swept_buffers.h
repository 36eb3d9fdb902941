/*
 * swept_buffers.h - the blocks of a relation that are in shared buffers, where, and which
 * are dirty.
 *
 * A look at all buffers' headers, a few nanoseconds each. It takes no locks: that a block
 * is not dirty is true of some moment of the look if its last change is older than the look
 * (direct_classify.c says why). Which buffer a block is in is a hint, since buffers change
 * hands: whoever follows it compares the buffer's tag.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_VISIBILITY_SWEPT_BUFFERS_H
#define TURBINE_PG_SOURCE_HEAP_VISIBILITY_SWEPT_BUFFERS_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "port/pg_bitutils.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "utils/relcache.h"

typedef struct TbSweptBuffers
{
	uint32	count;
	uint64 *dirty;	 /* a bit a block */
	uint64 *there;	 /* a bit a block */
	uint32 *before;	 /* by word of `there`: blocks before its first one */
	Buffer *buffers; /* of the blocks that are there, ascending by block */
} TbSweptBuffers;

/* Blocks in any order, and where each was seen. */
typedef struct TbFoundBlocks
{
	uint32		 count;
	uint32		 room;
	BlockNumber *blocks;
	Buffer		*buffers;
	bool		*dirty;
} TbFoundBlocks;

/* All found blocks are of the first `nblocks`. One that was moved meanwhile may have been
 * found twice: its last buffer counts, and it is dirty if it was in either. In the current
 * context. */
extern TbSweptBuffers *tb_swept_buffers_of(const TbFoundBlocks *found, BlockNumber nblocks);

/* Of the relation's first `nblocks` blocks; in the current context. */
extern TbSweptBuffers *tb_swept_buffers_sweep(Relation rel, BlockNumber nblocks);

static inline bool
tb_swept_buffers_is_dirty(const TbSweptBuffers *swept, BlockNumber block)
{
	return (swept->dirty[block / 64] >> (block % 64) & 1) != 0;
}

/* The buffer that the block was in; InvalidBuffer: it was not there. Whoever asks of one
 * will ask of the next ones soon: their headers and pages are fetched ahead. */
extern Buffer tb_swept_buffers_hint(const TbSweptBuffers *swept, BlockNumber block);

#endif
