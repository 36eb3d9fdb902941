/*
 * fold_estimate.h - what it takes to fold groups to those of grouping sets (set_fold.h).
 */
#ifndef TURBINE_PG_NODES_AGGREGATE_FOLD_ESTIMATE_H
#define TURBINE_PG_NODES_AGGREGATE_FOLD_ESTIMATE_H

#include "pg/nodes/aggregate/gpu_preagg.h"

/* Fills in `folded` and `folded_bytes`, of groups that have been estimated. */
extern void tb_estimate_folding(PlannerInfo *root, TbAggAnalysis *analysis);

#endif
