/*
 * join_order.h - the order in which a stream's rows go through their joins.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_JOIN_ORDER_H
#define TURBINE_PG_PLANNER_JOIN_JOIN_ORDER_H

#include "pg/planner/join/join_tree.h"

/* The joins (TbTreeJoin) of a stream that has the columns of `joined` already: those
 * that drop most rows first. The list is new, the joins are the same. */
extern List *tb_joins_in_order(const List *joins, Relids joined);

#endif
