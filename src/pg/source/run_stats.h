/*
 * run_stats.h - what a run over a source has done, for EXPLAIN and the counters.
 *
 * Filled by program_run.c and heap_scan.c from what the service said at the end and from
 * what the source counted; read by stage/explain.c. A figure of a new source goes
 * here.
 */
#ifndef TURBINE_PG_SOURCE_RUN_STATS_H
#define TURBINE_PG_SOURCE_RUN_STATS_H

#include "postgres.h"

#include "pg/conversation/service_query.h"

/* How blocks of heap relations were read. */
/* Why blocks were buffered, of relations that may be read otherwise. */
typedef enum TbWhyBuffered
{
	TB_WHY_NOT_ALL_VISIBLE, /* the map does not say so; they may be cached now */
	TB_WHY_DIRTY,			/* in shared buffers, so that the file is older */
	TB_WHY_CHANGED,			/* since their columns were cached */
	TB_WHY_UNDECIDED, /* a transaction that their rows depend on runs, or is not seen */
	TB_WHY_NO_LSN,	  /* not all-visible, and never logged: wal_level = minimal */
	TB_WHY_COUNT
} TbWhyBuffered;

typedef struct TbBlockStats
{
	uint64 buffered;
	uint64 why[TB_WHY_COUNT]; /* of these */
	uint64 direct;
	uint64 cached;			  /* not read: their columns were kept */
	uint64 excluded;		  /* of the cached ones, by least and greatest values */
	uint64 moved;			  /* direct, then read again: they or others of their
							   * chunk had moved */
} TbBlockStats;

/* Segments of cached columns; the blocks of those left out are excluded ones. */
typedef struct TbSegmentStats
{
	uint64 taken;
	uint64 by_filter; /* of these, left out: no row passes */
	uint64 by_join;	  /* no row has a match; service.done says what an order has left out */
} TbSegmentStats;

/* Parallel workers that copied pages. */
typedef struct TbFeederStats
{
	uint32 planned;
	uint32 launched;
	uint64 blocks; /* copied by workers; blocks.buffered counts them too */
} TbFeederStats;

typedef struct TbRunStats
{
	TbServiceStats service;
	TbBlockStats   blocks;
	TbSegmentStats segments;
	TbFeederStats  feeders;
	uint64		   files;			 /* of columns; service.done tells of their batches */
	uint64		   rows_deferred;
	uint64		   undecided;		 /* rows that devices leave to PostGIS */
	uint64		   rows_excluded;	 /* ROWS: with their blocks */
	uint64		   chunks_evaluated; /* ROWS: by the node */
} TbRunStats;

/* Adds them to the counters of turbine.stat_queries, once a run. */
extern void tb_run_stats_count(const TbRunStats *stats);

/* Adds what other reads of the same run did. */
extern void tb_block_stats_add(TbBlockStats *to, const TbBlockStats *stats);

#endif
