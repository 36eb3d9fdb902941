/*
 * subquery_joins.c - see subquery_joins.h. Called by rewritten_query.c.
 *
 * Why the join with all groups has the same answer as a correlated aggregate:
 *   - An aggregate without GROUP BY has a row even of no rows. An outer row without a
 *     group gets the value that the subquery's expression has then: NULL, or what
 *     count = 0 makes of it.
 *   - The subquery's equalities find the rows of one group, since they use the operator
 *     that groups. NULL equals nothing, so the group of NULLs has no outer row.
 *   - Groups that no outer row asks for may be computed as well. So nothing in the subquery
 *     may raise an error or be volatile. If the subquery is in WHERE, the same holds for
 * the other conditions there, since a join may drop rows before they are evaluated.
 *
 * Many of these groups are left out: a row that comes out of the query has a row of the
 * table that fulfills the conditions, and asks for the group with that row's columns. Often
 * few are left: 0.1 % of the parts, in TPC-H's query 17. The condition that says so must
 * not refer to anything but a copy of the table.
 *
 * NOT IN: PostgreSQL looks values up in a hash table of the subquery's rows, one process
 * for each row, which no join order can move. Rows of a WHERE are dropped whether a
 * condition is false or NULL, so it is enough that the new conditions are true where the
 * old one is.
 *
 * Must decline all that is not proved here: a subquery that may raise, or whose rows are
 * not the same each time. PostgreSQL's own plan is always there. Whether it is worth it is
 * decided in rewritten_plan.c.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "pg/compat/pg18.h"
#include "pg/convert/function_lookup.h"
#include "pg/errors/may_raise.h"
#include "pg/nodes/rewrite/subquery_joins.h"
#include "pg/planner/expression/aggregate_kind.h"

#define GROUPS_NAME "correlated_groups"

/* One query whose subqueries are being replaced. */
typedef struct Level
{
	Query *query;
	List  *demanded; /* conditions that may be asked of groups in advance */
	List  *joins;	 /* JoinExpr without a left side, for what was replaced */
} Level;

/* An equality of a column of grouped rows and one of the query. */
typedef struct GroupEquality
{
	Oid	  opno; /* inner = outer */
	Oid	  collation;
	Expr *inner;
	Var	 *outer; /* as the query has it */
} GroupEquality;

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

/* Whether anything in it refers to a query around it. */
static bool
refers_outside_itself(Query *query)
{
	int depth = 0;

	return refers_outside((Node *) query, &depth);
}

/* Whether each row that comes of the jointree has one of the table: no outer join may lack
 * it. */
