/*
 * stage.h - one program of a node, planned: what the node carries.
 *
 * Filled by the planning of the nodes, packed into the plan by stage/plan_private.c, run by
 * stage/stage_run.c.
 */
#ifndef TURBINE_PG_PLANNER_PROGRAM_STAGE_H
#define TURBINE_PG_PLANNER_PROGRAM_STAGE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "pg/planner/block_index.h"
#include "pg/planner/cost.h"
#include "pg/planner/partitions.h"

/* Plain data: travels as bytes. */
typedef struct TbStageInfo
{
	Oid	   relid;		 /* the table; InvalidOid: rows of a plan */
	uint32 join_table;	 /* number of the table that it builds */
	int32  source_plan;	 /* rows of a plan: its index among the node's
						  * child plans; else -1 */
	int32  nsource_columns;
	int32  index_plan;	 /* the same of the index scan that tells which
						  * blocks of the table are read; -1: all are */
	bool   needed;		 /* no row here: no row of the whole query */
	bool   late_filters; /* rows that come out have not met all filters yet */
	int32  nleaves;		 /* of a partitioned table; else 0 */
	int32  pruned;		 /* partitions that are not among them */
	int32  pruner;		 /* what prunes leaves when values are known: its index
						  * among the child plans; -1: nothing */
	TbWork work;
} TbStageInfo;

/* By which leaf partitions are left out once the join table is built. */
typedef struct TbPruningKey
{
	uint32	   join_table; /* number of the join table */
	uint32	   key;		   /* which of its keys */
	AttrNumber attnum;	   /* of the partitioned table: what equals it */
} TbPruningKey;

typedef struct TbStage
{
	TbStageInfo	  info;
	TbProgram	 *program;
	List		 *params;		  /* Expr */
	Path		 *source;		  /* rows of a plan: its path */
	List		 *source_columns; /* int: of the plan's columns (from 0) those that
								   * are sent, in the program's order */
	TbBlockIndex *block_index;	  /* or NULL */

	/* Of a partitioned table. */
	const TbPartitions *partitions;
	List			   *layouts;	  /* TbLayoutProgram */
	List			   *leaf_layouts; /* int, one a leaf: 0 or a layout's number from 1 */
	Path			   *pruner;		  /* or NULL */
	List *leaf_indexes;		/* TbBlockIndex or NULL, one a leaf; NIL: none has one */
	List *pruning_keys;		/* TbPruningKey: by join tables, once they are built */
	List *leaf_index_plans; /* int: their indexes among the child plans, or -1 */

	/* For EXPLAIN, and to find the table: all nodes with Vars. */
	Var	 *reference;	   /* some column of the probe side */
	List *filters;		   /* Expr */
	List *index_condition; /* Expr */
	List *joins;		   /* TbStageJoin */
} TbStage;

typedef struct TbStageJoin
{
	List *keys;	  /* Expr: clauses that became keys */
	List *others; /* Expr: the other conditions */
} TbStageJoin;

/* The paths that a node needs besides its kept one, in the order in which the stages
 * number them: of rows that come from a plan, of index scans, and what prunes
 * partitions. */
extern List *tb_stage_sources(List *stages);

/* Of the child plans that PostgreSQL made of them, `plans` (the first is the kept one),
 * index scans lose what is above the indexes; their conditions are noted. */
extern List *tb_stage_plans(List *stages, List *plans);

/* Of all stages, from the start of the first until the last chunk is done. */
extern Cost tb_cost_stages(List *stages);

/* The device that runs a stage's program: an index of turbined's. `sent`: its rows are
 * those of a plan. */
extern uint32 tb_stage_device(const TbStageInfo *info, bool sent, bool builds);

/* Of what a stage's program is charged, what its time leaves out: a part of its
 * compilation, or `later`, once all that can be is cached and all code is known, that and
 * reading. */
extern double tb_stage_overcharged_us(const TbWork *work, bool is_last, bool later);

/* What `cost`, which contains that of the stages, is in microseconds: without what the user
 * has disabled, and with a part of each compilation, since code is kept. `later`: once all
 * that can be is cached, and all code is known. */
extern double tb_stages_us(PlannerInfo *root, List *stages, Cost cost, bool later);

/* Whether all that the stages read stays in memory, as far as PostgreSQL knows. */
extern bool tb_stages_stay_in_memory(List *stages);

/* Whether what the stages read stays in the column cache, once it is there. */
extern bool tb_stages_stay_cached(List *stages);

/* Added for what the stages do and the user has disabled: sequential scans, joins
 * by hashing or by trying all rows. */
extern Cost tb_cost_disabled(List *stages);

#endif
