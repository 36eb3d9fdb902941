/*
 * block_shares.h - a table's blocks, shared among the participants of a parallel plan.
 *
 * Runs of blocks, some for each participant, so that whoever is through first takes
 * another. Lies in the plan's dynamic shared memory. The leader makes it before workers
 * start, or before they start anew; then anybody takes shares.
 */
#ifndef TURBINE_PG_NODES_SCAN_BLOCK_SHARES_H
#define TURBINE_PG_NODES_SCAN_BLOCK_SHARES_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/block.h"
#include "utils/relcache.h"

#include "pg/source/run_stats.h"

typedef struct TbBlockShares
{
	BlockNumber		 nblocks;		 /* of the table, when it was made */
	BlockNumber		 blocks;		 /* of a share; the last may have fewer */
	bool			 created_before; /* TbHeapInput */
	pg_atomic_uint32 next;			 /* share */

	/* For EXPLAIN ANALYZE: of shares that are through. */
	slock_t		 mutex;
	TbBlockStats stats;
	uint64		 rows_removed;
} TbBlockShares;

/* By the leader, of so many participants. */
extern void tb_block_shares_init(TbBlockShares *shares, Relation rel, int participants);

/* As if no share had been taken. */
extern void tb_block_shares_reset(TbBlockShares *shares);

/* The next share; false: there is none left. */
extern bool tb_block_shares_take(TbBlockShares *shares, BlockNumber *first,
								 BlockNumber *end);

/* What was done with a share. */
extern void tb_block_shares_note(TbBlockShares *shares, const TbBlockStats *stats,
								 uint64 rows_removed);

/* What was done with all that are through. */
extern void tb_block_shares_sum(TbBlockShares *shares, TbBlockStats *stats,
								uint64 *rows_removed);

#endif
