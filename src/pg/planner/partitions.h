/*
 * partitions.h - a partitioned table as one input: its leaf partitions that the
 * planner has not pruned, to be read by one program, one after the other.
 */
#ifndef TURBINE_PG_PLANNER_PARTITIONS_H
#define TURBINE_PG_PLANNER_PARTITIONS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* A partition that has rows of its own. */
typedef struct TbLeaf
{
	RelOptInfo *rel;
	Oid			relid;
	int			nattnums;
	AttrNumber *attnums; /* by the partitioned table's attnum - 1: its own; 0 of
						  * dropped columns */
} TbLeaf;

typedef struct TbPartitions
{
	List  *leaves;	  /* TbLeaf, in the order of the bounds */
	int	   pruned;	  /* partitions that the planner left out; one that is
					   * partitioned itself counts once */
	double pages;	  /* of all leaves, as are rows and the fraction of */
	double tuples;	  /* pages that are all-visible */
	double all_visible;
	bool   has_files; /* some are foreign tables over files */
} TbPartitions;

/* Whether the relation is a partitioned table of the query's. */
extern bool tb_is_partitioned(const RelOptInfo *rel, const RangeTblEntry *rte);

/* Whether the table, or a partition of it that is partitioned and not pruned, is
 * partitioned by that column of the table's, otherwise than by its hash. */
extern bool tb_is_partitioned_by(PlannerInfo *root, const RelOptInfo *rel,
								 AttrNumber attnum);

extern TbPartitions *tb_partitions_of(PlannerInfo *root, RelOptInfo *rel);

/* PostgreSQL's plan for the same rows: sequential scans appended. */
extern Path *tb_partitions_append(PlannerInfo *root, RelOptInfo *rel,
								  const TbPartitions *partitions);

/* The same, with the target computed by each scan. */
extern Path *tb_partitions_append_target(PlannerInfo *root, RelOptInfo *rel,
										 const TbPartitions *partitions,
										 PathTarget			*target);

/*
 * The first path, for a plan that is never run: it carries what PostgreSQL prunes
 * partitions by when the values of parameters are known. NULL if there is nothing
 * to prune by.
 */
extern Path *tb_partitions_pruner(PlannerInfo *root, RelOptInfo *rel,
								  const TbPartitions *partitions);

#endif
