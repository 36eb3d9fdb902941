/*
 * subquery_joins.h - subqueries of one level of a query, written as joins.
 *
 * A scalar subquery that aggregates what belongs to an outer row is a join with all groups:
 *   SELECT ... FROM o WHERE o.x < (SELECT 0.2 * avg(i.y) FROM i WHERE i.k = o.k)
 * is
 *   SELECT ... FROM o LEFT JOIN (SELECT i.k, 0.2 * avg(i.y) AS v FROM i GROUP BY i.k) g
 *     ON g.k = o.k WHERE o.x < g.v
 * which the engine can do, and PostgreSQL runs for each outer row as it was written.
 *
 *   x NOT IN (SELECT y FROM s)
 * is true if and only if
 *   NOT EXISTS (SELECT FROM s WHERE y = x)
 *     AND (c.n1 = 0 OR (c.n1 = c.n2 AND x IS NOT NULL))
 * with c, (SELECT count(*) AS n1, count(y) AS n2 FROM s), as one more table of one row. The
 * first is an antijoin; the second is left out if neither x nor y is ever NULL.
 */
#ifndef TURBINE_PG_NODES_REWRITE_SUBQUERY_JOINS_H
#define TURBINE_PG_NODES_REWRITE_SUBQUERY_JOINS_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* Whether an expression looks like such a subquery, or like NOT IN of one. */
extern bool tb_may_join_subquery(const Node *node);

/* Replaces those of the level's WHERE and select list, in place; those of other levels are
 * theirs. Returns how many. */
extern int tb_join_subqueries(Query *query);

#endif
