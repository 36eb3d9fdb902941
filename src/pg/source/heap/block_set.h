/*
 * block_set.h - the blocks of a relation that a query has to read: a range, which is a
 * parallel worker's share, or the bitmap of an index scan. Of the bitmap only the blocks
 * count, since every row is filtered anyway.
 *
 * Blocks added to the relation after the index scan are not in the set, and need not be.
 * A tuple that the query's snapshot sees was inserted before the snapshot was taken, so
 * before the index was scanned. Its block was part of the relation by then. (A sequential
 * scan ends at the relation's length when it starts, for the same reason.) Of these
 * blocks, an index leaves out only those that it knows cannot match. BRIN returns a range
 * as matching if it has no summary, or one in the making; and a summary is widened before
 * the inserting transaction can commit. Other indexes have an entry for each row, made
 * before that too, or lists of those to come that they search as well; versions of a row
 * that share an entry lie in one block; and an index that lacks entries for old versions
 * is not offered to a snapshot that may see them. Hence the one rule for callers: take the
 * snapshot, then scan the index, never the other way around.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_BLOCK_SET_H
#define TURBINE_PG_SOURCE_HEAP_BLOCK_SET_H

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
