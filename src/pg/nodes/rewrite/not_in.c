/*
 * not_in.c - see not_in.h. Called by rewritten_query.c.
 *
 * PostgreSQL looks values up in a hash table of the subquery's rows, one process for each
 * row, which no join order can move. Rows of a WHERE are dropped whether a condition is
 * false or NULL, so it is enough that the new conditions are true where the old one is.
 *
 * Must decline what is not proved here: a subquery that refers to the outer row, that may
 * raise, or whose rows are not the same each time.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "pg/convert/function_lookup.h"
#include "pg/errors/may_raise.h"
#include "pg/nodes/rewrite/correlated_aggregates.h"
#include "pg/nodes/rewrite/not_in.h"
#include "pg/nodes/rewrite/wanted_groups.h"

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

bool
tb_is_not_in(const Node *condition)
{
	return link_of(condition) != NULL;
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
	result = HeapTupleIsValid(tuple) && ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;
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
		tb_is_inner_joined((Node *) query->jointree, var->varno);
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

List *
tb_not_in_by_joins(Query *query, Node *condition)
{
	SubLink *link = link_of(condition);
	Query	*subquery;
	Node	*value;
	List	*result;

	if (link == NULL || !is_plain_equality((OpExpr *) link->testexpr))
		return NIL;
	subquery = castNode(Query, link->subselect);
	value = linitial(castNode(OpExpr, link->testexpr)->args);
	if (tb_query_refers_outside(subquery) || !tb_query_is_harmless((Node *) subquery) ||
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
