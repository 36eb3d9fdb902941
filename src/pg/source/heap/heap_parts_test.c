/*
 * heap_parts_test.c - how chunks take the blocks of a part.
 */
#include "postgres.h"

#include "pg/source/heap/heap_parts.h"
#include "pg/testing/unit_test.h"

/* A part of so many blocks, of which the set says which are read; NULL: all. */
static TbHeapParts *
parts_of(BlockNumber nblocks, const TbBlockSet *blocks)
{
	TbHeapParts *parts = palloc0(sizeof(TbHeapParts));

	parts->parts = palloc0(sizeof(TbHeapPart));
	parts->nparts = 1;
	parts->next_part = 1;
	parts->current = parts->parts;
	parts->current->nblocks = nblocks;
	parts->current->blocks = blocks;
	parts->next_block = blocks != NULL ? tb_block_set_next(blocks, 0) : 0;
	return parts;
}

/* Takes everything in chunks of `capacity`; each block once, in ascending order. */
static BlockNumber
take_all(TbHeapParts *parts, uint32 capacity, const TbBlockSet *blocks)
{
	BlockNumber *chunk = palloc(capacity * sizeof(BlockNumber));
	BlockNumber	 taken = 0;
	BlockNumber	 next = blocks != NULL ? tb_block_set_next(blocks, 0) : 0;
	uint32		 count;

	while ((count = tb_heap_parts_take(parts, chunk, capacity)) > 0)
	{
		CHECK(count <= capacity);
		for (uint32 i = 0; i < count; i++)
		{
			CHECK(chunk[i] == next);
			next = blocks != NULL ? tb_block_set_next(blocks, next + 1) : next + 1;
		}
		/* A chunk is smaller than a slot only if it is the last. */
		CHECK(count == capacity || !tb_heap_parts_blocks_left(parts));
		taken += count;
	}
	return taken;
}

TB_TEST(chunks_take_all_blocks_once)
{
	static const BlockNumber sizes[] = {0, 1, 15, 16, 17, 31, 32, 33, 1000};

	for (int i = 0; i < lengthof(sizes); i++)
		for (uint32 capacity = 1; capacity <= 64; capacity *= 2)
		{
			TbHeapParts *parts = parts_of(sizes[i], NULL);

			CHECK(take_all(parts, capacity, NULL) == sizes[i]);
			CHECK(!tb_heap_parts_blocks_left(parts));
		}
}

TB_TEST(chunks_leave_gaps)
{
	for (int round = 0; round < 100; round++)
	{
		BlockNumber nblocks = (BlockNumber) tb_random_between(1, 2000);
		TIDBitmap  *bitmap = tbm_create(1024 * 1024, NULL);
		TbBlockSet *blocks;

		for (int i = (int) tb_random_between(0, 300); i > 0; i--)
			tbm_add_page(bitmap, (BlockNumber) tb_random_between(0, nblocks - 1));
		blocks = tb_block_set_of_bitmap(bitmap, nblocks);
		tbm_free(bitmap);
		CHECK(take_all(parts_of(nblocks, blocks), (uint32) tb_random_between(1, 100),
					   blocks) == tb_block_set_count(blocks));
	}
}

TB_TEST(blocks_are_taken_again_after_going_back)
{
	TbHeapParts *parts = parts_of(100, NULL);
	BlockNumber	 chunk[64];

	CHECK(tb_heap_parts_take(parts, chunk, 64) == 64);
	tb_heap_parts_go_back(parts, 10);
	CHECK(tb_heap_parts_take(parts, chunk, 64) == 64);
	CHECK(chunk[0] == 10 && chunk[63] == 73);
	CHECK(tb_heap_parts_take(parts, chunk, 64) == 26);
	CHECK(!tb_heap_parts_blocks_left(parts));
}
