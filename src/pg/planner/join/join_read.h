/*
 * join_read.h - reads what PostgreSQL would join as trees (join_tree.h), in the shape in
 * which they run.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_JOIN_READ_H
#define TURBINE_PG_PLANNER_JOIN_JOIN_READ_H

#include "pg/planner/join/join_tree.h"

/* A table alone. NULL, with *reason set, if devices cannot read it. */
extern TbJoinTree *tb_join_tree_of_table(PlannerInfo *root, RelOptInfo *rel,
										 const char **reason);

/* What the path that was noted for a join computes. NULL, with *reason set, if it is
 * nothing that can be proved to be such a tree. */
extern TbJoinTree *tb_join_tree_noted(PlannerInfo *root, RelOptInfo *joinrel,
									  const char **reason);

/* "join of a, b", for notes; NULL if nobody asked for notes. */
extern const char *tb_join_part(PlannerInfo *root, const char *what, Relids relids);

#endif
