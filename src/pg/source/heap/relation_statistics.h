/*
 * relation_statistics.h - what pg_stat_user_tables and pg_statio_user_tables count of our
 * scans. Blocks that went through shared buffers PostgreSQL has counted itself.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_RELATION_STATISTICS_H
#define TURBINE_PG_SOURCE_HEAP_RELATION_STATISTICS_H

#include "postgres.h"

#include "executor/instrument.h"
#include "pgstat.h"
#include "utils/rel.h"

#include "pg/compat/pg16.h"

/* Rows that a sequential scan read, however they were read. */
static inline void
tb_count_rows_read(Relation rel, uint64 rows)
{
	if (pgstat_should_count_relation(rel))
		TB_TABLE_COUNT(rel, tuples_returned) += rows;
}

/* A block that was read from its file: heap_blks_read. */
static inline void
tb_count_direct_block(Relation rel)
{
	pgstat_count_buffer_read(rel);
	/* EXPLAIN (BUFFERS) and pg_stat_statements: as if a buffer had been filled. */
	pgBufferUsage.shared_blks_read++;
}

/* Blocks whose columns were cached: heap_blks_hit, for the query needed them and no file
 * was read. */
static inline void
tb_count_cached_blocks(Relation rel, uint64 blocks)
{
	if (!pgstat_should_count_relation(rel))
		return;
	TB_TABLE_COUNT(rel, blocks_fetched) += blocks;
	TB_TABLE_COUNT(rel, blocks_hit) += blocks;
}

#endif
