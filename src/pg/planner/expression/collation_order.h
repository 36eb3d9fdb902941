/*
 * collation_order.h - whether a collation orders text by its bytes.
 */
#ifndef TURBINE_PG_PLANNER_EXPRESSION_COLLATION_ORDER_H
#define TURBINE_PG_PLANNER_EXPRESSION_COLLATION_ORDER_H

#include "postgres.h"

/*
 * Whether comparing by this collation is comparing the texts' bytes. True for
 * "C", "POSIX" and ucs_basic, and for C.UTF-8 of the C library where that has
 * no rules of its own; the default collation is the database's. False for no
 * collation at all and for every collation of ICU.
 */
extern bool tb_collation_orders_by_bytes(Oid collation);

#endif
