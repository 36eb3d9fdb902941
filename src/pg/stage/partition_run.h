/*
 * partition_run.h - the partitions of a stage's table when it runs: which of them
 * are left once parameters have values, how their tuples are laid out, what each
 * has delivered.
 */
#ifndef TURBINE_PG_PARTITION_RUN_H
#define TURBINE_PG_PARTITION_RUN_H

#include "postgres.h"

#include "executor/execPartition.h"
#include "nodes/execnodes.h"

#include "pg/files/file_table.h"
#include "pg/source/files/files_source.h"
#include "pg/source/heap/heap_source.h"
#include "pg/stage/brin_scan.h"
#include "pg/planner/join/pruning_keys.h"

/* A key of a join that prunes leaves. */
typedef struct TbPruningRun
{
	TbPruningKey key;
	AttrNumber	*leaf_attnums; /* one a leaf */
} TbPruningRun;

typedef struct TbPartitionRun
{
	EState				*estate;
	int					 nleaves; /* that were planned */
	Index				*rtis;	  /* of the leaves */
	int32				*leaf_layouts;
	int					 nlayouts;
	TbProgram		   **layouts;
	List			   **layout_params; /* lists of ExprState */
	TbBrinScan			*brins;			/* one a leaf; NULL: none has indexes */
	PartitionPruneState *prune;			/* NULL: nothing to prune by */
	int					 npruning_keys;
	TbPruningRun		*pruning_keys;
	List			   **constraints; /* of each leaf; valid where known is set */
	bool				*constraint_known;
	int					 nvalid;	  /* left when the executor started */
	int					*valid;		  /* indexes of leaves */

	/* Of the last run. */
	int					removed_by_join; /* of those that values of parameters had left */
	int					nread;
	int				   *read;			 /* indexes of leaves */
	TbPartStats		   *stats;			 /* one a leaf */
	const TbFileTable **files;			 /* one a leaf; NULL: it is a heap table */
	TbBlockSet		  **blocks;			 /* of each leaf: what is read; NULL: all */
} TbPartitionRun;

/* Prunes by what is known when the executor starts. */
extern TbPartitionRun *tb_partition_run_make(CustomScanState *css, int stage, int eflags);

/* At the start of a run: the files of leaves that are foreign tables, in the current
 * context. */
extern void tb_partition_run_list_files(TbPartitionRun *run);

/* Blocks of all leaves that are left; of files in place of blocks what is more than 0 if
 * they have rows. */
extern uint64 tb_partition_run_blocks(const TbPartitionRun *run);

/* Prunes by the values that parameters have now; they are those to be read, and their
 * indexes are asked which blocks of them, in the current context. */
extern void tb_partition_run_choose(TbPartitionRun *run);

/* Leaves out those chosen that cannot have a row whose key is in a join table: one
 * of `rows` rows, with these bounds. */
extern void tb_partition_run_prune(TbPartitionRun *run, const TbPruningRun *key,
								   uint64 rows, const TbKeyBounds *bounds);

/* Blocks of those chosen. */
extern uint64 tb_partition_run_chosen_blocks(const TbPartitionRun *run);

/* Those chosen that are files: how many, in an array of the current context. `table`: the
 * partitioned one. */
extern int tb_partition_run_file_parts(const TbPartitionRun *run, Relation table,
									   TbFilesPart **parts);

/* Completes the spec with those chosen that are heap tables. False if a layout's values
 * have no form. */
extern bool tb_partition_run_specify(const TbPartitionRun *run, ExprContext *econtext,
									 TbHeapInput *input);

/* Announces the layouts that a query may want. */
extern bool tb_partition_run_prepare(const TbPartitionRun *run, TbConnection *conn,
									 uint32 device, TbFailure *why);

/* What indexes have left out of those chosen, together; its index scan is NULL if no
 * leaf has any. */
extern TbBrinScan tb_partition_run_brin(const TbPartitionRun *run);

/* Takes what the heap tables among those chosen have delivered. NULL: there were none. */
extern void tb_partition_run_note(TbPartitionRun *run, const TbSource *source);

#endif
