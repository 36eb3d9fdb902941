/*
 * rewritten_query.h - a query written another way: joins in place of subqueries.
 */
#ifndef TURBINE_PG_NODES_REWRITE_REWRITTEN_QUERY_H
#define TURBINE_PG_NODES_REWRITE_REWRITTEN_QUERY_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* A query that returns the same, with joins in place of subqueries, in it and in all of its
 * own subqueries; NULL: it has none that can be replaced. Leaves the query as it is. */
extern Query *tb_rewritten_query(Query *query);

#endif
