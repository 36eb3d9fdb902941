/*
 * pruning_keys.h - keys of joins by whose values in a finished join table leaves of
 * the partitioned table that probes it can be left out.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_PRUNING_KEYS_H
#define TURBINE_PG_PLANNER_JOIN_PRUNING_KEYS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "turbine/program.h"

#include "pg/planner/join/join_tree.h"

typedef struct TbPruningKey
{
	uint32	   join_table; /* number of the join table */
	uint32	   key;		   /* which of its keys */
	AttrNumber attnum;	   /* of the partitioned table: what equals it */
} TbPruningKey;

/* Whether a row of the tree's probe side without a match at the join leaves no trace. */
extern bool tb_join_prunes(const TbJoinTree *tree, const TbTreeJoin *join);

/* Whether the probe side is partitioned by a column that is the outer side of an
 * equality, and the bounds of the inner side's values can be compared with it. */
extern bool tb_is_pruning_key(PlannerInfo *root, const TbJoinTree *tree, const Expr *outer,
							  const Expr *inner);

#endif
