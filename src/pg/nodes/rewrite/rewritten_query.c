/*
 * rewritten_query.c - see rewritten_query.h. Called by the planner hook.
 *
 * Goes through all levels of a query. What of a level may be replaced, and by what, is said
 * by subquery_joins.c and union_aggregates.c. Must leave the query itself as it is.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "pg/compat/pg18.h"
#include "pg/nodes/rewrite/rewritten_query.h"
#include "pg/nodes/rewrite/subquery_joins.h"
#include "pg/nodes/rewrite/union_aggregates.h"

typedef struct Rewriter
{
	int replaced;
} Rewriter;

/* Inner levels first: what they keep may still be a condition of an outer one. */
static bool
replace_in(Node *node, Rewriter *rewriter)
{
	if (node == NULL)
		return false;
	check_stack_depth();
	if (!IsA(node, Query))
		return expression_tree_walker(node, replace_in, rewriter);
	tb_flatten_groups((Query *) node);
	(void) query_tree_walker((Query *) node, replace_in, rewriter, 0);
	rewriter->replaced += tb_join_subqueries((Query *) node);
	if (tb_aggregate_arms((Query *) node))
		rewriter->replaced++;
	return false;
}

/* Whether the query or one in its FROM or WITH has a subquery in an expression, or a set
 * operation. */
static bool
has_candidates(const Query *query)
{
	ListCell *lc;

	if (query->hasSubLinks || query->setOperations != NULL)
		return true;
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst(lc);

		if (rte->rtekind == RTE_SUBQUERY && has_candidates(rte->subquery))
			return true;
	}
	foreach(lc, query->cteList)
		if (has_candidates((Query *) lfirst_node(CommonTableExpr, lc)->ctequery))
			return true;
	return false;
}

static bool
find_replaceable(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (tb_may_join_subquery(node))
		return true;
	if (IsA(node, Query))
		return tb_may_aggregate_arms((Query *) node) ||
			query_tree_walker((Query *) node, find_replaceable, context, 0);
	return expression_tree_walker(node, find_replaceable, context);
}

Query *
tb_rewritten_query(Query *query)
{
	Rewriter rewriter = {0};
	Query	*copy;

	if (query->commandType != CMD_SELECT || !has_candidates(query) ||
		!find_replaceable((Node *) query, NULL))
		return NULL;
	copy = copyObject(query);
	(void) replace_in((Node *) copy, &rewriter);
	return rewriter.replaced > 0 ? copy : NULL;
}
