/*
 * feeder_count.h - how many parallel workers are worth to help a backend with the
 * blocks that only processes of PostgreSQL can read.
 *
 * The one rule, for the planner, which guesses, and for the query, which knows.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_FEEDERS_FEEDER_COUNT_H
#define TURBINE_PG_SOURCE_HEAP_FEEDERS_FEEDER_COUNT_H

#include "postgres.h"

/* PostgreSQL's cost of 1 in microseconds: see cost.c. */
#define TB_US_PER_UNIT 7.0

typedef struct TbFeederNeed
{
	double buffered;		 /* blocks */
	double page_us;			 /* each, by one process: tb_buffered_page_us */
	double engine_us;		 /* what processors do with them besides, in sum */
	int	   processors;
	int	   parallel_workers; /* the table's storage parameter; -1: not set */
} TbFeederNeed;

/* A page through the buffer manager, with visibility checks, of a table of which that
 * part is in shared buffers. */
extern double tb_buffered_page_us(double resident);

/* That part of a table of so many blocks, as is likely. */
extern double tb_likely_resident(double table_blocks);

/* At most max_parallel_workers_per_gather. */
extern int tb_feeder_count(const TbFeederNeed *need);

/* Until all is fed and computed, so many feeders helping the backend. */
extern double tb_feeding_us(const TbFeederNeed *need, int feeders);

#endif
