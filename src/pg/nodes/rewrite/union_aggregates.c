/*
 * union_aggregates.c - see union_aggregates.h. Called by rewritten_query.c.
 *
 *   SELECT k, avg(x) FROM (A UNION ALL B) u WHERE c GROUP BY k
 *
 * becomes
 *
 *   SELECT k, sum(s) / sum(n)
 *   FROM (SELECT k, sum(x) AS s, count(x) AS n FROM (A) u WHERE c GROUP BY k UNION ALL
 *         SELECT k, sum(x), count(x) FROM (B) u WHERE c GROUP BY k) u
 *   GROUP BY k
 *
 * so that each arm is a table that the engine scans, joins and aggregates. PostgreSQL has
 * to form and convert all rows of all arms for one process.
 *
 * DISTINCT is a GROUP BY without aggregates. What an aggregate has DISTINCT is one more key
 * of the arms. A WITH query that is read once is a subquery.
 *
 * Knows by their OIDs which aggregates follow from those of parts. Must decline one whose
 * value it can not give exactly as PostgreSQL's aggregate over all rows would: float sums
 * as exactly as parallel plans have them, whose order of adding is no one's either. Must
 * decline what is not proved here, and leave the query as it was then.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pg/nodes/rewrite/union_aggregates.h"
#include "pg/planner/expression/aggregate_kind.h"

/* What a level becomes. Columns of arms are what they group by, then
 * parts of aggregates. */
typedef struct Arms
{
	Query *query;
	int	   rti;		/* of the UNION ALL in its range table */
	Query *setop;
	List  *groups;	/* SortGroupClause: the arms' */
	List  *columns; /* Expr over the UNION ALL's rows */
	int	   nkeys;	/* of the level: GROUP BY or DISTINCT */
	bool   declined;
} Arms;

static bool
is_union_all(Node *node)
{
	SetOperationStmt *step = (SetOperationStmt *) node;

	if (IsA(node, RangeTblRef))
		return true;
	check_stack_depth();
	return IsA(node, SetOperationStmt) && step->op == SETOP_UNION && step->all &&
		is_union_all(step->larg) && is_union_all(step->rarg);
}

/* The WITH query of the level that PostgreSQL would put in its only reader's place; NULL:
 * it would not, or it is none. */
static CommonTableExpr *
inlined_cte(const Query *query, const RangeTblEntry *rte)
{
	ListCell *lc;

	if (rte->rtekind != RTE_CTE || rte->ctelevelsup != 0 || rte->self_reference)
		return NULL;
	foreach(lc, query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (strcmp(cte->ctename, rte->ctename) != 0)
			continue;
		return cte->cterefcount == 1 && !cte->cterecursive &&
				cte->ctematerialized != CTEMaterializeAlways &&
				((Query *) cte->ctequery)->commandType == CMD_SELECT &&
				!contain_volatile_functions(cte->ctequery) ?
			cte :
			NULL;
	}
	return NULL;
}

/* The level's only input, or NULL if it is no UNION ALL. */
static RangeTblEntry *
input_of(const Query *query, int *rti, Query **subquery)
{
	const FromExpr	*from = query->jointree;
	RangeTblEntry	*rte;
	const Query		*setop;
	CommonTableExpr *cte;

	if (from == NULL || list_length(from->fromlist) != 1 ||
		!IsA(linitial(from->fromlist), RangeTblRef))
		return NULL;
	*rti = linitial_node(RangeTblRef, from->fromlist)->rtindex;
	rte = rt_fetch(*rti, query->rtable);
	cte = inlined_cte(query, rte);
	if (cte == NULL &&
		(rte->rtekind != RTE_SUBQUERY || rte->security_barrier || rte->lateral))
		return NULL;
	*subquery = cte != NULL ? (Query *) cte->ctequery : rte->subquery;
	setop = *subquery;
	if (setop->setOperations == NULL || !is_union_all(setop->setOperations) ||
		setop->sortClause != NIL || setop->limitCount != NULL ||
		setop->limitOffset != NULL || setop->rowMarks != NIL || setop->hasRecursive ||
		setop->hasModifyingCTE)
		return NULL;
	return rte;
}

/* Whether rows that are alike count once, and nothing else is asked of the level's rows. */
static bool
is_plain_distinct(const Query *query)
{
	return query->distinctClause != NIL && !query->hasDistinctOn && !query->hasAggs &&
		query->groupClause == NIL && query->havingQual == NULL && !query->hasWindowFuncs;
}

