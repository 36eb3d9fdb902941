/*
 * correlated_aggregates.c - see correlated_aggregates.h. Called by rewritten_query.c.
 *
 * Why both queries have the same answer:
 *   - An aggregate without GROUP BY has a row even of no rows. An outer row without a
 *     group gets the value that the subquery's expression has then: NULL, or what
 *     count = 0 makes of it.
 *   - The subquery's equalities find the rows of one group, since they use the operator
 *     that groups. NULL equals nothing, so the group of NULLs has no outer row.
 *   - Groups that no outer row asks for may be computed as well (wanted_groups.c leaves
 *     out many). So nothing in the subquery may raise an error or be volatile. If the
 *     subquery is in WHERE, the same holds for the other conditions there, since a join
 *     may drop rows before they are evaluated.
 *
 * Must decline all that is not proved here: PostgreSQL's own plan is always there.
 * Whether it is worth it is decided in rewritten_plan.c.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pg/convert/function_lookup.h"
#include "pg/errors/may_raise.h"
#include "pg/nodes/rewrite/correlated_aggregates.h"
#include "pg/nodes/rewrite/wanted_groups.h"
#include "pg/planner/expression/aggregate_kind.h"

#define GROUPS_NAME "correlated_groups"

/* inner = outer, of the subquery's WHERE. */
typedef struct Correlation
{
	OpExpr	  *clause;
	bool	   inner_left;
	Expr	  *inner;  /* a column of the subquery's tables */
	Expr	  *outer;  /* a column of the outer query's */
	Oid		   sortop; /* of the inner column's type */
	Oid		   eqop;
	bool	   hashable;
	AttrNumber column; /* of the grouped subquery */
} Correlation;

/* A subquery taken apart. */
typedef struct Correlated
{
	List *correlations; /* Correlation */
	List *others;		/* the rest of its WHERE */
	Node *empty;		/* Const: what it is of no rows */
} Correlated;

static bool
refers_outside(Node *node, int *depth)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varlevelsup >= *depth;
	if (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup >= *depth)
		return true;
	if (IsA(node, Query))
	{
		bool result;

		(*depth)++;
		result = query_tree_walker((Query *) node, refers_outside, depth, 0);
		(*depth)--;
		return result;
	}
	return expression_tree_walker(node, refers_outside, depth);
}

bool
tb_query_refers_outside(Query *query)
{
	int depth = 0;

	return refers_outside((Node *) query, &depth);
}

static bool
is_column_of(const Node *expr, Index levelsup)
{
	const Var *var;

	while (IsA(expr, RelabelType))
		expr = (const Node *) ((const RelabelType *) expr)->arg;
	var = (const Var *) expr;
	return IsA(var, Var) && var->varlevelsup == levelsup && var->varattno > 0;
}

/* Whether rows that are equal by the clause, and no others, are one group. */
static bool
groups_as_clause(Correlation *c)
{
	TypeCacheEntry *type = lookup_type_cache(exprType((Node *) c->inner),
											 TYPECACHE_LT_OPR | TYPECACHE_EQ_OPR |
												 TYPECACHE_HASH_PROC);
	List		   *families;
	ListCell	   *lc;

	if (!OidIsValid(type->lt_opr) || !OidIsValid(type->eq_opr))
		return false;
	c->sortop = type->lt_opr;
	c->eqop = type->eq_opr;
	c->hashable = OidIsValid(type->hash_proc);
	families = get_mergejoin_opfamilies(c->eqop);
	foreach(lc, get_mergejoin_opfamilies(c->clause->opno))
		if (list_member_oid(families, lfirst_oid(lc)))
			return c->clause->inputcollid == exprCollation((Node *) c->inner);
	return false;
}

/* NULL: the condition is no equality of a column inside and one outside. */
static Correlation *
read_correlation(Node *condition)
{
	OpExpr		*clause = (OpExpr *) condition;
	Correlation *c;

	if (!IsA(clause, OpExpr) || list_length(clause->args) != 2)
		return NULL;
	set_opfuncid(clause);
	c = palloc0(sizeof(Correlation));
	c->clause = clause;
	c->inner_left = is_column_of(linitial(clause->args), 0);
	c->inner = c->inner_left ? linitial(clause->args) : lsecond(clause->args);
	c->outer = c->inner_left ? lsecond(clause->args) : linitial(clause->args);
	if (!is_column_of((Node *) c->inner, 0) || !is_column_of((Node *) c->outer, 1) ||
		!func_strict(clause->opfuncid) || !tb_function_never_raises(clause->opfuncid) ||
		!groups_as_clause(c))
		return NULL;
	return c;
}

