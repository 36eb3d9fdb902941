/*
 * join_order.h - the order of the joins that one stream goes through.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_JOIN_ORDER_H
#define TURBINE_PG_PLANNER_JOIN_JOIN_ORDER_H

#include "postgres.h"

#include "pg/planner/join/join_tree.h"

/* The joins (TbTreeJoin) of a stream that has the columns of `joined` already: those
 * that drop most rows first. The list is new, the joins are the same. */
extern List *tb_joins_in_order(const List *joins, Relids joined);

#endif