bool
tb_may_aggregate_arms(const Query *query)
{
	int	   rti;
	Query *setop;

	return query->commandType == CMD_SELECT &&
		(query->hasAggs || query->groupClause != NIL || is_plain_distinct(query)) &&
		query->groupingSets == NIL && !query->hasTargetSRFs && query->rowMarks == NIL &&
		query->setOperations == NULL && input_of(query, &rti, &setop) != NULL;
}

/* Whether an expression may be evaluated of each arm's rows. */
static bool
may_go_down(Node *expression)
{
	return !contain_volatile_functions(expression) && !contain_subplans(expression) &&
		!contain_window_function(expression) && !checkExprHasSubLink(expression);
}

/* The column of the new UNION ALL that has an expression's value; it is one of them then.
 */
static Var *
column_for(Arms *arms, Expr *expression)
{
	int		  number = 0;
	ListCell *lc;

	foreach(lc, arms->columns)
	{
		number++;
		if (equal(lfirst(lc), expression))
			break;
	}
	if (lc == NULL)
	{
		arms->columns = lappend(arms->columns, expression);
		number = list_length(arms->columns);
	}
	return makeVar(arms->rti, number, exprType((Node *) expression),
				   exprTypmod((Node *) expression), exprCollation((Node *) expression), 0);
}

/* An aggregate of one column. */
static Expr *
aggregate_of(Oid aggregate, Var *argument, const Aggref *like, Oid type)
{
	Aggref *result = makeNode(Aggref);

	result->aggfnoid = aggregate;
	result->aggtype = type;
	result->aggcollid = like->aggcollid;
	result->inputcollid = like->inputcollid;
	result->aggargtypes = list_make1_oid(argument->vartype);
	result->args = list_make1(makeTargetEntry((Expr *) argument, 1, NULL, false));
	result->aggkind = AGGKIND_NORMAL;
	result->aggsplit = AGGSPLIT_SIMPLE;
	result->aggno = result->aggtransno = -1;
	result->location = -1;
	return (Expr *) result;
}

/* Part of an aggregate: another one of the same rows. */
static Aggref *
part_of(const Aggref *aggregate, Oid function, Oid type)
{
	Aggref *part = (Aggref *) copyObjectImpl(aggregate);

	part->aggfnoid = function;
	part->aggtype = type;
	part->aggcollid = part->inputcollid = InvalidOid;
	return part;
}