/* Aggregates as they are of no rows. */
static Node *
without_rows(Node *node, bool *known)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref))
	{
		const Aggref *agg = (Aggref *) node;

		switch (tb_aggregate_kind(agg->aggfnoid))
		{
			case TB_AGGREGATE_UNKNOWN:
				*known = false;
				break;
			case TB_AGGREGATE_COUNT:
				return (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
										  Int64GetDatum(0), false, FLOAT8PASSBYVAL);
			default:
				break;
		}
		return (Node *) makeNullConst(agg->aggtype, -1, agg->aggcollid);
	}
	return expression_tree_mutator(node, without_rows, known);
}

static bool
find_empty_value(const Query *subquery, Correlated *correlated)
{
	const TargetEntry *target = linitial_node(TargetEntry, subquery->targetList);
	bool			   known = true;
	Node			  *empty = without_rows((Node *) target->expr, &known);

	if (!known)
		return false;
	correlated->empty = eval_const_expressions(NULL, empty);
	return IsA(correlated->empty, Const);
}

/* Aggregates over joined tables, and nothing else. */
static bool
is_plain_aggregation(const Query *query)
{
	return query->commandType == CMD_SELECT && query->hasAggs && !query->hasWindowFuncs &&
		!query->hasTargetSRFs && !query->hasDistinctOn && query->cteList == NIL &&
		query->groupClause == NIL && query->groupingSets == NIL &&
		query->havingQual == NULL && query->distinctClause == NIL &&
		query->sortClause == NIL && query->limitCount == NULL &&
		query->limitOffset == NULL && query->rowMarks == NIL &&
		query->setOperations == NULL && list_length(query->targetList) == 1;
}

static bool
take_apart(Query *subquery, Correlated *correlated)
{
	Node	 *conditions = subquery->jointree->quals;
	bool	  proved;
	ListCell *lc;

	foreach(lc, make_ands_implicit((Expr *) conditions))
	{
		Correlation *c = NULL;

		if (!contain_vars_of_level(lfirst(lc), 1))
			correlated->others = lappend(correlated->others, lfirst(lc));
		else if ((c = read_correlation(lfirst(lc))) != NULL)
			correlated->correlations = lappend(correlated->correlations, c);
		else
			return false;
	}
	if (correlated->correlations == NIL)
		return false;
	subquery->jointree->quals = (Node *) correlated->others;
	proved = !tb_query_refers_outside(subquery) &&
		tb_query_is_harmless((Node *) subquery) && find_empty_value(subquery, correlated);
	subquery->jointree->quals = conditions;
	return proved;
}

/* Makes the inner column a grouping key; the same one twice is one key. */
static void
add_key(Query *subquery, Correlation *c)
{
	TargetEntry		*target;
	SortGroupClause *group;
	ListCell		*lc;

	foreach(lc, subquery->targetList)
	{
		const TargetEntry *other = lfirst(lc);

		if (other->ressortgroupref != 0 && equal(other->expr, c->inner))
		{
			c->column = other->resno;
			return;
		}
	}
	c->column = list_length(subquery->targetList) + 1;
	target = makeTargetEntry(copyObject(c->inner), c->column,
							 psprintf("k%d", c->column - 1), false);
	target->ressortgroupref = c->column;
	subquery->targetList = lappend(subquery->targetList, target);
	group = makeNode(SortGroupClause);
	group->tleSortGroupRef = c->column;
	group->eqop = c->eqop;
	group->sortop = c->sortop;
	group->hashable = c->hashable;
	subquery->groupClause = lappend(subquery->groupClause, group);
}

/* The outer query's column, as that has it. */
static Expr *
as_of_outer(Expr *outer)
{
	Expr *copy = copyObject(outer);

	IncrementVarSublevelsUp((Node *) copy, -1, 1);
	return copy;
}

/* The subquery's rows are those of groups that the outer query can ask for. */
static void
leave_out_unwanted(const TbRewrittenLevel *level, Query *subquery, List *correlations)
{
	List	 *equalities = NIL;
	SubLink	 *wanted;
	ListCell *lc;

	foreach(lc, correlations)
	{
		const Correlation *c = lfirst(lc);
		TbGroupEquality	  *equality = palloc(sizeof(TbGroupEquality));

		equality->opno = c->inner_left ? c->clause->opno : get_commutator(c->clause->opno);
		equality->collation = c->clause->inputcollid;
		equality->inner = c->inner;
		equality->outer = (Var *) as_of_outer(c->outer);
		if (!OidIsValid(equality->opno) || !IsA(equality->outer, Var))
			return;
		equalities = lappend(equalities, equality);
	}
	wanted = tb_wanted_groups(level->query, level->demanded, equalities);
	if (wanted == NULL)
		return;
	subquery->hasSubLinks = true;
	subquery->jointree->quals = (Node *) make_ands_explicit(
		lappend(make_ands_implicit((Expr *) subquery->jointree->quals), wanted));
}

