/*
 * dropped_groups.h - groups that surely do not pass HAVING need not come back from the
 * engine.
 */
#ifndef TURBINE_PG_NODES_AGGREGATE_DROPPED_GROUPS_H
#define TURBINE_PG_NODES_AGGREGATE_DROPPED_GROUPS_H

#include "postgres.h"

#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/results/result_columns.h"
#include "pg/nodes/results/result_plan.h"

/* Adds estimates of HAVING, and of filters of groups, to a result plan; PostgreSQL looks at
 * the groups that come back all the same. False: nothing of these can be estimated, or
 * groups that come back are not those that they hold of. */
extern bool tb_dropped_groups_add(const TbAggAnalysis *analysis, TbResultBuilder *builder);

/* The result plan that does nothing else; NULL: the engine can drop none. */
extern TbResultPlan *tb_dropped_groups_result(const TbAggAnalysis *analysis);

#endif
