/*
 * stage_order.h - the order in which the stages of a join run, and their child plans.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_STAGE_ORDER_H
#define TURBINE_PG_PLANNER_JOIN_STAGE_ORDER_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* TbStages in the order in which they run: each behind those whose tables it probes, and
 * the last one still the last. */
extern List *tb_order_stages(List *stages);

/* Gives the plans that the stages read a number each, as children of the node, of which the
 * first is the kept plan. */
extern void tb_number_sources(List *stages);

#endif
