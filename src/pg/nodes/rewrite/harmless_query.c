/*
 * harmless_query.c - see harmless_query.h.
 *
 * "Yes" is a promise; "no" is said of all that is not known. What expressions may raise is
 * planner/expression/may_raise_expression.c's to say; here is what else queries consist of.
 * Owns nothing. Called by not_in.c and rewritten_query.c.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "optimizer/optimizer.h"

#include "pg/nodes/rewrite/harmless_query.h"
#include "pg/planner/expression/may_raise_expression.h"

/* Whether the subquery has one row whatever its tables hold. */
static bool
returns_one_row(const Query *query)
{
	return query->hasAggs && query->groupClause == NIL && query->groupingSets == NIL &&
		query->havingQual == NULL && query->setOperations == NULL && !query->hasTargetSRFs;
}

/* Counts of LIMIT may be negative; rows that are locked, and statements in WITH, have
 * effects. */
static bool
is_harmful_query(const Query *query)
{
	return query->commandType != CMD_SELECT || query->limitCount != NULL ||
		query->limitOffset != NULL || query->rowMarks != NIL || query->hasModifyingCTE ||
		query->hasTargetSRFs || query->hasRecursive;
}

static bool
is_harmful(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Query:
			return is_harmful_query((Query *) node) ||
				query_tree_walker((Query *) node, is_harmful, context, 0);
		case T_SubLink:
		{
			const SubLink *link = (SubLink *) node;

			if (link->subLinkType != EXISTS_SUBLINK && link->subLinkType != ANY_SUBLINK &&
				!(link->subLinkType == EXPR_SUBLINK &&
				  returns_one_row(castNode(Query, link->subselect))))
				return true;
			break;
		}
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN &&
				((Param *) node)->paramkind != PARAM_SUBLINK;
		case T_FromExpr:
		case T_JoinExpr:
		case T_RangeTblRef:
		case T_CommonTableExpr:
			break;
		default:
			if (tb_node_may_raise(node))
				return true;
			break;
	}
	return expression_tree_walker(node, is_harmful, context);
}

bool
tb_query_is_harmless(Node *tree)
{
	return !is_harmful(tree, NULL) && !contain_volatile_functions(tree);
}
