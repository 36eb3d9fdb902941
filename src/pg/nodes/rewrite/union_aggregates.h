/*
 * union_aggregates.h - aggregation over a UNION ALL, written as an aggregation of each arm
 * and one of their groups.
 */
#ifndef TURBINE_PG_NODES_REWRITE_UNION_AGGREGATES_H
#define TURBINE_PG_NODES_REWRITE_UNION_AGGREGATES_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* Whether a level of a query reads a UNION ALL and nothing else, and may be one of those.
 */
extern bool tb_may_aggregate_arms(const Query *query);

/* Changes the level in place, or returns false and has changed nothing. */
extern bool tb_aggregate_arms(Query *query);

#endif
