/*
 * stage_input.h - makes the input of a stage. The leaves of a partitioned table are one
 * input: a list of inputs, of which those are read that are left once parameters and join
 * tables are known.
 */
#ifndef TURBINE_PG_STAGE_STAGE_INPUT_H
#define TURBINE_PG_STAGE_STAGE_INPUT_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "pg/source/heap/heap_input.h"
#include "pg/source/input.h"

/* Of the node's stage of that number, in the current memory context. Raises PostgreSQL's
 * errors about a table that nobody may read yet: a materialized view without rows. */
extern TbInput *tb_stage_input_make(CustomScanState *css, int stage, int eflags);

/* Of partitions, for EXPLAIN. */
typedef struct TbPartitionsShown
{
	int	 nvalid;		  /* leaves left when the executor started */
	int	 nread;			  /* in the last run */
	int	 removed_by_join; /* in the last run, of those that values of parameters had left */
	bool prunes_by_joins;
	const int		  *read;  /* indexes of the leaves read */
	const Index		  *rtis;  /* of all leaves */
	const TbPartStats *stats; /* of all leaves, in the last run */
} TbPartitionsShown;

/* False: the input is of another kind. */
extern bool tb_partitions_input_shown(const TbInput *input, TbPartitionsShown *shown);

#endif
