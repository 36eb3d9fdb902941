/*
 * rewritten_query.c - see rewritten_query.h. Called by the planner hook.
 *
 * Goes through all levels of a query, and puts together what became of their conditions.
 * What may be replaced, and by what, is said by correlated_aggregates.c, not_in.c and
 * union_aggregates.c. A join may drop rows before a condition is evaluated, so conditions
 * are replaced only where none may raise an error.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

#include "pg/errors/may_raise.h"
#include "pg/nodes/rewrite/correlated_aggregates.h"
#include "pg/nodes/rewrite/not_in.h"
#include "pg/nodes/rewrite/rewritten_query.h"
#include "pg/nodes/rewrite/union_aggregates.h"

typedef struct Rewriter
{
	int replaced;
} Rewriter;

/* Whether no condition of the level, and nothing that it reads, tells how often it is
 * evaluated. */
static bool
may_drop_rows(const Query *query)
{
	ListCell *lc;

	if (!tb_query_is_harmless((Node *) query->jointree))
		return false;
	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst(lc);

		if (rte->rtekind == RTE_SUBQUERY && !tb_query_is_harmless((Node *) rte->subquery))
			return false;
	}
	return true;
}

/* Conditions with subqueries stand above the joins, the others below; those that refer to a
 * query outside stay where PostgreSQL looks for them when it makes a join of EXISTS. */
static void
replace_in_conditions(TbRewrittenLevel *level, List **above, List **below,
					  Rewriter *rewriter)
{
	FromExpr *from = level->query->jointree;
	List	 *conditions = make_ands_implicit((Expr *) from->quals);
	ListCell *lc;

	*below = conditions;
	if (!may_drop_rows(level->query))
		return;
	level->demanded = conditions;
	*below = NIL;
	foreach(lc, conditions)
	{
		int	  before = list_length(level->joins);
		List *instead = tb_not_in_by_joins(level->query, lfirst(lc));
		Node *condition = tb_join_correlated_aggregates(lfirst(lc), level);

		if (instead != NIL)
		{
			*below = list_concat(*below, instead);
			rewriter->replaced++;
		}
		else if (list_length(level->joins) > before || contain_vars_of_level(condition, 1))
			*above = lappend(*above, condition);
		else
			*below = lappend(*below, lfirst(lc));
	}
}

/* Whether a value of the select list is computed of a row of the tables. */
static bool
selects_rows(const Query *query)
{
	return !query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs &&
		query->groupClause == NIL && query->groupingSets == NIL &&
		query->distinctClause == NIL;
}

static void
replace_in_level(Query *query, Rewriter *rewriter)
{
	TbRewrittenLevel level = {.query = query};
	List			*above = NIL;
	List			*below;
	Node			*from;
	ListCell		*lc;

	if (query->commandType != CMD_SELECT || !query->hasSubLinks || query->rowMarks != NIL ||
		query->setOperations != NULL || query->jointree->fromlist == NIL)
		return;
	/* WHERE, then the select list. */
	replace_in_conditions(&level, &above, &below, rewriter);
	if (selects_rows(query))
		query->targetList = (List *)
			tb_join_correlated_aggregates((Node *) query->targetList, &level);
	/* No join: conditions are one again. */
	if (level.joins == NIL)
	{
		above = list_concat(above, below);
		query->jointree->quals = above == NIL ? NULL : (Node *) make_ands_explicit(above);
		return;
	}
	/* Stack the joins on FROM. */
	from = (Node *) makeFromExpr(query->jointree->fromlist,
								 below == NIL ? NULL : (Node *) make_ands_explicit(below));
	foreach(lc, level.joins)
	{
		JoinExpr *join = lfirst_node(JoinExpr, lc);

		join->larg = from;
		from = (Node *) join;
	}
	/* Their conditions stand above. */
	query->jointree = makeFromExpr(list_make1(from),
								   above == NIL ? NULL :
												  (Node *) make_ands_explicit(above));
	rewriter->replaced += list_length(level.joins);
}

/* Inner levels first: what they keep may still be a condition of an outer one. */
static bool
replace_in(Node *node, Rewriter *rewriter)
{
	if (node == NULL)
		return false;
	check_stack_depth();
	if (!IsA(node, Query))
		return expression_tree_walker(node, replace_in, rewriter);
	(void) query_tree_walker((Query *) node, replace_in, rewriter, 0);
	replace_in_level((Query *) node, rewriter);
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
	if (IsA(node, SubLink) && tb_is_correlated_aggregate((SubLink *) node))
		return true;
	if (tb_is_not_in(node))
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