/* The subquery of all groups, as a range table entry of the outer query. */
static Index
add_groups(TbRewrittenLevel *level, Query *subquery, Correlated *correlated)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	ListCell	  *lc;

	subquery->jointree->quals = correlated->others == NIL ?
		NULL :
		(Node *) make_ands_explicit(correlated->others);
	leave_out_unwanted(level, subquery, correlated->correlations);
	foreach(lc, correlated->correlations)
		add_key(subquery, lfirst(lc));
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = subquery;
	rte->alias = makeAlias(GROUPS_NAME, NIL);
	rte->eref = makeAlias(GROUPS_NAME, NIL);
	foreach(lc, subquery->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (target->resname == NULL)
			target->resname = pstrdup("v");
		rte->eref->colnames = lappend(rte->eref->colnames,
									  makeString(pstrdup(target->resname)));
	}
	level->query->rtable = lappend(level->query->rtable, rte);
	return list_length(level->query->rtable);
}

static Var *
group_column(Index rti, const Query *subquery, AttrNumber column)
{
	return makeVarFromTargetEntry(rti, list_nth(subquery->targetList, column - 1));
}

/* A range table entry of the join, that nothing refers to: PostgreSQL looks there whether
 * there are outer joins that may be inner ones. */
static Index
add_join_entry(Query *query)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_JOIN;
	rte->jointype = JOIN_LEFT;
	rte->eref = makeAlias("unnamed_join", NIL);
	query->rtable = lappend(query->rtable, rte);
	return list_length(query->rtable);
}

static void
add_join(TbRewrittenLevel *level, Index rti, const Query *subquery,
		 const Correlated *correlated)
{
	JoinExpr	*join = makeNode(JoinExpr);
	RangeTblRef *groups = makeNode(RangeTblRef);
	List		*conditions = NIL;
	ListCell	*lc;

	foreach(lc, correlated->correlations)
	{
		const Correlation *c = lfirst(lc);
		OpExpr			  *clause = copyObject(c->clause);
		Expr			  *key = (Expr *) group_column(rti, subquery, c->column);

		clause->args = c->inner_left ? list_make2(key, as_of_outer(c->outer)) :
									   list_make2(as_of_outer(c->outer), key);
		conditions = lappend(conditions, clause);
	}
	groups->rtindex = rti;
	join->jointype = JOIN_LEFT;
	join->rtindex = add_join_entry(level->query);
	join->rarg = (Node *) groups;
	join->quals = (Node *) make_ands_explicit(conditions);
	level->joins = lappend(level->joins, join);
}

/* What a row of the outer query has in place of the subquery. */
static Node *
value_of_group(Index rti, const Query *subquery, const Correlated *correlated)
{
	Correlation *first = linitial(correlated->correlations);
	Var			*value = group_column(rti, subquery, 1);
	NullTest	*without = makeNode(NullTest);
	CaseWhen	*when = makeNode(CaseWhen);
	CaseExpr	*result = makeNode(CaseExpr);

	if (((Const *) correlated->empty)->constisnull)
		return (Node *) value;
	/* No key of a group that was found is NULL. */
	without->arg = (Expr *) group_column(rti, subquery, first->column);
	without->nulltesttype = IS_NULL;
	without->location = -1;
	when->expr = (Expr *) without;
	when->result = (Expr *) correlated->empty;
	when->location = -1;
	result->casetype = value->vartype;
	result->casecollid = value->varcollid;
	result->args = list_make1(when);
	result->defresult = (Expr *) value;
	result->location = -1;
	return (Node *) result;
}

Node *
tb_join_correlated_aggregates(Node *node, TbRewrittenLevel *level)
{
	SubLink	  *link = (SubLink *) node;
	Correlated correlated = {0};
	Query	  *subquery;
	Index	   rti;

	if (node == NULL || IsA(node, Query))
		return node;
	if (!IsA(node, SubLink) || link->subLinkType != EXPR_SUBLINK ||
		!is_plain_aggregation(castNode(Query, link->subselect)) ||
		!take_apart(castNode(Query, link->subselect), &correlated))
		return expression_tree_mutator(node, tb_join_correlated_aggregates, level);
	subquery = castNode(Query, link->subselect);
	rti = add_groups(level, subquery, &correlated);
	add_join(level, rti, subquery, &correlated);
	return value_of_group(rti, subquery, &correlated);
}

bool
tb_is_correlated_aggregate(const SubLink *link)
{
	return link->subLinkType == EXPR_SUBLINK &&
		is_plain_aggregation(castNode(Query, link->subselect)) &&
		contain_vars_of_level(link->subselect, 1);
}
