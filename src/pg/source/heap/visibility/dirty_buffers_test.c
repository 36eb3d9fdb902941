/*
 * dirty_buffers_test.c - dirty blocks in the order of buffers, found again by block.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pg/source/heap/visibility/dirty_buffers.h"
#include "pg/testing/unit_test.h"

TB_TEST(dirty_buffers_of_random_blocks)
{
	for (int round = 0; round < 200; round++)
	{
		BlockNumber		nblocks = (BlockNumber) tb_random_between(1, 5000);
		uint32			count = (uint32) tb_random_between(0, 2 * nblocks);
		Buffer		   *expected = palloc0(nblocks * sizeof(Buffer));
		TbFoundBlocks	found = {.count = count};
		TbDirtyBuffers *dirty;
		uint32			distinct = 0;

		found.blocks = palloc(Max(count, 1) * sizeof(BlockNumber));
		found.buffers = palloc(Max(count, 1) * sizeof(Buffer));
		for (uint32 i = 0; i < count; i++)
		{
			found.blocks[i] = (BlockNumber) tb_random_between(0, nblocks - 1);
			found.buffers[i] = (Buffer) tb_random_between(1, NBuffers);
			distinct += expected[found.blocks[i]] == InvalidBuffer;
			expected[found.blocks[i]] = found.buffers[i];
		}
		dirty = tb_dirty_buffers_of(&found, nblocks);
		CHECK(dirty->count == distinct);
		for (BlockNumber block = 0; block < nblocks; block++)
		{
			CHECK(tb_dirty_buffers_has(dirty, block) == (expected[block] != InvalidBuffer));
			CHECK(tb_dirty_buffers_hint(dirty, block) == expected[block]);
		}
	}
}
