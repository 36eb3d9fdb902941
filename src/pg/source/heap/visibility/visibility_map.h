/*
 * visibility_map.h - a private copy of a relation's visibility map.
 *
 * For each map page (32,672 blocks): its LSN and its all-visible bits, taken
 * together under a share lock on the map's buffer. tb_visibility_map_check
 * looks again, the same way. What an unmoved bit and LSN promise is stated in
 * visibility_map.c.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_VISIBILITY_VISIBILITY_MAP_H
#define TURBINE_PG_SOURCE_HEAP_VISIBILITY_VISIBILITY_MAP_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/relcache.h"

/* Heap blocks a map page covers: two bits each, as visibilitymap.c lays out. */
#define TB_VM_BLOCKS_PER_PAGE \
	((BlockNumber) ((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * 4))
#define TB_VM_PAGE(block) ((block) / TB_VM_BLOCKS_PER_PAGE)

typedef struct TbVisibilityMap
{
	Relation	rel;
	BlockNumber nblocks;	 /* heap blocks covered by the copy */
	uint32		npages;		 /* map pages for that many blocks */
	XLogRecPtr *lsn;		 /* one a page */
	uint8	   *bits;		 /* npages * TB_VM_BLOCKS_PER_PAGE / 4 bytes, as
							  * in the map: 2 bits a block; of pages that are not full */
	bool	   *full;		 /* a page: every block of it has its bit, of those that
							  * are covered */
	uint64		all_visible; /* blocks whose bit is set in the copy */
} TbVisibilityMap;

extern TbVisibilityMap *tb_visibility_map_copy(Relation rel, BlockNumber nblocks);

/* In the copy. */
extern bool tb_visibility_map_bit(const TbVisibilityMap *map, BlockNumber block);

/*
 * Looks at the map page again: sets still[i] for blocks [block, block + count)
 * (all of that page), true where the bit is set and the page's LSN is `lsn`.
 * Returns whether the LSN is.
 */
extern bool tb_visibility_map_check(TbVisibilityMap *map, XLogRecPtr lsn, BlockNumber block,
									uint32 count, bool *still);

/* Copies one map page anew. */
extern void tb_visibility_map_refresh(TbVisibilityMap *map, uint32 page);

#endif
