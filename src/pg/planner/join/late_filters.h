/*
 * late_filters.h - filters of a probe side that its program lacks, so that they are applied
 * to what comes out of it.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_LATE_FILTERS_H
#define TURBINE_PG_PLANNER_JOIN_LATE_FILTERS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* Whether the filter must not be evaluated before one of these: their security level is
 * lower, and it is not leakproof. */
extern bool tb_must_follow_late_filters(const RestrictInfo *rinfo,
										const List		   *late_filters);

/* Estimated: how many rows there are before these filters for one that they let pass. */
extern double tb_late_filters_factor(PlannerInfo *root, List *late_filters);

#endif
