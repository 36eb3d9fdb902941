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
#ifndef TURBINE_PG_NODES_REWRITE_CORRELATED_AGGREGATES_H
#define TURBINE_PG_NODES_REWRITE_CORRELATED_AGGREGATES_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"

/* One query whose subqueries are being replaced. */
typedef struct TbRewrittenLevel
{
	Query *query;
	List  *demanded; /* conditions that may be asked of groups in advance */
	List  *joins;	 /* JoinExpr without a left side, for what was replaced */
} TbRewrittenLevel;

/* The expression of the level with columns in place of such subqueries; those of other
 * levels are theirs. */
extern Node *tb_join_correlated_aggregates(Node *node, TbRewrittenLevel *level);

/* Whether it looks like one that is replaced. */
extern bool tb_is_correlated_aggregate(const SubLink *link);

/* Whether anything in it refers to a query around it. */
extern bool tb_query_refers_outside(Query *query);

#endif