static Expr *
call(Oid function, Oid type, List *arguments)
{
	return (Expr *) makeFuncExpr(function, type, arguments, InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

static Expr *
as_bigint(Expr *numeric)
{
	return call(F_INT8_NUMERIC, INT8OID, list_make1(numeric));
}

/* The sum of counts; 0 where there is no arm's row. */
static Expr *
sum_of_counts(Arms *arms, Aggref *count)
{
	Expr *sum = as_bigint(
		aggregate_of(F_SUM_INT8, column_for(arms, (Expr *) count), count, NUMERICOID));
	CoalesceExpr *result = makeNode(CoalesceExpr);

	result->coalescetype = INT8OID;
	result->args = list_make2(sum,
							  makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
										Int64GetDatum(0), false, FLOAT8PASSBYVAL));
	result->location = -1;
	return (Expr *) result;
}

/* Of what sum() makes of whole numbers of up to 4 bytes: an int8. */
static Expr *
sum_of_small_sums(Arms *arms, Aggref *sum)
{
	return as_bigint(
		aggregate_of(F_SUM_INT8, column_for(arms, (Expr *) sum), sum, NUMERICOID));
}

static Expr *
sum_of_numerics(Arms *arms, Aggref *sum)
{
	return aggregate_of(F_SUM_NUMERIC, column_for(arms, (Expr *) sum), sum, NUMERICOID);
}

/* avg() divides numerics, whatever it is of; NULL where there is no value. */
static Expr *
quotient(Arms *arms, const Aggref *average, Oid sum, bool small)
{
	Aggref *of_values = part_of(average, sum, small ? INT8OID : NUMERICOID);
	Aggref *count = part_of(average, F_COUNT_ANY, INT8OID);
	Expr   *total = small ? aggregate_of(F_SUM_INT8, column_for(arms, (Expr *) of_values),
										 of_values, NUMERICOID) :
							sum_of_numerics(arms, of_values);
	Expr   *rows = aggregate_of(F_SUM_INT8, column_for(arms, (Expr *) count), count,
								NUMERICOID);

	return call(F_NUMERIC_DIV, NUMERICOID, list_make2(total, rows));
}

/* Minimum and maximum, and what else is of its parts what it is of rows. */
static Expr *
same_of_parts(Arms *arms, Aggref *aggregate)
{
	return aggregate_of(aggregate->aggfnoid, column_for(arms, (Expr *) aggregate),
						aggregate, aggregate->aggtype);
}

/* The aggregate over the rows of all arms, by aggregates of each; NULL: it does not follow
 * from parts, or nobody has said how. */
static Expr *
of_parts(Arms *arms, Aggref *aggregate)
{
	Oid function = aggregate->aggfnoid;

	if (aggregate->aggkind != AGGKIND_NORMAL || aggregate->aggdistinct != NIL ||
		aggregate->aggorder != NIL || aggregate->aggvariadic)
		return NULL;
	/* By their OIDs. */
	switch (function)
	{
		case F_COUNT_:
		case F_COUNT_ANY:
			return sum_of_counts(arms, aggregate);
		case F_SUM_INT2:
		case F_SUM_INT4:
			return sum_of_small_sums(arms, aggregate);
		case F_SUM_INT8:
		case F_SUM_NUMERIC:
			return sum_of_numerics(arms, aggregate);
		case F_SUM_FLOAT8:
			return same_of_parts(arms, aggregate);
		case F_AVG_INT2:
			return quotient(arms, aggregate, F_SUM_INT2, true);
		case F_AVG_INT4:
			return quotient(arms, aggregate, F_SUM_INT4, true);
		case F_AVG_INT8:
			return quotient(arms, aggregate, F_SUM_INT8, false);
		case F_AVG_NUMERIC:
			return quotient(arms, aggregate, F_SUM_NUMERIC, false);
		default:
			break;
	}
	/* By their kind. */
	switch (tb_aggregate_kind(function))
	{
		case TB_AGGREGATE_MIN:
		case TB_AGGREGATE_MAX:
		case TB_AGGREGATE_BOOL_AND:
		case TB_AGGREGATE_BOOL_OR:
			return same_of_parts(arms, aggregate);
		default:
			return NULL;
	}
}

/* One value with DISTINCT, and nothing else. */
static bool
has_distinct_value(const Aggref *aggregate)
{
	return aggregate->agglevelsup == 0 && list_length(aggregate->aggdistinct) == 1 &&
		list_length(aggregate->args) == 1 && aggregate->aggfilter == NULL &&
		aggregate->aggkind == AGGKIND_NORMAL && may_go_down((Node *) aggregate);
}

/* The same aggregate of what the arms have grouped by. */
static Expr *
of_distinct_values(Arms *arms, const Aggref *aggregate)
{
	Aggref		*result = (Aggref *) copyObjectImpl(aggregate);
	TargetEntry *value = linitial_node(TargetEntry, result->args);

	value->expr = (Expr *) column_for(arms, value->expr);
	return (Expr *) result;
}

static Expr *
combined(Arms *arms, Aggref *aggregate)
{
	if (aggregate->aggdistinct != NIL)
		return has_distinct_value(aggregate) ? of_distinct_values(arms, aggregate) : NULL;
	return may_go_down((Node *) aggregate) ? of_parts(arms, aggregate) : NULL;
}

/* An expression of the level over the new UNION ALL: keys are columns, aggregates are put
 * together. */
static Node *
over_groups(Node *node, Arms *arms)
{
	ListCell *lc;
	int		  key = 0;

	if (node == NULL || arms->declined)
		return node;
	/* A key? */
	foreach(lc, arms->columns)
	{
		if (key++ == arms->nkeys)
			break;
		if (equal(lfirst(lc), node))
			return (Node *) column_for(arms, lfirst(lc));
	}
	/* An aggregate? */
	if (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0)
	{
		Expr *result = combined(arms, (Aggref *) node);

		arms->declined |= result == NULL;
		return (Node *) result;
	}
	/* What is no part of a group. */
	if (IsA(node, SubLink) || IsA(node, Query) || IsA(node, GroupingFunc) ||
		(IsA(node, Var) && ((Var *) node)->varlevelsup == 0))
	{
		arms->declined = true;
		return node;
	}
	return expression_tree_mutator(node, over_groups, arms);
}

/* Keys become the first columns. A constant is none: it would be found anywhere. */
static bool
take_keys(Arms *arms)
{
	ListCell *lc;

	foreach(lc, arms->groups)
	{
		Node *key = get_sortgroupclause_expr(lfirst(lc), arms->query->targetList);

		if (!may_go_down(key) || !contain_var_clause(key))
			return false;
		(void) column_for(arms, (Expr *) key);
	}
	arms->nkeys = list_length(arms->columns);
	return true;
}

/* Values of aggregates with DISTINCT are grouped by, behind the keys. */
static bool
take_distinct_values(Node *node, Arms *arms)
{
	const Aggref *aggregate = (Aggref *) node;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref) && has_distinct_value(aggregate))
	{
		int before = list_length(arms->columns);

		(void) column_for(arms, linitial_node(TargetEntry, aggregate->args)->expr);
		if (list_length(arms->columns) > before)
			arms->groups = lappend(arms->groups, linitial(aggregate->aggdistinct));
		return false;
	}
	return expression_tree_walker(node, take_distinct_values, arms);
}

