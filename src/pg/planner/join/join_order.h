/*
 * join_order.h - the order in which a stream's rows go through their joins.
 */
#ifndef TURBINE_PG_JOIN_ORDER_H
#define TURBINE_PG_JOIN_ORDER_H

#include "pg/planner/join/join_tree.h"

/* Puts the joins of the tree, and of the trees inside it, in order, and estimates
 * their rows anew. */
extern void tb_join_tree_order(TbJoinTree *tree);

#endif
