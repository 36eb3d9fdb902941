/*
 * partitions_input.h - the leaves of a stage's partitioned table as one input: a list of
 * inputs, of which those are read that are left once parameters and join tables are known.
 */
#ifndef TURBINE_PG_STAGE_PARTITIONS_INPUT_H
#define TURBINE_PG_STAGE_PARTITIONS_INPUT_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "pg/source/heap/heap_input.h"
#include "pg/source/input.h"

/* Of the node's stage of that number. Prunes by what is known when the executor starts.
 * Lives in the current memory context. */
extern TbInput *tb_partitions_input_make(CustomScanState *css, int stage, int eflags);

/* For EXPLAIN. */
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
