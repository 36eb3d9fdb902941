/*
 * hash_join_order.h - which side PostgreSQL's hash joins ask for a row first, where their
 * outer side is one of our nodes.
 */
#ifndef TURBINE_PG_NODES_HOOKS_HASH_JOIN_ORDER_H
#define TURBINE_PG_NODES_HOOKS_HASH_JOIN_ORDER_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * The executor builds the table first if the outer side's first row seems dear, and a
 * scan of ours starts late: errors of the inner side would be raised where, without us,
 * no outer row gets there. Such outer sides lose what our scans and joins add to their
 * startup cost, kept plans included. Costs decide nothing else in the executor.
 */
extern void tb_hash_join_order(PlannedStmt *stmt);

#endif
