/*
 * distinct_fold.h - groups of GROUP BY out of those that a device has made with the
 * argument of aggregates with DISTINCT as one more key, by the engine.
 */
#ifndef TURBINE_PG_NODES_SORT_DISTINCT_FOLD_H
#define TURBINE_PG_NODES_SORT_DISTINCT_FOLD_H

#include "postgres.h"

#include "pg/nodes/sort/input.h"
#include "pg/nodes/results/result_plan.h"

/* Whether the engine can do it. */
extern bool tb_distinct_fold_qualifies(const TbAggAnalysis *groups, const char **reason);

/* Adds the pass that does it, and has the input's outputs read its columns. */
extern void tb_distinct_fold_add(TbSortInput *input, TbResultBuilder *builder);

#endif
