/*
 * regroup.h - the groups of GROUP BY out of those that have the key of DISTINCT besides,
 * and the groups of several grouping sets out of those of all keys, by a second program of
 * the engine.
 *
 * As set_fold.h in the backend and nodes/sort/distinct_fold.h below an order, but with all
 * threads, and with nothing that comes back except what is returned.
 */
#ifndef TURBINE_PG_NODES_AGGREGATE_REGROUP_H
#define TURBINE_PG_NODES_AGGREGATE_REGROUP_H

#include "postgres.h"

#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/aggregate/second_program.h"

/* NULL if there is neither DISTINCT nor a set, if states can not be combined that way, or
 * if there are too few groups for a program of their own. */
extern TbSecondProgram *tb_regroup_make(const TbAggAnalysis *analysis);

#endif
