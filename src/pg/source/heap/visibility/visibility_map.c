/*
 * visibility_map.c - copies and re-checks visibility map pages.
 *
 * The promise that direct reading rests on: for a WAL-logged heap whose storage
 * was not created in the current transaction, tuple data and line pointers of
 * a block are unchanged as long as its all-visible bit stays set and the map
 * page's LSN does not move. Whoever changes them clears the bit before the heap
 * page's lock is released, so before the change can reach the file; whoever
 * sets a bit again stamps the map page with a new LSN.
 *
 * Bits and LSN must be seen together: visibilitymap_get_status reads without a
 * lock, so it is not used. Called by direct_classify.c and the query; must
 * never extend or change the map.
 */
#include "postgres.h"

#include "access/visibilitymapdefs.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "pg/source/heap/visibility/visibility_map.h"

#define BYTES_PER_PAGE (TB_VM_BLOCKS_PER_PAGE / 4)

/* Two bits a block, the lower one for all-visible. */
#define BLOCKS_PER_WORD 32
#define ALL_VISIBLE_OF_WORD UINT64CONST(0x5555555555555555)

static bool
bit_is_set(const uint8 *bytes, BlockNumber index)
{
	return (bytes[index / 4] >> (2 * (index % 4))) & VISIBILITYMAP_ALL_VISIBLE;
}

/* Pages that the map's file has now. A page beyond it has no bit set. To ask whether there
 * is one closes it and opens it again, so only who has not seen it asks: it goes with the
 * relation, whose lock is held. */
static BlockNumber
map_length(Relation rel)
{
	SMgrRelation reln = RelationGetSmgr(rel);
	BlockNumber	 seen = reln->smgr_cached_nblocks[VISIBILITYMAP_FORKNUM];

	if ((seen == InvalidBlockNumber || seen == 0) &&
		!smgrexists(reln, VISIBILITYMAP_FORKNUM))
		return 0;
	return smgrnblocks(reln, VISIBILITYMAP_FORKNUM);
}

/* Blocks of the copy that the page has the bits of. */
static BlockNumber
blocks_of_page(const TbVisibilityMap *map, uint32 page)
{
	return Min(map->nblocks - page * TB_VM_BLOCKS_PER_PAGE, TB_VM_BLOCKS_PER_PAGE);
}

static uint64
word_at(const uint8 *bits, BlockNumber number)
{
	uint64 word;

	memcpy(&word, bits + number * sizeof(word), sizeof(word));
	return word & ALL_VISIBLE_OF_WORD;
}

static bool
is_full(const uint8 *bits, BlockNumber nblocks)
{
	BlockNumber nwords = nblocks / BLOCKS_PER_WORD;
	uint64		all = ALL_VISIBLE_OF_WORD;
	bool		full;

	for (BlockNumber i = 0; i < nwords; i++)
		all &= word_at(bits, i);
	full = all == ALL_VISIBLE_OF_WORD;
	for (BlockNumber i = nwords * BLOCKS_PER_WORD; i < nblocks && full; i++)
		full = bit_is_set(bits, i);
	return full;
}

/* A word of the map at a time, then what is left. */
static BlockNumber
count_set(const uint8 *bits, BlockNumber nblocks)
{
	BlockNumber nwords = nblocks / BLOCKS_PER_WORD;
	BlockNumber count = 0;

	for (BlockNumber i = 0; i < nwords; i++)
		count += pg_popcount64(word_at(bits, i));
	for (BlockNumber i = nwords * BLOCKS_PER_WORD; i < nblocks; i++)
		count += bit_is_set(bits, i);
	return count;
}

static Buffer
lock_page(Relation rel, uint32 page)
{
	Buffer buffer = ReadBufferExtended(rel, VISIBILITYMAP_FORKNUM, page, RBM_ZERO_ON_ERROR,
									   NULL);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	return buffer;
}

/* Of a page that is full the bits need no memory: mostly all are. */
static void
copy_page(TbVisibilityMap *map, uint32 page)
{
	Buffer buffer = lock_page(map->rel, page);
	Page   content = BufferGetPage(buffer);

	map->lsn[page] = PageGetLSN(content);
	map->full[page] = is_full((const uint8 *) PageGetContents(content),
							  blocks_of_page(map, page));
	if (!map->full[page])
		memcpy(map->bits + (size_t) page * BYTES_PER_PAGE, PageGetContents(content),
			   BYTES_PER_PAGE);
	UnlockReleaseBuffer(buffer);
}

TbVisibilityMap *
tb_visibility_map_copy(Relation rel, BlockNumber nblocks)
{
	TbVisibilityMap *map = palloc0(sizeof(TbVisibilityMap));
	BlockNumber		 length = map_length(rel);

	map->rel = rel;
	map->nblocks = nblocks;
	map->npages = nblocks / TB_VM_BLOCKS_PER_PAGE + (nblocks % TB_VM_BLOCKS_PER_PAGE != 0);
	map->lsn = palloc0(map->npages * sizeof(XLogRecPtr));
	map->full = palloc0(map->npages * sizeof(bool));
	map->bits = MemoryContextAllocExtended(CurrentMemoryContext,
										   (Size) map->npages * BYTES_PER_PAGE,
										   MCXT_ALLOC_HUGE);
	/* Beyond the map nothing is visible. */
	if (length < map->npages)
		memset(map->bits + (size_t) length * BYTES_PER_PAGE, 0,
			   (size_t) (map->npages - length) * BYTES_PER_PAGE);
	/* Copy and count. */
	for (uint32 page = 0; page < Min(map->npages, length); page++)
	{
		BlockNumber covered = blocks_of_page(map, page);

		copy_page(map, page);
		map->all_visible += map->full[page] ?
			covered :
			count_set(map->bits + (Size) page * BYTES_PER_PAGE, covered);
	}
	return map;
}

bool
tb_visibility_map_bit(const TbVisibilityMap *map, BlockNumber block)
{
	uint32 page = TB_VM_PAGE(block);

	return map->full[page] ||
		bit_is_set(map->bits + (size_t) page * BYTES_PER_PAGE,
				   block % TB_VM_BLOCKS_PER_PAGE);
}

bool
tb_visibility_map_check(TbVisibilityMap *map, XLogRecPtr lsn, BlockNumber block,
						uint32 count, bool *still)
{
	uint32		 page = TB_VM_PAGE(block);
	Buffer		 buffer = lock_page(map->rel, page);
	Page		 content = BufferGetPage(buffer);
	const uint8 *bits = (const uint8 *) PageGetContents(content);
	bool		 same_lsn = PageGetLSN(content) == lsn;

	Assert(TB_VM_PAGE(block + count - 1) == page);
	for (uint32 i = 0; i < count; i++)
		still[i] = same_lsn && bit_is_set(bits, (block + i) % TB_VM_BLOCKS_PER_PAGE);
	UnlockReleaseBuffer(buffer);
	return same_lsn;
}

void
tb_visibility_map_refresh(TbVisibilityMap *map, uint32 page)
{
	copy_page(map, page);
}
