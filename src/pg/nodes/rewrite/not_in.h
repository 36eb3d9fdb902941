/*
 * not_in.h - NOT IN of a subquery, as joins.
 *
 *   x NOT IN (SELECT y FROM s)
 * is true if and only if
 *   NOT EXISTS (SELECT FROM s WHERE y = x)
 *     AND (c.n1 = 0 OR (c.n1 = c.n2 AND x IS NOT NULL))
 * with c, (SELECT count(*) AS n1, count(y) AS n2 FROM s), as one more table of one row. The
 * first is an antijoin; the second is left out if neither x nor y is ever NULL.
 */
#ifndef TURBINE_PG_NODES_REWRITE_NOT_IN_H
#define TURBINE_PG_NODES_REWRITE_NOT_IN_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* Whether the condition is NOT IN of a subquery. */
extern bool tb_is_not_in(const Node *condition);

/* Conditions that are true of the same rows as this one of the query's WHERE, none of which
 * may raise an error; may add a table to the query. NIL: it is none that can be replaced.
 */
extern List *tb_not_in_by_joins(Query *query, Node *condition);

#endif
