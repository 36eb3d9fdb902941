/*
 * correlated_aggregates.h - scalar subqueries that aggregate what belongs to an outer row,
 * as joins with all groups.
 *
 *   SELECT ... FROM o WHERE o.x < (SELECT 0.2 * avg(i.y) FROM i WHERE i.k = o.k)
 * is
 *   SELECT ... FROM o LEFT JOIN (SELECT i.k, 0.2 * avg(i.y) AS v FROM i GROUP BY i.k) g
 *     ON g.k = o.k WHERE o.x < g.v
 * which the engine can do, and PostgreSQL runs for each outer row as it was written.
 */
#ifndef TURBINE_PG_CORRELATED_AGGREGATES_H
#define TURBINE_PG_CORRELATED_AGGREGATES_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* The query with joins in place of such subqueries, in it and in all of its own subqueries,
 * as a copy; NULL: it has none. */
extern Query *tb_join_correlated_aggregates(Query *query);

#endif
