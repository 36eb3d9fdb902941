/*
 * direct_classify.c - see direct_classify.h.
 *
 * When a block is dirty. A tuple change is older than the all-visible bit that covers it.
 * If the block's buffer is clean or absent at any moment after the bit was seen, the
 * change has been written to the file: BM_DIRTY falls only when the write is done, and a
 * buffer is evicted only after that. So the map is copied first, and buffers are looked
 * at later. A change after the look clears the bit, which the confirmation sees.
 *
 * How it looks. Through the buffer table a look costs about 100 ns a block. A sweep of
 * all headers, without locks, costs a few nanoseconds a *buffer*. A block whose change is
 * not yet in the file sits in one buffer, dirty and under the same tag, from before the
 * bit was set until it is written. Any other tag or flag that an unlocked read sees
 * belongs to a block that is on file. So the query looks up block by block, until that
 * has cost as much as a sweep.
 *
 * The look cannot be saved by comparing the map page's LSN with the last checkpoint's.
 * COPY FREEZE into a table of its own transaction adds rows under bits that are set,
 * without a new LSN. So after its commit a dirty block can lie under a map page older
 * than any checkpoint.
 *
 * A dirty block that was decoded before needs no copy if its page in shared buffers has
 * the LSN that it had then. The map was copied before the look: a change that the
 * snapshot could see had been made, with its LSN, before the bit was set.
 *
 * Relies on buf_internals.h; only reads there.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "port/pg_bitutils.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "turbine/wire.h"

#include "pg/compat/pg17.h"
#include "pg/source/heap/visibility/buffer_lookup.h"
#include "pg/source/heap/visibility/direct_classify.h"
#include "pg/source/heap/visibility/swept_buffers.h"
#include "pg/settings/guc.h"
#include "turbine/mutant.h"

/* Buffer headers swept in the time of one look-up. */
#define HEADERS_PER_LOOKUP 24

struct TbDirect
{
	Relation		 rel;
	BlockNumber		 nblocks;
	bool			 small; /* all of it is read through the buffers */
	TbVisibilityMap *map;
	uint64			 lookups;
	TbSweptBuffers	*swept;		  /* once swept; else NULL */
	bool			*copied_late; /* a map page: its copy is younger than the sweep,
								   * which thus says nothing about its blocks */
};

/*
 * Whether the relation, and the file that it has, are older than the transaction. In a
 * parallel worker the relation cache does not know what the leader's transaction
 * has created.
 */
bool
tb_direct_created_before(Relation rel)
{
	return !IsParallelWorker() && rel->rd_createSubid == InvalidSubTransactionId &&
		rel->rd_newRelfilelocatorSubid == InvalidSubTransactionId &&
		rel->rd_firstRelfilelocatorSubid == InvalidSubTransactionId;
}

/*
 * Whether the visibility map's promise holds for the relation at all. In recovery the map
 * is as good as on the primary: replay of a set bit first waits for, or cancels, snapshots
 * that do not see the tuples (index-only scans rely on it too); only the flag on the heap
 * page is not to be trusted there.
 */
static bool
map_is_promise(Relation rel, Snapshot snapshot, bool created_before)
{
	return rel->rd_rel->relkind != RELKIND_TOASTVALUE &&
		rel->rd_rel->relam == HEAP_TABLE_AM_OID &&
		rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT &&
		!IsCatalogRelation(rel) && (created_before || tb_direct_created_before(rel)) &&
		snapshot->snapshot_type == SNAPSHOT_MVCC && !TB_SNAPSHOTS_GROW_TOO_OLD &&
		!IsolationIsSerializable() && !CheckForSerializableConflictOutNeeded(rel, snapshot);
}

