/*
 * visibility_map_test.c - bits of a copied visibility map, at the borders of its pages.
 */
#include "postgres.h"

#include "access/visibilitymapdefs.h"

#include "pg/source/heap/visibility/visibility_map.h"
#include "pg/testing/unit_test.h"

#define BYTES_PER_PAGE (TB_VM_BLOCKS_PER_PAGE / 4)

/* As visibilitymap.c sets it. */
static void
set_bits(TbVisibilityMap *map, BlockNumber block, uint8 bits)
{
	BlockNumber in_page = block % TB_VM_BLOCKS_PER_PAGE;

	map->bits[(Size) (block / TB_VM_BLOCKS_PER_PAGE) * BYTES_PER_PAGE + in_page / 4] |= bits
		<< (in_page % 4 * BITS_PER_HEAPBLOCK);
}

TB_TEST(map_pages_cover_what_postgresql_says)
{
	CHECK(TB_VM_BLOCKS_PER_PAGE == 32672);
	CHECK(TB_VM_PAGE(0) == 0 && TB_VM_PAGE(32671) == 0 && TB_VM_PAGE(32672) == 1);
}

TB_TEST(map_bits_of_random_blocks)
{
	BlockNumber		nblocks = 3 * TB_VM_BLOCKS_PER_PAGE - 5;
	TbVisibilityMap map = {.nblocks = nblocks, .npages = 3};
	bool		   *expected = palloc0(nblocks);
	bool			full[] = {false, true, false};

	map.full = full;
	map.bits = palloc0(3 * BYTES_PER_PAGE);
	for (int i = 0; i < 20000; i++)
	{
		BlockNumber block = (BlockNumber) tb_random_between(0, nblocks - 1);

		/* All-frozen alone promises nothing. */
		if (i % 3 == 0)
			set_bits(&map, block, VISIBILITYMAP_ALL_FROZEN);
		else
		{
			set_bits(&map, block, VISIBILITYMAP_ALL_VISIBLE);
			expected[block] = true;
		}
	}
	for (BlockNumber block = 0; block < nblocks; block++)
		CHECK(tb_visibility_map_bit(&map, block) ==
			  (expected[block] || full[TB_VM_PAGE(block)]));
}
