/*
 * likely_groups.h - the first groups of an order that only PostgreSQL computes: the engine
 * drops those that are surely not among them.
 */
#ifndef TURBINE_PG_NODES_SORT_LIKELY_GROUPS_H
#define TURBINE_PG_NODES_SORT_LIKELY_GROUPS_H

#include "postgres.h"

#include "pg/nodes/sort/gpu_sort.h"

/* Adds estimates of HAVING and of the order to the result plan, and the limit. False, with
 * *reason, if the engine cannot tell. */
extern bool tb_likely_groups_add(PlannerInfo *root, const TbSortPlan *plan, uint64 limit,
								 TbResultBuilder *builder, const char **reason);

#endif