TbDirect *
tb_direct_begin(Relation rel, Snapshot snapshot, BlockNumber nblocks,
				BlockNumber blocks_to_read, bool for_cache, bool created_before)
{
	bool			 too_few = blocks_to_read < (BlockNumber) tb_guc_direct_threshold;
	TbDirect		*direct;
	TbVisibilityMap *map;

	if (blocks_to_read == 0 || (too_few && !(for_cache && nblocks < TB_FEW_BLOCKS)) ||
		!map_is_promise(rel, snapshot, created_before))
		return NULL;
	map = tb_visibility_map_copy(rel, nblocks);
	/* Blocks that are not all-visible may be cached too. */
	if (map->all_visible == 0 && !for_cache)
		return NULL;
	direct = palloc0(sizeof(TbDirect));
	direct->rel = rel;
	direct->nblocks = nblocks;
	direct->small = too_few;
	direct->map = map;
	direct->copied_late = palloc0(map->npages * sizeof(bool));
	return direct;
}

bool
tb_direct_is_small(const TbDirect *direct)
{
	return direct->small;
}

double
tb_direct_share(const TbDirect *direct)
{
	return Min((double) direct->map->all_visible / Max(direct->nblocks, 1), 1);
}

/* The all-visible bits of 32 blocks, of the two bits a block that the map has for them. */
static uint32
all_visible_bits(const uint8 *map_bits)
{
	uint64 bits;

	memcpy(&bits, map_bits, sizeof(bits));
	bits &= UINT64CONST(0x5555555555555555);
	bits = (bits | bits >> 1) & UINT64CONST(0x3333333333333333);
	bits = (bits | bits >> 2) & UINT64CONST(0x0f0f0f0f0f0f0f0f);
	bits = (bits | bits >> 4) & UINT64CONST(0x00ff00ff00ff00ff);
	bits = (bits | bits >> 8) & UINT64CONST(0x0000ffff0000ffff);
	return (uint32) (bits | bits >> 16);
}

/* Those of a page of the map, of so many bytes of result. */
static void
export_page(const uint8 *map_bits, uint8 *bits, Size size)
{
	for (Size i = 0; i < size; i += sizeof(uint32))
	{
		uint32 some = all_visible_bits(map_bits + 2 * i);

		memcpy(bits + i, &some, Min(size - i, sizeof(some)));
	}
}

static void
keep_wanted(uint8 *bits, BlockNumber nblocks, const TbBlockSet *wanted)
{
	BlockNumber from = 0;

	while (from < nblocks)
	{
		BlockNumber next = Min(tb_block_set_next(wanted, from), nblocks);

		for (; from < next; from++)
			bits[from / 8] &= ~(1 << (from % 8));
		from = next + 1;
	}
}

uint64
tb_direct_export(const TbDirect *direct, BlockNumber nblocks, const TbBlockSet *wanted,
				 uint64 *lsn, uint8 *bits)
{
	const TbVisibilityMap *map = direct->map;
	Size				   size = (nblocks + 7) / 8;
	uint64				   count = 0;

	StaticAssertStmt(TB_VM_BLOCKS_PER_PAGE == TB_BLOCKS_PER_MAP_PAGE &&
						 TB_VM_BLOCKS_PER_PAGE % 32 == 0,
					 "map pages as wire.h has them");
	Assert(nblocks > 0 && nblocks <= direct->nblocks);
	for (uint32 page = 0; page <= TB_VM_PAGE(nblocks - 1); page++)
	{
		Size first = (Size) page * TB_VM_BLOCKS_PER_PAGE / 8;
		Size end = Min(first + TB_VM_BLOCKS_PER_PAGE / 8, size);

		lsn[page] = map->lsn[page];
		if (map->full[page])
			memset(bits + first, 0xff, end - first);
		else
			export_page(map->bits + 2 * first, bits + first, end - first);
		if (end == size && nblocks % 8 != 0)
			bits[size - 1] &= (1 << (nblocks % 8)) - 1;
		if (wanted == NULL)
			count += map->full[page] ?
				Min(nblocks - 8 * first, TB_VM_BLOCKS_PER_PAGE) :
				pg_popcount((const char *) bits + first, end - first);
	}
	if (wanted == NULL)
		return count;
	keep_wanted(bits, nblocks, wanted);
	return pg_popcount((const char *) bits, size);
}

