/*
 * heap_input.h - what of which heap relations a program reads: the input of a heap
 * source or a heap scan. Plain data; what it points to is the caller's until the end.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_HEAP_INPUT_H
#define TURBINE_PG_SOURCE_HEAP_HEAP_INPUT_H

#include "postgres.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "turbine/params.h"
#include "turbine/program.h"

#include "pg/source/heap/block_set.h"

/* One of the relations that a partitioned table is read as. */
typedef struct TbHeapLeaf
{
	Relation		  rel;
	uint32			  layout; /* 0: the program's own; else 1 + index into the
							   * input's layouts */
	const TbBlockSet *blocks; /* those that are read; NULL: all */
} TbHeapLeaf;

/* The program's columns as they lie in other tuples; see LAYOUT in wire.h. */
typedef struct TbHeapLayout
{
	const TbProgram	   *program;
	const TbParamBlock *params;
} TbHeapLayout;

typedef struct TbHeapInput
{
	Relation			rel;
	Snapshot			snapshot;
	const TbBlockSet   *blocks;		   /* of the table: those that are read; NULL: all */
	uint64				attributes;	   /* that are decoded: TbAttributes */
	const TbHeapLeaf   *parts;		   /* of a partitioned table, not for ROWS: what is
										* read in its place. NULL: the table itself */
	int					nparts;
	bool				beside_others; /* the query has input besides */
	const TbHeapLayout *layouts;
	int					nlayouts;
	double				engine_us; /* of processors, that computing takes in sum */
	bool in_parallel_mode;		   /* all of the statement: otherwise parallel workers
									* do not feed ROWS */
	bool created_before;		   /* in a parallel worker: the leader knows that the table
									* is older than its transaction */
} TbHeapInput;

/* What happened to one part: a leaf, or the table as the only one. */
typedef struct TbPartStats
{
	uint64 blocks_buffered;
	uint64 blocks_direct;
	uint64 blocks_kept; /* buffered, and cached since */
	uint64 rows;		/* read */
} TbPartStats;

#endif
