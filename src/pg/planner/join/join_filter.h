/*
 * join_filter.h - join tables that are finished filter the build sides after them.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_JOIN_FILTER_H
#define TURBINE_PG_PLANNER_JOIN_JOIN_FILTER_H

#include "pg/planner/join/join_tree.h"

/*
 * Adds SEMI joins to the build sides of an estimated tree, with join tables that are
 * finished before, where that is estimated to save time. Such a join is `shared`: its inner
 * tree is that of another join, whose table it probes, and its conditions are all keys of
 * that table, in their order.
 */
extern void tb_join_tree_add_filters(PlannerInfo *root, TbJoinTree *tree);

#endif
