/*
 * gpu_distinct.h - GpuDistinct: aggregates with DISTINCT of several arguments, or over
 * grouping sets.
 *
 * Each argument is a part: a GpuPreAgg that groups by the keys of one set and folds the
 * values of this argument. Plain aggregates are a part of their own. GpuDistinct runs the
 * parts one after the other and joins their groups by the keys.
 *
 *   plan.c           the parts, their paths, the plan
 *   exec.c           runs the parts, set by set
 *   joined_groups.c  the groups of one set, joined
 */
#ifndef TURBINE_PG_NODES_DISTINCT_GPU_DISTINCT_H
#define TURBINE_PG_NODES_DISTINCT_GPU_DISTINCT_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "pg/nodes/distinct/joined_groups.h"

/* What the node is to an aggregation. */
typedef enum TbDistinctUse
{
	TB_DISTINCT_NO_USE,
	TB_DISTINCT_CHOICE, /* one argument under several FILTERs: a GpuPreAgg alone can do it,
						 * but only the backend can fold its groups */
	TB_DISTINCT_NEEDED	/* several arguments, or one over grouping sets */
} TbDistinctUse;

extern TbDistinctUse tb_gpu_distinct_use(PlannerInfo *root, const RelOptInfo *output_rel,
										 const GroupPathExtraData *extra);

/* Of an aggregation that may use it: whether a path was added. If it is needed and was not
 * added, the reason is noted. */
extern bool tb_gpu_distinct_add_path(PlannerInfo *root, RelOptInfo *input_rel,
									 RelOptInfo *output_rel, GroupPathExtraData *extra,
									 TbDistinctUse use);
extern void tb_gpu_distinct_init(void);

/* exec.c */
extern Node *tb_gpu_distinct_create_state(CustomScan *plan);

/*
 * The list in custom_private. The scan tuple has a column for each grouping expression,
 * then the aggregates and the columns that depend on keys, then GROUPING() calls. The child
 * plans are the parts of the first set, then those of the second, and so on.
 */
typedef enum TbDistinctPrivate
{
	TB_DISTINCT_COLUMNS,   /* a list of ints for each child plan: the columns of the scan
							* tuple that its columns become */
	TB_DISTINCT_SETS,	   /* a list of ints for each set: its keys, from 0 */
	TB_DISTINCT_EQUAL,	   /* OID list, one a key: equality operators */
	TB_DISTINCT_LESS,	   /* the same: sort operators */
	TB_DISTINCT_HASHABLE,  /* int list of one: whether all keys can be hashed */
	TB_DISTINCT_FUNCTIONS, /* a list of ints for each set: what each GROUPING() is */
} TbDistinctPrivate;

typedef struct TbDistinctState
{
	CustomScanState css;

	/* Of the plan. */
	int			 nsets;
	int			 nparts;  /* of each set */
	AttrNumber **columns; /* one a child: those that its columns become */
	TbGroupKeys *keys;	  /* one a set */
	List		*functions;

	/* Of the run. */
	int				set;	/* whose groups are returned; before the first: -1 */
	TbJoinedGroups *groups;
	TupleTableSlot *row;	/* of a part, as a scan tuple */
	uint64			joined;
	bool			sorted; /* the groups of some set did not fit in memory */
} TbDistinctState;

#endif
