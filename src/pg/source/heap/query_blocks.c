/*
 * query_blocks.c - the blocks that a query reads, in their order.
 *
 * All of a relation as it is when the query begins, or those of a set. Chunks
 * take them one after another, whether they are consecutive or not. Called by the
 * other files of the query; see query_state.h.
 */
#include "postgres.h"

#include "pg/source/heap/block_set.h"
#include "pg/source/heap/query_state.h"

/* The first that is read from `block` on; at or beyond the end: none. */
static BlockNumber
block_from(const TbTablePart *part, BlockNumber block)
{
	return part->blocks != NULL ? tb_block_set_next(part->blocks, block) : block;
}

void
tb_blocks_begin(TbHeapQuery *query)
{
	query->next_block = block_from(query->part, 0);
}

bool
tb_blocks_left(const TbHeapQuery *query)
{
	return query->part != NULL && query->next_block < query->part->nblocks;
}

uint32
tb_blocks_take(TbHeapQuery *query, BlockNumber *blocks, uint32 capacity)
{
	uint32		count = 0;

	while (count < capacity && tb_blocks_left(query))
	{
		blocks[count++] = query->next_block;
		query->next_block = block_from(query->part, query->next_block + 1);
	}
	return count;
}
