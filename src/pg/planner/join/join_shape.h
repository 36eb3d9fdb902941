/*
 * join_shape.h - in which order tables are joined, and which of them before others.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_JOIN_SHAPE_H
#define TURBINE_PG_PLANNER_JOIN_JOIN_SHAPE_H

#include "pg/planner/join/join_tree.h"

/* A tree that computes the same as `read`, which has PostgreSQL's shape, and costs least.
 * Its rows are estimated. */
extern TbJoinTree *tb_join_tree_shape(PlannerInfo *root, const TbJoinTree *read);

#endif
