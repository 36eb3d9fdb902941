/*
 * wanted_groups.c - see wanted_groups.h. Called by correlated_aggregates.c.
 *
 * A row that comes out of the query has a row of the table that fulfills the conditions,
 * and asks for the group with that row's columns; so all other groups may be left out. That
 * is often most of them: 0.1 % of the parts, in TPC-H's query 17.
 *
 * Must not refer to anything but a copy of the table: what the conditions refer to besides
 * makes them none of the table's alone.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"

#include "pg/nodes/rewrite/wanted_groups.h"

bool
tb_is_inner_joined(const Node *node, int rti)
{
	const JoinExpr *join = (const JoinExpr *) node;
	ListCell	   *lc;

	switch (nodeTag(node))
	{
		case T_RangeTblRef:
			return ((const RangeTblRef *) node)->rtindex == rti;
		case T_FromExpr:
			foreach(lc, ((const FromExpr *) node)->fromlist)
				if (tb_is_inner_joined(lfirst(lc), rti))
					return true;
			return false;
		case T_JoinExpr:
			return (join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT) &&
				(tb_is_inner_joined(join->larg, rti) ||
				 (join->jointype == JOIN_INNER && tb_is_inner_joined(join->rarg, rti)));
		default:
			return false;
	}
}

/* Subqueries of WITH are counted from where they stand; values of one row may be what is
 * being replaced. */
static bool
cannot_be_copied(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->rtekind == RTE_CTE;
	if (IsA(node, SubLink) && ((SubLink *) node)->subLinkType == EXPR_SUBLINK)
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, cannot_be_copied, context,
								 QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, cannot_be_copied, context);
}

/* Copies of the conditions of the table alone, of which it is the first. */
static List *
conditions_of_table(List *conditions, int rti)
{
	List	 *found = NIL;
	ListCell *lc;

	foreach(lc, conditions)
	{
		int	  only;
		Node *copy;

		if (!bms_get_singleton_member(pull_varnos(NULL, lfirst(lc)), &only) ||
			only != rti || contain_vars_of_level(lfirst(lc), 1) ||
			cannot_be_copied(lfirst(lc), NULL))
			continue;
		copy = copyObject(lfirst(lc));
		ChangeVarNodes(copy, rti, 1, 0);
		found = lappend(found, copy);
	}
	return found;
}

/* The table that all columns are of; 0: there is none. */
static int
table_of(List *equalities)
{
	int		  rti = ((TbGroupEquality *) linitial(equalities))->outer->varno;
	ListCell *lc;

	foreach(lc, equalities)
		if (((TbGroupEquality *) lfirst(lc))->outer->varno != rti)
			return 0;
	return rti;
}

/* SELECT outer, ... FROM the table WHERE the conditions. */
static Query *
select_wanted(RangeTblEntry *rte, int rti, List *conditions, List *equalities)
{
	Query		*query = makeNode(Query);
	RangeTblRef *from = makeNode(RangeTblRef);
	ListCell	*lc;

	from->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->rtable = list_make1(copyObject(rte));
	query->jointree = makeFromExpr(list_make1(from),
								   (Node *) make_ands_explicit(conditions));
	query->hasSubLinks = checkExprHasSubLink((Node *) conditions);
	foreach(lc, equalities)
	{
		Var		  *column = copyObject(((TbGroupEquality *) lfirst(lc))->outer);
		AttrNumber number = list_length(query->targetList) + 1;

		ChangeVarNodes((Node *) column, rti, 1, 0);
		query->targetList = lappend(query->targetList,
									makeTargetEntry((Expr *) column, number,
													psprintf("k%d", number), false));
	}
	return query;
}

/* Each inner column is equal to the subquery's of the same number. */
static Node *
compare_columns(List *equalities)
{
	List	 *clauses = NIL;
	ListCell *lc;

	foreach(lc, equalities)
	{
		const TbGroupEquality *equality = lfirst(lc);
		Param				  *param = makeNode(Param);
		Expr				  *clause;

		param->paramkind = PARAM_SUBLINK;
		param->paramid = foreach_current_index(lc) + 1;
		param->paramtype = equality->outer->vartype;
		param->paramtypmod = equality->outer->vartypmod;
		param->paramcollid = equality->outer->varcollid;
		param->location = -1;
		clause = make_opclause(equality->opno, BOOLOID, false, copyObject(equality->inner),
							   (Expr *) param, InvalidOid, equality->collation);
		set_opfuncid((OpExpr *) clause);
		clauses = lappend(clauses, clause);
	}
	return (Node *) make_ands_explicit(clauses);
}

SubLink *
tb_wanted_groups(const Query *query, List *conditions, List *equalities)
{
	int			   rti = table_of(equalities);
	RangeTblEntry *rte = rti > 0 ? list_nth(query->rtable, rti - 1) : NULL;
	List		  *of_table;
	SubLink		  *link;

	if (rte == NULL || rte->rtekind != RTE_RELATION || rte->securityQuals != NIL ||
		rte->tablesample != NULL || !tb_is_inner_joined((Node *) query->jointree, rti))
		return NULL;
	of_table = conditions_of_table(conditions, rti);
	if (of_table == NIL)
		return NULL;
	link = makeNode(SubLink);
	link->subLinkType = ANY_SUBLINK;
	link->testexpr = compare_columns(equalities);
	link->operName = list_make1(makeString("="));
	link->subselect = (Node *) select_wanted(rte, rti, of_table, equalities);
	link->location = -1;
	return link;
}
