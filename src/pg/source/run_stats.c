/*
 * run_stats.c - see run_stats.h. Called at the end of every run.
 *
 * Owns nothing: the counters are in shared memory.
 */
#include "postgres.h"

#include "pg/shmem/query_counters.h"
#include "pg/source/run_stats.h"

void
tb_run_stats_count(const TbRunStats *stats)
{
	Assert(stats->feeders.blocks <= stats->blocks.buffered);
	tb_stat_add(TB_COUNTER_CHUNKS_EVALUATED, stats->chunks_evaluated);
	tb_stat_add(TB_COUNTER_ROWS_DEFERRED, stats->rows_deferred);
	tb_stat_add(TB_COUNTER_ROWS_UNDECIDED, stats->undecided);
	tb_stat_add(TB_COUNTER_BLOCKS_BUFFERED, stats->blocks.buffered);
	tb_stat_add(TB_COUNTER_BLOCKS_DIRECT, stats->blocks.direct);
	tb_stat_add(TB_COUNTER_BLOCKS_CACHED, stats->blocks.cached);
	tb_stat_add(TB_COUNTER_BLOCKS_MOVED, stats->blocks.moved);
	tb_stat_add(TB_COUNTER_BLOCKS_FED, stats->feeders.blocks);
}

void
tb_block_stats_add(TbBlockStats *to, const TbBlockStats *stats)
{
	to->buffered += stats->buffered;
	for (int i = 0; i < TB_WHY_COUNT; i++)
		to->why[i] += stats->why[i];
	to->direct += stats->direct;
	to->cached += stats->cached;
	to->excluded += stats->excluded;
	to->moved += stats->moved;
}
