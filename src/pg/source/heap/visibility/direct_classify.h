/*
 * direct_classify.h - which blocks of a relation may be read from its files.
 *
 * One per query. A block is direct if the relation allows it at all, the copy
 * of the visibility map calls it all-visible, and it is not dirty in shared
 * buffers. That alone proves nothing: after the daemon has read the block, it
 * must be confirmed (tb_direct_confirm) before anyone uses the bytes.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_VISIBILITY_DIRECT_CLASSIFY_H
#define TURBINE_PG_SOURCE_HEAP_VISIBILITY_DIRECT_CLASSIFY_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/buf.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "pg/source/heap/block_set.h"
#include "pg/source/heap/visibility/visibility_map.h"

typedef struct TbDirect TbDirect;

/* Whether the relation and its file are known to be older than the transaction: what a
 * parallel worker can not know of itself. */
extern bool tb_direct_created_before(Relation rel);

/* NULL: nothing of the relation, of which so many blocks will be read, may, or is
 * worth, being read directly. `for_cache`: small relations, and those of which nothing is
 * all-visible, are looked at so that their columns can be kept. `created_before`: what
 * tb_direct_created_before has said to the leader, if this is a parallel worker. */
extern TbDirect *tb_direct_begin(Relation rel, Snapshot snapshot, BlockNumber nblocks,
								 BlockNumber blocks_to_read, bool for_cache,
								 bool created_before);

/* Whether no block is to be read directly: the relation is a small one. */
extern bool tb_direct_is_small(const TbDirect *direct);

/* The part of the relation's blocks that the map calls all-visible. */
extern double tb_direct_share(const TbDirect *direct);

/*
 * What is known of the first `nblocks` blocks without looking at buffers, for cached
 * columns: the LSN of each map page, and a bit a block that is all-visible, and in `wanted`
 * (NULL: all). `lsn` has room for each map page, `bits` for each block. Returns how many
 * bits are set.
 */
extern uint64 tb_direct_export(const TbDirect *direct, BlockNumber nblocks,
							   const TbBlockSet *wanted, uint64 *lsn, uint8 *bits);

extern bool tb_direct_block(TbDirect *direct, BlockNumber block);

/* So many blocks will be asked for: where a sweep is cheaper, it is made at once. */
extern void tb_direct_expect_looks(TbDirect *direct, uint64 looks);

/* Whether the file has the block as it was at some moment since the classification began,
 * whatever the map says of it; false too where files are not read. */
extern bool tb_direct_is_on_file(TbDirect *direct, BlockNumber block);

/* The LSN of the block's page in shared buffers, looked up after the map; 0 if it is not
 * there. `buffer`: where it was seen lately, or InvalidBuffer; then where it was found. */
extern XLogRecPtr tb_direct_buffer_lsn(TbDirect *direct, BlockNumber block, Buffer *buffer);

/* The buffer where a block was seen, which may be another block's by now;
 * InvalidBuffer: not known. */
extern Buffer tb_direct_recent_buffer(const TbDirect *direct, BlockNumber block);

/* Whether the map calls the block all-visible, whatever the buffers have of it. */
extern bool tb_direct_all_visible(const TbDirect *direct, BlockNumber block);

/* The LSN of the map page that a block was classified under. */
extern XLogRecPtr tb_direct_lsn(const TbDirect *direct, BlockNumber block);

/*
 * After the blocks [block, block + count), all under one map page and all
 * classified as direct under `lsn`, have been read: unmoved[i] says whether
 * what was read of block + i is what the snapshot sees.
 */
extern void tb_direct_confirm(TbDirect *direct, XLogRecPtr lsn, BlockNumber block,
							  uint32 count, bool *unmoved);

#endif