static bool
is_inner_joined(const Node *node, int rti)
{
	const JoinExpr *join = (const JoinExpr *) node;
	ListCell	   *lc;

	switch (nodeTag(node))
	{
		case T_RangeTblRef:
			return ((const RangeTblRef *) node)->rtindex == rti;
		case T_FromExpr:
			foreach(lc, ((const FromExpr *) node)->fromlist)
				if (is_inner_joined(lfirst(lc), rti))
					return true;
			return false;
		case T_JoinExpr:
			return (join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT) &&
				(is_inner_joined(join->larg, rti) ||
				 (join->jointype == JOIN_INNER && is_inner_joined(join->rarg, rti)));
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
	int		  rti = ((GroupEquality *) linitial(equalities))->outer->varno;
	ListCell *lc;

	foreach(lc, equalities)
		if (((GroupEquality *) lfirst(lc))->outer->varno != rti)
			return 0;
	return rti;
}

/* SELECT outer, ... FROM the table WHERE the conditions. */
static Query *
select_wanted(const Query *of, int rti, List *conditions, List *equalities)
{
	Query		*query = makeNode(Query);
	RangeTblRef *from = makeNode(RangeTblRef);
	ListCell	*lc;

	/* The table and its conditions. */
	from->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->rtable = list_make1(tb_copy_entry_to(query, of, rt_fetch(rti, of->rtable)));
	query->jointree = makeFromExpr(list_make1(from),
								   (Node *) make_ands_explicit(conditions));
	query->hasSubLinks = checkExprHasSubLink((Node *) conditions);
	/* The columns that groups are asked by. */
	foreach(lc, equalities)
	{
		Var		  *column = copyObject(((GroupEquality *) lfirst(lc))->outer);
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
		const GroupEquality *equality = lfirst(lc);
		Param				*param = makeNode(Param);
		Expr				*clause;

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

/*
 * (inner, ...) IN (SELECT outer, ... FROM t WHERE what the query demands of t alone), a
 * SubLink for the grouped query. `conditions`: of the query's WHERE, all of which every row
 * that comes out fulfills. NULL: the columns are not of one table that is inner joined, or
 * nothing is demanded of it.
 */
static SubLink *
wanted_groups(const Query *query, List *conditions, List *equalities)
{
	int			   rti = table_of(equalities);
	RangeTblEntry *rte = rti > 0 ? list_nth(query->rtable, rti - 1) : NULL;
	List		  *of_table;
	SubLink		  *link;

	if (rte == NULL || rte->rtekind != RTE_RELATION || rte->securityQuals != NIL ||
		rte->tablesample != NULL || !is_inner_joined((Node *) query->jointree, rti))
		return NULL;
	of_table = conditions_of_table(conditions, rti);
	if (of_table == NIL)
		return NULL;
	link = makeNode(SubLink);
	link->subLinkType = ANY_SUBLINK;
	link->testexpr = compare_columns(equalities);
	link->operName = list_make1(makeString("="));
	link->subselect = (Node *) select_wanted(query, rti, of_table, equalities);
	link->location = -1;
	return link;
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
	proved = !refers_outside_itself(subquery) && tb_query_is_harmless((Node *) subquery) &&
		find_empty_value(subquery, correlated);
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

	/* Is it one already? */
	foreach(lc, subquery->targetList)
	{
		const TargetEntry *other = lfirst(lc);

		if (other->ressortgroupref != 0 && equal(other->expr, c->inner))
		{
			c->column = other->resno;
			return;
		}
	}
	/* A column, grouped by. */
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
leave_out_unwanted(const Level *level, Query *subquery, List *correlations)
{
	List	 *equalities = NIL;
	SubLink	 *wanted;
	ListCell *lc;

	/* How groups are asked for. */
	foreach(lc, correlations)
	{
		const Correlation *c = lfirst(lc);
		GroupEquality	  *equality = palloc(sizeof(GroupEquality));

		equality->opno = c->inner_left ? c->clause->opno : get_commutator(c->clause->opno);
		equality->collation = c->clause->inputcollid;
		equality->inner = c->inner;
		equality->outer = (Var *) as_of_outer(c->outer);
		if (!OidIsValid(equality->opno) || !IsA(equality->outer, Var))
			return;
		equalities = lappend(equalities, equality);
	}
	/* As one more condition. */
	wanted = wanted_groups(level->query, level->demanded, equalities);
	if (wanted == NULL)
		return;
	subquery->hasSubLinks = true;
	subquery->jointree->quals = (Node *) make_ands_explicit(
		lappend(make_ands_implicit((Expr *) subquery->jointree->quals), wanted));
}

/* The subquery of all groups, as a range table entry of the outer query. */
static Index
add_groups(Level *level, Query *subquery, Correlated *correlated)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	ListCell	  *lc;

	/* One group for each asked for. */
	subquery->jointree->quals = correlated->others == NIL ?
		NULL :
		(Node *) make_ands_explicit(correlated->others);
	leave_out_unwanted(level, subquery, correlated->correlations);
	foreach(lc, correlated->correlations)
		add_key(subquery, lfirst(lc));
	/* As a table. */
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

/* Returns the index of the join. */
static Index
add_join(Level *level, Index rti, const Query *subquery, const Correlated *correlated)
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
	return join->rtindex;
}

/* What a row of the outer query has in place of the subquery. */
static Node *
value_of_group(Index rti, Index join, const Query *subquery, const Correlated *correlated)
{
	Correlation *first = linitial(correlated->correlations);
	Var			*value = group_column(rti, subquery, 1);
	Var			*key = group_column(rti, subquery, first->column);
	NullTest	*without = makeNode(NullTest);
	CaseWhen	*when = makeNode(CaseWhen);
	CaseExpr	*result = makeNode(CaseExpr);

	/* Both are NULL if the join finds no group. */
	TB_ADD_NULLING_JOIN(value, join);
	TB_ADD_NULLING_JOIN(key, join);
	if (((Const *) correlated->empty)->constisnull)
		return (Node *) value;
	/* No key of a group that was found is NULL. */
	without->arg = (Expr *) key;
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

/* The expression of the level with columns in place of such subqueries; those of other
 * levels are theirs. */
static Node *
join_correlated(Node *node, Level *level)
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
		return expression_tree_mutator(node, join_correlated, level);
	subquery = castNode(Query, link->subselect);
	rti = add_groups(level, subquery, &correlated);
	return value_of_group(rti, add_join(level, rti, subquery, &correlated), subquery,
						  &correlated);
}

/* x = y of one row, and the subquery. NULL: it is no NOT IN of one column. */
static SubLink *
link_of(const Node *condition)
{
	const BoolExpr *negation = (const BoolExpr *) condition;
	SubLink		   *link;
	OpExpr		   *equality;

	if (!IsA(negation, BoolExpr) || negation->boolop != NOT_EXPR)
		return NULL;
	link = linitial(negation->args);
	if (!IsA(link, SubLink) || link->subLinkType != ANY_SUBLINK)
		return NULL;
	equality = (OpExpr *) link->testexpr;
	return IsA(equality, OpExpr) && list_length(equality->args) == 2 &&
			IsA(lsecond(equality->args), Param) ?
		link :
		NULL;
}

/* Of a table alone: PostgreSQL enforces NOT NULL neither of foreign tables nor of all
 * tables that inherit the column. */
static bool
is_never_null_column(const RangeTblEntry *rte, AttrNumber attnum)
{
	HeapTuple tuple;
	bool	  result;

	if (rte->rtekind != RTE_RELATION || rte->relkind != RELKIND_RELATION ||
		has_subclass(rte->relid) || attnum <= 0)
		return false;
	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(rte->relid), Int16GetDatum(attnum));
	result = HeapTupleIsValid(tuple) &&
		tb_column_is_never_null(rte->relid, (Form_pg_attribute) GETSTRUCT(tuple));
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return result;
}

/* Whether the value, of the query's own rows, is never NULL. */
static bool
is_never_null(const Query *query, Node *value)
{
	const Var *var;

	while (IsA(value, RelabelType))
		value = (Node *) ((RelabelType *) value)->arg;
	if (IsA(value, Const))
		return !((Const *) value)->constisnull;
	var = (const Var *) value;
	return IsA(var, Var) && var->varlevelsup == 0 &&
		is_never_null_column(list_nth(query->rtable, var->varno - 1), var->varattno) &&
		is_inner_joined((Node *) query->jointree, var->varno);
}

static Var *
column_of_subquery(const Query *subquery)
{
	return makeVarFromTargetEntry(1, linitial(subquery->targetList));
}

/* A query, as the parser would leave it, that reads the subquery. */
static Query *
read_subquery(const Query *subquery, Node *condition)
{
	Query		  *query = makeNode(Query);
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblRef	  *from = makeNode(RangeTblRef);
	ListCell	  *lc;

	/* The subquery as a table. */
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = (Query *) copyObject(subquery);
	rte->alias = makeAlias("not_in", NIL);
	rte->eref = makeAlias("not_in", NIL);
	foreach(lc, rte->subquery->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (!target->resjunk)
			rte->eref->colnames = lappend(rte->eref->colnames,
										  makeString(pstrdup(
											  target->resname ? target->resname : "y")));
	}
	/* A query of it. */
	from->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->rtable = list_make1(rte);
	query->jointree = makeFromExpr(list_make1(from), condition);
	return query;
}

/* NOT EXISTS (SELECT FROM the subquery WHERE the condition). */
static Node *
not_exists(const Query *subquery, Node *condition)
{
	SubLink *link = makeNode(SubLink);

	link->subLinkType = EXISTS_SUBLINK;
	link->subselect = (Node *) read_subquery(subquery, condition);
	link->location = -1;
	return (Node *) make_notclause((Expr *) link);
}

/* count(arg), NULL: count(*). */
static TargetEntry *
count_column(Var *arg, AttrNumber number)
{
	Aggref *count = makeNode(Aggref);

	count->aggfnoid = arg != NULL ? F_COUNT_ANY : F_COUNT_;
	count->aggtype = INT8OID;
	count->aggkind = AGGKIND_NORMAL;
	count->aggsplit = AGGSPLIT_SIMPLE;
	count->aggno = -1;
	count->aggtransno = -1;
	count->location = -1;
	count->aggstar = arg == NULL;
	if (arg != NULL)
	{
		count->args = list_make1(makeTargetEntry((Expr *) arg, 1, NULL, false));
		count->aggargtypes = list_make1_oid(arg->vartype);
	}
	return makeTargetEntry((Expr *) count, number, psprintf("n%d", number), false);
}

/* (SELECT count(*), count(y) FROM the subquery) as one more table of the query. */
static Index
add_counts(Query *query, const Query *subquery)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblRef	  *from = makeNode(RangeTblRef);
	Query		  *counts = read_subquery(subquery, NULL);

	counts->hasAggs = true;
	counts->targetList = list_make2(count_column(NULL, 1),
									count_column(column_of_subquery(subquery), 2));
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = counts;
	rte->alias = makeAlias("not_in_counts", NIL);
	rte->eref = makeAlias("not_in_counts",
						  list_make2(makeString(pstrdup("n1")), makeString(pstrdup("n2"))));
	query->rtable = lappend(query->rtable, rte);
	from->rtindex = list_length(query->rtable);
	query->jointree->fromlist = lappend(query->jointree->fromlist, from);
	return from->rtindex;
}

static Expr *
compare_count(Index rti, Expr *other)
{
	Expr *result = make_opclause(lookup_type_cache(INT8OID, TYPECACHE_EQ_OPR)->eq_opr,
								 BOOLOID, false,
								 (Expr *) makeVar(rti, 1, INT8OID, -1, InvalidOid, 0),
								 other, InvalidOid, InvalidOid);

	set_opfuncid((OpExpr *) result);
	return result;
}

/* No row, or no NULL on either side: count(*) = 0 OR (count(*) = count(y) AND x IS NOT
 * NULL). */
static Node *
no_null(Index rti, Node *value)
{
	NullTest *test = makeNode(NullTest);
	Expr	 *no_row = compare_count(rti,
									 (Expr *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
														Int64GetDatum(0), false,
														FLOAT8PASSBYVAL));
	Expr *all = compare_count(rti, (Expr *) makeVar(rti, 2, INT8OID, -1, InvalidOid, 0));

	test->arg = copyObject((Expr *) value);
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	return (Node *) make_orclause(
		list_make2(no_row, make_andclause(list_make2(all, test))));
}

/* y = x, with x one level outside. */
static Node *
equality_outside(SubLink *link, const Query *subquery)
{
	OpExpr *equality = copyObject((OpExpr *) link->testexpr);

	IncrementVarSublevelsUp(linitial(equality->args), 1, 0);
	lsecond(equality->args) = column_of_subquery(subquery);
	return (Node *) equality;
}

/* An operator that is true of no NULL, that never raises, and that can join by hashing. */
static bool
is_plain_equality(OpExpr *equality)
{
	set_opfuncid(equality);
	return func_strict(equality->opfuncid) &&
		tb_function_never_raises(equality->opfuncid) &&
		get_mergejoin_opfamilies(equality->opno) != NIL;
}

/* Conditions that are true of the same rows as this one of the query's WHERE, none of which
 * may raise an error; may add a table to the query. NIL: it is none that can be replaced.
 */
static List *
not_in_by_joins(Query *query, Node *condition)
{
	SubLink *link = link_of(condition);
	Query	*subquery;
	Node	*value;
	List	*result;

	if (link == NULL || !is_plain_equality((OpExpr *) link->testexpr))
		return NIL;
	subquery = castNode(Query, link->subselect);
	value = linitial(castNode(OpExpr, link->testexpr)->args);
	if (refers_outside_itself(subquery) || !tb_query_is_harmless((Node *) subquery) ||
		checkExprHasSubLink(value) || contain_vars_of_level(value, 1) ||
		!contain_vars_of_level(value, 0))
		return NIL;
	result = list_make1(not_exists(subquery, equality_outside(link, subquery)));
	if (!is_never_null(query, value) || subquery->setOperations != NULL ||
		subquery->groupingSets != NIL ||
		!is_never_null(subquery,
					   (Node *) linitial_node(TargetEntry, subquery->targetList)->expr))
		result = lappend(result, no_null(add_counts(query, subquery), value));
	return result;
}

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
replace_in_conditions(Level *level, List **above, List **below, int *replaced)
{
	FromExpr *from = level->query->jointree;
	List	 *conditions = make_ands_implicit((Expr *) from->quals);
	ListCell *lc;

	/* May they see other rows? */
	*below = conditions;
	if (!may_drop_rows(level->query))
		return;
	/* One after the other. */
	level->demanded = conditions;
	*below = NIL;
	foreach(lc, conditions)
	{
		int	  before = list_length(level->joins);
		List *instead = not_in_by_joins(level->query, lfirst(lc));
		Node *condition = join_correlated(lfirst(lc), level);

		if (instead != NIL)
		{
			*below = list_concat(*below, instead);
			(*replaced)++;
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

int
tb_join_subqueries(Query *query)
{
	int		  replaced = 0;
	Level	  level = {.query = query};
	List	 *above = NIL;
	List	 *below;
	Node	 *from;
	ListCell *lc;

	if (query->commandType != CMD_SELECT || !query->hasSubLinks || query->rowMarks != NIL ||
		query->setOperations != NULL || query->jointree->fromlist == NIL)
		return 0;
	/* WHERE, then the select list. */
	replace_in_conditions(&level, &above, &below, &replaced);
	if (selects_rows(query))
		query->targetList = (List *) join_correlated((Node *) query->targetList, &level);
	/* No join: conditions are one again. */
	if (level.joins == NIL)
	{
		above = list_concat(above, below);
		query->jointree->quals = above == NIL ? NULL : (Node *) make_ands_explicit(above);
		return replaced;
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
	return replaced + list_length(level.joins);
}

bool
tb_may_join_subquery(const Node *node)
{
	const SubLink *link = (const SubLink *) node;

	if (link_of(node) != NULL)
		return true;
	return IsA(link, SubLink) && link->subLinkType == EXPR_SUBLINK &&
		is_plain_aggregation(castNode(Query, link->subselect)) &&
		contain_vars_of_level(link->subselect, 1);
}