typedef struct ArmColumns
{
	int	  rti;
	List *columns; /* Expr: what the arm has for the UNION ALL's columns */
} ArmColumns;

/* An expression over the UNION ALL's rows, of an arm, two levels further down. */
static Node *
over_arm(Node *node, ArmColumns *arm)
{
	const Var *var = (Var *) node;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && var->varlevelsup == 0)
		return copyObject(list_nth(arm->columns, var->varattno - 1));
	return expression_tree_mutator(node, over_arm, arm);
}

/* What the arm's own columns are as the UNION ALL's. NIL: they can not be. */
static List *
converted_columns(const Query *arm, const SetOperationStmt *setop)
{
	List	 *result = NIL;
	ListCell *type = list_head(setop->colTypes);
	ListCell *collation = list_head(setop->colCollations);
	ListCell *lc;

	foreach(lc, arm->targetList)
	{
		const TargetEntry *tle = lfirst(lc);
		Node			  *column;

		if (tle->resjunk)
			continue;
		if (type == NULL)
			return NIL;
		/* In the type of the UNION ALL. */
		column = (Node *) makeVar(1, tle->resno, exprType((Node *) tle->expr),
								  exprTypmod((Node *) tle->expr),
								  exprCollation((Node *) tle->expr), 0);
		if (exprType(column) != lfirst_oid(type))
		{
			if (exprType(column) == UNKNOWNOID)
				return NIL;
			column = coerce_to_common_type(NULL, column, lfirst_oid(type), "UNION");
		}
		/* Else values would be compared another way. */
		if (exprCollation(column) != lfirst_oid(collation))
			return NIL;
		result = lappend(result, column);
		type = lnext(setop->colTypes, type);
		collation = lnext(setop->colCollations, collation);
	}
	return type == NULL ? result : NIL;
}

/* The query of one arm: the level's keys and parts of its rows. */
static Query *
arm_query(const Arms *arms, Query *arm, RangeTblEntry *like)
{
	Query		  *result = makeNode(Query);
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblRef	  *reference = makeNode(RangeTblRef);
	ArmColumns	   columns = {arms->rti};
	Node		  *condition;
	AttrNumber	   number = 0;
	ListCell	  *lc;

	/* Its columns as the UNION ALL's. */
	columns.columns = converted_columns(arm,
										castNode(SetOperationStmt,
												 arms->setop->setOperations));
	if (columns.columns == NIL)
		return NULL;
	/* The arm as a table. */
	arm = copyObject(arm);
	IncrementVarSublevelsUp((Node *) arm, 1, 1);
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = arm;
	rte->eref = copyObject(like->eref);
	rte->alias = copyObject(like->alias);
	rte->inFromCl = true;
	reference->rtindex = 1;
	/* The level's condition. */
	condition = over_arm(arms->query->jointree->quals, &columns);
	IncrementVarSublevelsUp(condition, 2, 1);

	/* A query of them. */
	result->commandType = CMD_SELECT;
	result->querySource = QSRC_ORIGINAL;
	result->canSetTag = true;
	result->hasAggs = list_length(arms->columns) > list_length(arms->groups);
	result->hasRowSecurity = arm->hasRowSecurity;
	result->rtable = list_make1(rte);
	result->jointree = makeFromExpr(list_make1(reference), condition);
	/* Keys, then parts of aggregates. */
	foreach(lc, arms->columns)
	{
		Node		*value = over_arm(lfirst(lc), &columns);
		TargetEntry *tle;

		IncrementVarSublevelsUp(value, 2, 1);
		number++;
		tle = makeTargetEntry((Expr *) value, number, psprintf("c%d", number), false);
		if (number <= list_length(arms->groups))
		{
			SortGroupClause *group = copyObject(
				list_nth_node(SortGroupClause, arms->groups, number - 1));

			tle->ressortgroupref = group->tleSortGroupRef = number;
			result->groupClause = lappend(result->groupClause, group);
		}
		result->targetList = lappend(result->targetList, tle);
	}
	return result;
}