static void
sweep_buffers(TbDirect *direct)
{
	MemoryContext context = MemoryContextSwitchTo(GetMemoryChunkContext(direct));

	direct->swept = tb_swept_buffers_sweep(direct->rel, direct->nblocks);
	memset(direct->copied_late, 0, direct->map->npages * sizeof(bool));
	MemoryContextSwitchTo(context);
}

/* Another block is to be looked up: sweeps if that was cheaper; false: no sweep so far. */
static bool
sweep_in_time(TbDirect *direct)
{
	if (direct->swept == NULL && !direct->small &&
		++direct->lookups > (uint64) NBuffers / HEADERS_PER_LOOKUP)
		sweep_buffers(direct);
	return direct->swept != NULL;
}

/* Whether the block is on file as it was when the map was copied, or later. A sweep that is
 * older than the copy of a page of the map says nothing of the blocks that are all-visible
 * there. */
static bool
is_on_file(TbDirect *direct, BlockNumber block, bool sweep_is_old)
{
	if (TB_MUTANT(dirty_is_clean))
		return true; /* reads files that lag behind the buffers */
	if (!sweep_is_old && sweep_in_time(direct))
		return !tb_swept_buffers_is_dirty(direct->swept, block);
	return tb_buffer_lookup(direct->rel, block) != TB_BUFFER_DIRTY;
}

bool
tb_direct_block(TbDirect *direct, BlockNumber block)
{
	return !direct->small && tb_visibility_map_bit(direct->map, block) &&
		is_on_file(direct, block, direct->copied_late[TB_VM_PAGE(block)]);
}

void
tb_direct_expect_looks(TbDirect *direct, uint64 looks)
{
	if (direct->swept == NULL && !direct->small &&
		direct->lookups + looks > (uint64) NBuffers / HEADERS_PER_LOOKUP)
		sweep_buffers(direct);
}

bool
tb_direct_is_on_file(TbDirect *direct, BlockNumber block)
{
	return !direct->small && is_on_file(direct, block, false);
}

Buffer
tb_direct_recent_buffer(const TbDirect *direct, BlockNumber block)
{
	return direct->swept == NULL ? InvalidBuffer :
								   tb_swept_buffers_hint(direct->swept, block);
}

XLogRecPtr
tb_direct_buffer_lsn(TbDirect *direct, BlockNumber block, Buffer *buffer)
{
	XLogRecPtr lsn;

	if (tb_buffer_recent_lsn(direct->rel, block, *buffer, &lsn))
		return lsn;
	*buffer = InvalidBuffer;
	if (sweep_in_time(direct))
	{
		*buffer = tb_direct_recent_buffer(direct, block);
		if (*buffer == InvalidBuffer)
			return InvalidXLogRecPtr;
	}
	return tb_buffer_page_lsn(direct->rel, block, buffer);
}

bool
tb_direct_all_visible(const TbDirect *direct, BlockNumber block)
{
	return tb_visibility_map_bit(direct->map, block);
}

XLogRecPtr
tb_direct_lsn(const TbDirect *direct, BlockNumber block)
{
	return direct->map->lsn[TB_VM_PAGE(block)];
}

void
tb_direct_confirm(TbDirect *direct, XLogRecPtr lsn, BlockNumber block, uint32 count,
				  bool *unmoved)
{
	uint32 page = TB_VM_PAGE(block);

	if (TB_MUTANT(no_recheck))
	{
		memset(unmoved, true, count * sizeof(bool));
		return;
	}
	if (tb_visibility_map_check(direct->map, lsn, block, count, unmoved) ||
		direct->map->lsn[page] != lsn)
		return;
	/* Someone set bits: blocks still to come are classified under a new copy. */
	tb_visibility_map_refresh(direct->map, page);
	direct->copied_late[page] = true;
}
