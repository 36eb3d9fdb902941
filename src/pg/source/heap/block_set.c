/*
 * block_set.c - see block_set.h.
 *
 * A bit a block: a terabyte's table takes 16 MB, and every set the same. Called where an
 * index scan tells which blocks matter, where workers share them, and by whatever takes
 * blocks. A set never changes once it is made.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "pg/compat/pg18.h"
#include "pg/source/heap/block_set.h"

struct TbBlockSet
{
	BlockNumber nblocks; /* of the relation */
	BlockNumber count;	 /* in the set */
	uint64		words[FLEXIBLE_ARRAY_MEMBER];
};

static TbBlockSet *
make_empty(BlockNumber nblocks)
{
	Size		nwords = (Size) nblocks / 64 + 1;
	TbBlockSet *set = MemoryContextAllocExtended(CurrentMemoryContext,
												 offsetof(TbBlockSet, words) +
													 nwords * sizeof(uint64),
												 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	set->nblocks = nblocks;
	return set;
}

TbBlockSet *
tb_block_set_of_range(BlockNumber first, BlockNumber end, BlockNumber nblocks)
{
	TbBlockSet *set = make_empty(nblocks);

	Assert(first <= end && end <= nblocks);
	for (BlockNumber block = first; block < end; block++)
		set->words[block / 64] |= UINT64CONST(1) << (block % 64);
	set->count = end - first;
	return set;
}

TbBlockSet *
tb_block_set_of_bitmap(TIDBitmap *bitmap, BlockNumber nblocks)
{
	TbBlockSet	  *set = make_empty(nblocks);
	TbBitmapBlocks blocks = tb_bitmap_begin(bitmap);
	BlockNumber	   block;

	/* They ascend. Nothing beyond the end is read whatever an index says, and
	 * InvalidBlockNumber ends them. */
	while ((block = tb_bitmap_next(&blocks)) < nblocks)
	{
		set->words[block / 64] |= UINT64CONST(1) << (block % 64);
		set->count++;
	}
	tb_bitmap_end(&blocks);
	return set;
}

BlockNumber
tb_block_set_count(const TbBlockSet *set)
{
	return set->count;
}

BlockNumber
tb_block_set_next(const TbBlockSet *set, BlockNumber from)
{
	Size   word;
	uint64 bits;

	if (from >= set->nblocks)
		return InvalidBlockNumber;
	word = from / 64;
	bits = set->words[word] & (~UINT64CONST(0) << (from % 64));
	while (bits == 0)
	{
		if (++word > (set->nblocks - 1) / 64)
			return InvalidBlockNumber;
		bits = set->words[word];
	}
	return word * 64 + pg_rightmost_one_pos64(bits);
}

void
tb_block_set_free(TbBlockSet *set)
{
	pfree(set);
}
