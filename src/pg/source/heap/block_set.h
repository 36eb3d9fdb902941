/*
 * block_set.h - the blocks of a relation that a query has to read.
 *
 * Either a range of them, a parallel worker's share; or made of the bitmap of an index
 * scan, of which only the blocks count: every row is filtered anyway. Blocks added to the
 * relation after the index scan are not in the set, nor need they be. A tuple that the
 * query's snapshot sees was inserted before the snapshot was taken, which is before the
 * index was scanned, so its block was part of the relation by then; and of the blocks that
 * the relation has when it is scanned, an index leaves out only those that it knows cannot
 * match: BRIN returns a range without a summary, or with one in the making, as matching,
 * and a summary is widened before the inserting transaction can commit. (A sequential scan
 * ends at the relation's length when it starts, for the same reason.) Hence the one rule
 * for callers: take the snapshot, then scan the index, never the other way around.
 */
#ifndef TURBINE_PG_BLOCK_SET_H
#define TURBINE_PG_BLOCK_SET_H

#include "postgres.h"

#include "nodes/tidbitmap.h"
#include "storage/block.h"

typedef struct TbBlockSet TbBlockSet;

/* The bitmap's blocks, of a relation of so many; in the current context. */
extern TbBlockSet *tb_block_set_of_bitmap(TIDBitmap *bitmap, BlockNumber nblocks);

/* From `first` on, `end` not included, of a relation of so many; in the current context. */
extern TbBlockSet *tb_block_set_of_range(BlockNumber first, BlockNumber end,
										 BlockNumber nblocks);

extern BlockNumber tb_block_set_count(const TbBlockSet *set);

/* The first block of the set from this one on; InvalidBlockNumber: none. */
extern BlockNumber tb_block_set_next(const TbBlockSet *set, BlockNumber from);

extern void tb_block_set_free(TbBlockSet *set);

#endif
