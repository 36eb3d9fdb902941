/*
 * query_blocks.c - the blocks that a query reads, in their order.
 *
 * All of the relation as it is when the query begins, or those of a set. Chunks
 * take them one after another, whether they are consecutive or not. Called by the
 * other files of the query; see query_state.h.
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "pg/feed/block_set.h"
#include "pg/feed/query_state.h"

/* The first that is read from `block` on; at or beyond the end: none. */
static BlockNumber
block_from(const TbHeapQuery *query, BlockNumber block)
{
	return query->spec.blocks != NULL ? tb_block_set_next(query->spec.blocks, block) : block;
}

void
tb_blocks_begin(TbHeapQuery *query)
{
	query->nblocks = RelationGetNumberOfBlocks(query->rel);
	query->blocks_to_read = query->spec.blocks != NULL ?
		tb_block_set_count(query->spec.blocks) : query->nblocks;
	query->next_block = block_from(query, 0);
}

bool
tb_blocks_left(const TbHeapQuery *query)
{
	return query->next_block < query->nblocks;
}

uint32
tb_blocks_take(TbHeapQuery *query, BlockNumber *blocks, uint32 capacity)
{
	uint32		count = 0;

	while (count < capacity && tb_blocks_left(query))
	{
		blocks[count++] = query->next_block;
		query->next_block = block_from(query, query->next_block + 1);
	}
	return count;
}
