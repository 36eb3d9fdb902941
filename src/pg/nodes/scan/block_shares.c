/*
 * block_shares.c - see block_shares.h.
 *
 * Owns nothing: the memory is the plan's. Called by exec.c in the leader and in workers.
 * Must not wait for anybody.
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "storage/spin.h"

#include "pg/nodes/scan/block_shares.h"
#include "pg/source/heap/visibility/direct_classify.h"

/* A participant, so that unequal ones end together. */
#define SHARES_EACH 3

/* Asking the service for a share takes some 0.3 ms, in which PostgreSQL reads 150 blocks.
 */
#define LEAST_BLOCKS 1024

void
tb_block_shares_init(TbBlockShares *shares, Relation rel, int participants)
{
	BlockNumber count = (BlockNumber) participants * SHARES_EACH;

	memset(shares, 0, sizeof(*shares));
	shares->nblocks = RelationGetNumberOfBlocks(rel);
	shares->blocks = Max(shares->nblocks / count + 1, LEAST_BLOCKS);
	shares->created_before = tb_direct_created_before(rel);
	pg_atomic_init_u32(&shares->next, 0);
	SpinLockInit(&shares->mutex);
}

void
tb_block_shares_reset(TbBlockShares *shares)
{
	pg_atomic_write_u32(&shares->next, 0);
}

bool
tb_block_shares_take(TbBlockShares *shares, BlockNumber *first, BlockNumber *end)
{
	uint64 begin = (uint64) pg_atomic_fetch_add_u32(&shares->next, 1) * shares->blocks;

	if (begin >= shares->nblocks)
		return false;
	*first = (BlockNumber) begin;
	*end = (BlockNumber) Min(begin + shares->blocks, (uint64) shares->nblocks);
	return true;
}

void
tb_block_shares_note(TbBlockShares *shares, const TbBlockStats *stats, uint64 rows_removed)
{
	SpinLockAcquire(&shares->mutex);
	shares->stats.buffered += stats->buffered;
	shares->stats.direct += stats->direct;
	shares->stats.cached += stats->cached;
	shares->stats.excluded += stats->excluded;
	shares->stats.moved += stats->moved;
	shares->rows_removed += rows_removed;
	SpinLockRelease(&shares->mutex);
}

void
tb_block_shares_sum(TbBlockShares *shares, TbBlockStats *stats, uint64 *rows_removed)
{
	SpinLockAcquire(&shares->mutex);
	*stats = shares->stats;
	*rows_removed = shares->rows_removed;
	SpinLockRelease(&shares->mutex);
}
