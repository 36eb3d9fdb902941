/*
 * grouping_sets.h - the grouping sets of a GpuPreAgg as they travel in its plan.
 */
#ifndef TURBINE_PG_NODES_AGGREGATE_GROUPING_SETS_H
#define TURBINE_PG_NODES_AGGREGATE_GROUPING_SETS_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "pg/nodes/aggregate/set_fold.h"

/* Adds them to custom_private (stage/plan_private.h), which is returned. */
extern List *tb_grouping_sets_pack(List *private, const TbGroupingSets *sets);

/* NULL if there are none; what it points to is palloc'd. */
extern TbGroupingSets *tb_grouping_sets_unpack(const CustomScan *plan);

#endif
