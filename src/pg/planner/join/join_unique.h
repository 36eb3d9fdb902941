/*
 * join_unique.h - whether a row can find one match at most.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_JOIN_UNIQUE_H
#define TURBINE_PG_PLANNER_JOIN_JOIN_UNIQUE_H

#include "pg/planner/join/join_tree.h"

/*
 * PostgreSQL's proof for a join of the stream that has the columns of `outer` with the
 * rows of the tree. It holds of the conditions that equate something with the join
 * table; the caller must make keys of all of them.
 */
extern bool tb_join_is_unique(PlannerInfo *root, Relids outer, const TbJoinTree *inner,
							  TbJoinKind kind, List *conditions);

#endif