/* Steps of the set operation have the types of the new columns. */
static void
set_column_types(Node *node, List *types, List *typmods, List *collations)
{
	SetOperationStmt *step = (SetOperationStmt *) node;

	if (!IsA(node, SetOperationStmt))
		return;
	step->colTypes = types;
	step->colTypmods = typmods;
	step->colCollations = collations;
	set_column_types(step->larg, types, typmods, collations);
	set_column_types(step->rarg, types, typmods, collations);
}

static bool
replace_arms(const Arms *arms, Query *setop, Node *node)
{
	if (IsA(node, SetOperationStmt))
		return replace_arms(arms, setop, ((SetOperationStmt *) node)->larg) &&
			replace_arms(arms, setop, ((SetOperationStmt *) node)->rarg);
	else
	{
		RangeTblEntry *rte = rt_fetch(((RangeTblRef *) node)->rtindex, setop->rtable);

		rte->subquery = arm_query(arms, rte->subquery, rte);
		return rte->subquery != NULL;
	}
}

static int
leftmost_arm(Node *node)
{
	while (IsA(node, SetOperationStmt))
		node = ((SetOperationStmt *) node)->larg;
	return ((RangeTblRef *) node)->rtindex;
}

/* The UNION ALL of the arms' groups, or NULL. */
static Query *
union_of_groups(const Arms *arms)
{
	Query	 *setop = copyObject(arms->setop);
	int		  leftmost = leftmost_arm(setop->setOperations);
	List	 *types = NIL;
	List	 *typmods = NIL;
	List	 *collations = NIL;
	List	 *columns = NIL;
	ListCell *lc;

	/* Each arm by its groups. */
	if (!replace_arms(arms, setop, setop->setOperations))
		return NULL;
	/* The columns of all. */
	foreach(lc, arms->columns)
	{
		Node	  *column = lfirst(lc);
		AttrNumber number = list_length(columns) + 1;
		Var		  *var = makeVar(leftmost, number, exprType(column), exprTypmod(column),
								 exprCollation(column), 0);

		columns = lappend(columns,
						  makeTargetEntry((Expr *) var, number, psprintf("c%d", number),
										  false));
		types = lappend_oid(types, var->vartype);
		typmods = lappend_int(typmods, var->vartypmod);
		collations = lappend_oid(collations, var->varcollid);
	}
	setop->targetList = columns;
	set_column_types(setop->setOperations, types, typmods, collations);
	return setop;
}

static List *
column_names(int count)
{
	List *names = NIL;

	for (int i = 1; i <= count; i++)
		names = lappend(names, makeString(psprintf("c%d", i)));
	return names;
}

bool
tb_aggregate_arms(Query *query)
{
	Arms		   arms = {.query = query};
	RangeTblEntry *rte;
	List		  *targets;
	Node		  *having;
	Query		  *groups;

	/* May its rows be grouped below? */
	if (!tb_may_aggregate_arms(query))
		return false;
	rte = input_of(query, &arms.rti, &arms.setop);
	arms.groups = is_plain_distinct(query) ? query->distinctClause : query->groupClause;
	if (!may_go_down(query->jointree->quals) || !take_keys(&arms))
		return false;
	/* Two keys that are one column would not be in the order of the columns. */
	if (arms.nkeys != list_length(arms.groups))
		return false;
	/* Keys, values of DISTINCT, aggregates. */
	arms.groups = list_copy(arms.groups);
	(void) take_distinct_values((Node *) query->targetList, &arms);
	(void) take_distinct_values(query->havingQual, &arms);
	targets = (List *) over_groups((Node *) query->targetList, &arms);
	having = over_groups(query->havingQual, &arms);
	if (arms.declined || arms.columns == NIL)
		return false;
	/* The new input. */
	groups = union_of_groups(&arms);
	if (groups == NULL)
		return false;
	/* In place of the old one. */
	if (rte->rtekind == RTE_CTE)
	{
		query->cteList = list_delete_ptr(query->cteList, inlined_cte(query, rte));
		rte->rtekind = RTE_SUBQUERY;
		rte->ctename = NULL;
		rte->coltypes = rte->coltypmods = rte->colcollations = NIL;
	}
	rte->subquery = groups;
	rte->eref = makeAlias(rte->eref->aliasname, column_names(list_length(arms.columns)));
	rte->alias = NULL;
	/* What is computed of it. */
	query->jointree->quals = NULL;
	query->targetList = targets;
	query->havingQual = having;
	return true;
}
