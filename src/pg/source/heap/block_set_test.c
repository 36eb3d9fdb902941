/*
 * block_set_test.c - block sets against the bitmaps that they are made of.
 */
#include "postgres.h"

#include "pg/source/heap/block_set.h"
#include "pg/testing/unit_test.h"

/* The blocks of a set, one by one, are those of `expected`. */
static void
check_set(const TbBlockSet *set, const bool *expected, BlockNumber nblocks)
{
	BlockNumber count = 0;
	BlockNumber next = tb_block_set_next(set, 0);

	for (BlockNumber block = 0; block < nblocks; block++)
	{
		if (!expected[block])
			continue;
		count++;
		CHECK(next == block);
		CHECK(tb_block_set_next(set, block) == block);
		next = tb_block_set_next(set, block + 1);
	}
	CHECK(next >= nblocks);
	CHECK(tb_block_set_count(set) == count);
}

TB_TEST(block_set_of_random_bitmaps)
{
	for (int round = 0; round < 200; round++)
	{
		BlockNumber nblocks = (BlockNumber) tb_random_between(1, 3000);
		TIDBitmap  *bitmap = tbm_create(1024 * 1024, NULL);
		bool	   *expected = palloc0(nblocks);
		int			chosen = (int) tb_random_between(0, nblocks);

		for (int i = 0; i < chosen; i++)
		{
			/* The index may know of blocks that the scan does not read. */
			BlockNumber block = (BlockNumber) tb_random_between(0, nblocks + 50);

			tbm_add_page(bitmap, block);
			if (block < nblocks)
				expected[block] = true;
		}
		check_set(tb_block_set_of_bitmap(bitmap, nblocks), expected, nblocks);
		tbm_free(bitmap);
	}
}

/* Shares of a table are all of it, once. */
TB_TEST(block_set_of_ranges)
{
	for (int round = 0; round < 200; round++)
	{
		BlockNumber nblocks = (BlockNumber) tb_random_between(1, 3000);
		BlockNumber first = (BlockNumber) tb_random_between(0, nblocks);
		BlockNumber end = (BlockNumber) tb_random_between(first, nblocks);
		bool	   *expected = palloc0(nblocks);

		for (BlockNumber block = first; block < end; block++)
			expected[block] = true;
		check_set(tb_block_set_of_range(first, end, nblocks), expected, nblocks);
	}
}

/* Bitmaps lose exactness when their memory is spent; the blocks stay the same. */
TB_TEST(block_set_of_lossy_bitmap)
{
	BlockNumber nblocks = 60000;
	TIDBitmap  *bitmap = tbm_create(64 * 1024, NULL);
	bool	   *expected = palloc0(nblocks);

	for (BlockNumber block = 7; block < nblocks; block += 13)
	{
		ItemPointerData tid;

		ItemPointerSet(&tid, block, 1);
		tbm_add_tuples(bitmap, &tid, 1, false);
		expected[block] = true;
	}
	check_set(tb_block_set_of_bitmap(bitmap, nblocks), expected, nblocks);
}
