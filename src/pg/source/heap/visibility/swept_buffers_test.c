/*
 * swept_buffers_test.c - blocks in the order of buffers, found again by block.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pg/source/heap/visibility/swept_buffers.h"
#include "pg/testing/unit_test.h"

TB_TEST(swept_buffers_of_random_blocks)
{
	for (int round = 0; round < 200; round++)
	{
		BlockNumber		nblocks = (BlockNumber) tb_random_between(1, 5000);
		uint32			count = (uint32) tb_random_between(0, 2 * nblocks);
		Buffer		   *expected = palloc0(nblocks * sizeof(Buffer));
		bool		   *expected_dirty = palloc0(nblocks * sizeof(bool));
		TbFoundBlocks	found = {.count = count};
		TbSweptBuffers *swept;
		uint32			distinct = 0;

		found.blocks = palloc(Max(count, 1) * sizeof(BlockNumber));
		found.buffers = palloc(Max(count, 1) * sizeof(Buffer));
		found.dirty = palloc(Max(count, 1) * sizeof(bool));
		for (uint32 i = 0; i < count; i++)
		{
			found.blocks[i] = (BlockNumber) tb_random_between(0, nblocks - 1);
			found.buffers[i] = (Buffer) tb_random_between(1, NBuffers);
			found.dirty[i] = tb_random_between(0, 1) != 0;
			expected_dirty[found.blocks[i]] |= found.dirty[i];
			distinct += expected[found.blocks[i]] == InvalidBuffer;
			expected[found.blocks[i]] = found.buffers[i];
		}
		swept = tb_swept_buffers_of(&found, nblocks);
		CHECK(swept->count == distinct);
		for (BlockNumber block = 0; block < nblocks; block++)
		{
			CHECK(tb_swept_buffers_is_dirty(swept, block) == expected_dirty[block]);
			CHECK(tb_swept_buffers_hint(swept, block) == expected[block]);
		}
	}
}
