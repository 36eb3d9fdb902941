/*
 * group_keys.c - GpuPreAgg: what the device groups by, and what PostgreSQL computes of it.
 *
 * The device's keys are, in this order: grouping expressions that it has, columns that
 * depend on them, what computed keys and filters read (hidden keys), what aggregates with
 * DISTINCT are of. Behind them in the scan tuple stand the computed keys, then the filters.
 * Where everything that is computed depends on keys that are grouped by, there is nothing
 * to fold: the projection above computes it, and the filters are the node's.
 *
 * What is computed reads large parts of its expression if the device has them, since these
 * have fewer values than their columns. Below CASE and the like it reads only columns,
 * which cannot raise. What is equal must look the same to PostgreSQL's functions: no
 * floats, whose -0 and 0 are one group. Numerics that print differently are noticed when
 * groups come back.
 *
 * An aggregate's argument that devices lack becomes a computed key that is in no set; with
 * a FILTER it is NULL where that is not true, since all of these aggregates pass over NULL.
 * If a device has the argument and only the FILTER is computed, the device's own state of
 * the group takes part or not, whatever its type: fewer groups, as the argument is no key.
 *
 * Called by analyze.c.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pg/convert/type_map.h"
#include "pg/errors/may_raise.h"
#include "pg/nodes/aggregate/analyzer.h"
#include "pg/planner/expression/aggregate_kind.h"
#include "pg/planner/expression/collation_order.h"
#include "pg/planner/program/output_column.h"

typedef struct Finder
{
	TbTranslator *t;
	List		 *keys;
	List		**inputs;
	bool		  conditional; /* below something that evaluates it for some rows only */
} Finder;

static bool find_column_walker(Node *node, Finder *finder);

static bool
is_float(Oid type)
{
	Oid base = getBaseType(type);

	return base == FLOAT4OID || base == FLOAT8OID;
}

typedef struct Followed
{
	const List *keys; /* Expr: what the expression may be made of */
	bool		found;
} Followed;

/* True if the expression reads what is no key, or a float, whose equal 0 and -0 look
 * different to functions. */
static bool
reads_more(Node *node, Followed *followed)
{
	if (node == NULL)
		return false;
	if (!IsA(node, List) && list_member(followed->keys, node))
	{
		followed->found = true;
		return is_float(exprType(node));
	}
	return IsA(node, Var) || expression_tree_walker(node, reads_more, followed);
}

/* Whether equal values of the type look the same to functions, or nearly: numerics that do
 * not are noticed. */
static bool
looks_alike(TbTranslator *t, Oid type)
{
	return !is_float(type) ||
		tb_refuse(t, "an expression of floating-point numbers, whose 0 and -0 are equal");
}

/* Whether a device can group by it, and equal values are alike. */
static bool
is_input(TbTranslator *t, Expr *expr)
{
	TbValue		value;
	int32		padding;
	const char *reason;

	if (!tb_translate(t, expr, &value))
		return false;
	if (!looks_alike(t, exprType((Node *) expr)))
		return false;
	return tb_output_padding(expr, &value, &padding, &reason) || tb_refuse(t, "%s", reason);
}

static bool
is_conditional(const Node *node)
{
	switch (nodeTag(node))
	{
		case T_CaseExpr:
		case T_CoalesceExpr:
		case T_BoolExpr:
		case T_MinMaxExpr:
		case T_NullIfExpr:
			return true;
		default:
			return false;
	}
}

/* Whether a part of the expression may be computed for each row of the input. */
static bool
may_be_whole(const Finder *finder, Node *node)
{
	return !finder->conditional && !IsA(node, RelabelType) && !IsA(node, CaseWhen) &&
		!is_conditional(node) && contain_var_clause(node);
}

/* Whether nothing more is needed to compute it. */
static bool
is_of_keys(const Finder *finder, Node *node)
{
	Followed followed = {.keys = finder->keys};

	return !reads_more(node, &followed);
}

static bool
find_below(Node *node, Finder *finder)
{
	bool outer = finder->conditional;
	bool failed;

	finder->conditional = outer || is_conditional(node);
	failed = expression_tree_walker(node, find_column_walker, finder);
	finder->conditional = outer;
	return failed;
}

/* True if some part can be no input, with the translator's reason. */
static bool
find_column_walker(Node *node, Finder *finder)
{
	if (node == NULL || IsA(node, Const) || IsA(node, Param))
		return false;
	if (!IsA(node, List) &&
		(list_member(finder->keys, node) || list_member(*finder->inputs, node)))
		return !looks_alike(finder->t, exprType(node));
	if (IsA(node, Var))
	{
		if (!is_input(finder->t, (Expr *) node))
			return true;
		*finder->inputs = lappend(*finder->inputs, node);
		return false;
	}
	if (!IsA(node, List) && may_be_whole(finder, node) && !is_of_keys(finder, node) &&
		is_input(finder->t, (Expr *) node))
	{
		*finder->inputs = lappend(*finder->inputs, node);
		return false;
	}
	return find_below(node, finder);
}

/* What the executor evaluates anywhere and any number of times. */
static bool
has_other_nodes(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref) || IsA(node, GroupingFunc) || IsA(node, WindowFunc) ||
		IsA(node, PlaceHolderVar) || IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) ||
		IsA(node, CurrentOfExpr))
		return true;
	if (IsA(node, Var) && ((Var *) node)->varlevelsup != 0)
		return true;
	return expression_tree_walker(node, has_other_nodes, context);
}

/*
 * Adds to *inputs what a device has to group by so that the expression can be computed,
 * unless it is among `keys`: parts of the expression that the translator's program
 * computes, or columns. False, with t->reason, if it must be evaluated row by row.
 */
static bool
find_inputs(TbTranslator *t, Expr *expr, List *keys, List **inputs)
{
	Finder finder = {.t = t, .keys = keys, .inputs = inputs};

	if (contain_volatile_functions((Node *) expr) ||
		expression_returns_set((Node *) expr) || has_other_nodes((Node *) expr, NULL))
		return false;
	/* Of a column of a kind that a device groups by otherwise, it is the input itself. */
	if (IsA(expr, Var))
		return !find_column_walker((Node *) expr, &finder);
	return !find_below((Node *) expr, &finder);
}

/* How a key that is in no set stands in the scan tuple: as what no expression of the query
 * equals, since it has no value in folded groups. */
static Expr *
hidden_key(Expr *expr)
{
	return (Expr *) makeRelabelType(expr, exprType((Node *) expr),
									exprTypmod((Node *) expr), exprCollation((Node *) expr),
									COERCE_IMPLICIT_CAST);
}

/* An aggregate, and which of the computed arguments it is of. */
typedef struct ComputedAggregate
{
	const Aggref *aggref;
	int			  argument;
	bool		  filtered; /* the argument is its FILTER */
} ComputedAggregate;

static bool
is_translated(TbAnalyzer *a, Expr *expr, bool conditional)
{
	TbValue value;
	bool	translated;

	a->t->conditional += conditional;
	translated = tb_translate(a->t, expr, &value);
	a->t->conditional -= conditional;
	return translated;
}

/* `value` where `filter` is true, else NULL. */
static Expr *
filtered(Expr *filter, Expr *value)
{
	CaseExpr *expr = makeNode(CaseExpr);
	CaseWhen *when = makeNode(CaseWhen);

	if (filter == NULL)
		return value;
	when->expr = filter;
	when->result = value;
	when->location = -1;
	expr->casetype = exprType((Node *) value);
	expr->casecollid = exprCollation((Node *) value);
	expr->args = list_make1(when);
	expr->defresult = (Expr *) makeNullConst(exprType((Node *) value),
											 exprTypmod((Node *) value),
											 exprCollation((Node *) value));
	expr->location = -1;
	return (Expr *) expr;
}

/* Whether folded groups have a state for it. */
static bool
has_state(TbAnalyzer *a, const Aggref *aggref, Expr *argument)
{
	TbAggregateKind kind = tb_aggregate_kind(aggref->aggfnoid);
	Oid				type = exprType((Node *) argument);
	bool			integer = type == INT2OID || type == INT4OID || type == INT8OID;

	switch (kind)
	{
		case TB_AGGREGATE_COUNT:
			return true;
		case TB_AGGREGATE_SUM:
		case TB_AGGREGATE_AVG:
			return integer ||
				tb_analyzer_refuse(
					   a,
					   "sum or avg of what PostgreSQL computes of groups, and is no integer");
		case TB_AGGREGATE_BOOL_AND:
		case TB_AGGREGATE_BOOL_OR:
			return true;
		case TB_AGGREGATE_MIN:
		case TB_AGGREGATE_MAX:
			if (type == TEXTOID && tb_collation_orders_by_bytes(aggref->inputcollid))
				return true;
			return integer || type == DATEOID || type == TIMESTAMPOID ||
				type == TIMESTAMPTZOID ||
				tb_analyzer_refuse(
					   a,
					   "min or max of what PostgreSQL computes of groups, of such a type");
		case TB_AGGREGATE_UNKNOWN:
			break;
	}
	return tb_analyzer_refuse(a, "an aggregate that is not in the catalogue");
}

/* `reason`: why devices do not have it. */
static bool
add_computed(TbAnalyzer *a, const Aggref *aggref, Expr *expr, bool is_filter,
			 const char *reason)
{
	ComputedAggregate *found = palloc0(sizeof(ComputedAggregate));
	List			  *inputs = NIL;
	ListCell		  *lc;

	if (!find_inputs(a->t, expr, a->result->keys, &inputs))
		return tb_analyzer_refuse(a, reason);
	found->aggref = aggref;
	found->filtered = is_filter;
	found->argument = list_length(a->arguments);
	foreach(lc, a->arguments)
		if (equal(lfirst(lc), expr))
			found->argument = foreach_current_index(lc);
	if (found->argument == list_length(a->arguments))
		a->arguments = lappend(a->arguments, expr);
	a->computed_aggregates = lappend(a->computed_aggregates, found);
	return true;
}

static bool
find_in_aggregate(TbAnalyzer *a, const Aggref *aggref)
{
	Expr	   *filter = aggref->aggfilter;
	Expr	   *argument = NULL;
	bool		has_argument;
	const char *reason;

	/* Whatever else is refused later. */
	if (aggref->aggkind != AGGKIND_NORMAL || list_length(aggref->args) > 1 ||
		aggref->agglevelsup != 0 || aggref->aggorder != NIL || aggref->aggvariadic)
		return true;
	/* Does a device have both? */
	if (aggref->args != NIL)
		argument = linitial_node(TargetEntry, aggref->args)->expr;
	has_argument = argument == NULL || is_translated(a, argument, filter != NULL);
	if (has_argument && (filter == NULL || is_translated(a, filter, false)))
		return true;
	/* With DISTINCT it is refused later. */
	reason = a->t->reason;
	if (aggref->aggdistinct != NIL &&
		tb_aggregate_kind(aggref->aggfnoid) != TB_AGGREGATE_MIN &&
		tb_aggregate_kind(aggref->aggfnoid) != TB_AGGREGATE_MAX)
		return true;
	/* Only the FILTER, or the argument. */
	if (has_argument)
		return add_computed(a, aggref, filter, true, reason);
	return has_state(a, aggref, argument) &&
		add_computed(a, aggref, filtered(filter, argument), false, reason);
}

/* True, with the reason, if some aggregate cannot be computed. */
static bool
find_walker(Node *node, TbAnalyzer *a)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
		return !find_in_aggregate(a, (Aggref *) node);
	return expression_tree_walker(node, find_walker, a);
}

/* Before the keys are complete: finds such aggregates, and adds what is to be computed for
 * them to a->arguments. False, with the reason, if there is one that cannot be. */
static bool
find_computed_arguments(TbAnalyzer *a)
{
	const TbAggRequest *request = &a->result->request;

	return !find_walker((Node *) request->target->exprs, a) &&
		!find_walker((Node *) request->having, a);
}

#define GEOMETRY_KEY "a grouping key of type geometry"

static bool
translate_key(TbAnalyzer *a, Expr *expr, TbValue *value)
{
	/* A parameter as key would be confused with the program's own parameters. */
	if (!contain_var_clause((Node *) expr))
		return tb_analyzer_refuse(a, "a grouping key without columns");
	if (!tb_translate(a->t, expr, value))
		return tb_analyzer_refuse(a, a->t->reason);
	if (value->info.type == TB_TYPE_GEOMETRY)
		return tb_analyzer_refuse(a, GEOMETRY_KEY);
	if (!tb_type_is_text(value->info.type))
		return true;
	if (!OidIsValid(exprCollation((Node *) expr)))
		return tb_analyzer_refuse(a, "no collation is known for a grouping key");
	if (!get_collation_isdeterministic(exprCollation((Node *) expr)))
		return tb_analyzer_refuse(a, "a grouping key's collation is not deterministic");
	return true;
}

/* `shown`: the key's entry of the scan tuple. */
static void
add_translated_key(TbAnalyzer *a, const TbValue *value, int32 padding, Expr *expr,
				   Expr *shown, Index sortgroupref)
{
	TbOutput output = {0};

	tb_builder_add_key(a->t->builder, value);
	output.kind = TB_OUT_KEY;
	output.type = value->info.type;
	output.scale = value->info.scale;
	output.first = list_length(a->result->keys);
	output.display = TB_NONE;
	output.padding = padding;
	a->result->keys = lappend(a->result->keys, expr);
	a->key_values = lappend(a->key_values,
							memcpy(palloc(sizeof(*value)), value, sizeof(*value)));
	tb_analyzer_add_output(a, &output, shown, sortgroupref);
}

static bool
add_key(TbAnalyzer *a, Expr *expr, Index sortgroupref)
{
	TbValue value;
	int32	padding;

	if (!translate_key(a, expr, &value) ||
		!tb_output_padding(expr, &value, &padding, &a->reason))
		return false;
	add_translated_key(a, &value, padding, expr, expr, sortgroupref);
	return true;
}

/*
 * What aggregates with DISTINCT are of, behind all other keys: of rows that pass their
 * filter, so that there are fewer groups, and rows that do not pass cannot raise.
 * Expressions above may contain the same, where it depends on keys; they must not take it
 * from this column, which is NULL in folded groups.
 */
static bool
add_distinct_key(TbAnalyzer *a)
{
	Expr   *expr = tb_analyzer_has_common_filter(a) ?
		  filtered(a->distinct_filter, a->distinct) :
		  a->distinct;
	TbValue value;
	bool	conditional = a->filters_differ && !a->some_unfiltered;
	bool	translated;

	if (list_length(a->result->keys) >= TB_MAX_KEYS)
		return tb_analyzer_refuse(a, "the keys are too many");
	/* PostgreSQL computes it for rows that pass one of the filters. */
	a->t->conditional += conditional;
	translated = translate_key(a, expr, &value);
	a->t->conditional -= conditional;
	if (!translated)
		return false;
	/* How it prints matters to sums only. */
	if (!a->distinct_is_added)
		value.display_scale = TB_NONE;
	add_translated_key(a, &value, 0, a->distinct, hidden_key(expr), 0);
	return true;
}

/*
 * Makes keys of what computed keys and filters read, if it is none yet. For distinct
 * rows they are keys like others: that rows come several times is no harm.
 */
static bool
add_hidden_keys(TbAnalyzer *a, const List *exprs)
{
	List	 *inputs = NIL;
	ListCell *lc;

	/* What they read. */
	foreach(lc, exprs)
		if (!find_inputs(a->t, lfirst(lc), a->result->keys, &inputs))
			return tb_analyzer_refuse(a, a->t->reason);
	/* As keys. */
	foreach(lc, inputs)
	{
		Expr   *expr = lfirst(lc);
		bool	hidden = !a->result->request.distinct_input;
		TbValue value;
		int32	padding;

		if (list_length(a->result->keys) >= TB_MAX_KEYS)
			return tb_analyzer_refuse(a, "the keys are too many");
		if (!tb_translate(a->t, expr, &value) ||
			!tb_output_padding(expr, &value, &padding, &a->t->reason))
			return tb_analyzer_refuse(a, a->t->reason);
		if (value.info.type == TB_TYPE_GEOMETRY)
			return tb_analyzer_refuse(a, GEOMETRY_KEY);
		if (hidden)
			a->result->hidden |= UINT64CONST(1) << list_length(a->result->keys);
		add_translated_key(a, &value, padding, expr, hidden ? hidden_key(expr) : expr, 0);
	}
	return true;
}

/* Whether PostgreSQL may compute it of a group's columns. What those are is looked for
 * when all other keys are known; here, whether they can be keys. */
static bool
may_be_computed(TbAnalyzer *a, Expr *expr)
{
	List *inputs = NIL;

	return find_inputs(a->t, expr, a->result->keys, &inputs) &&
		/* In sets that lack it, PostgreSQL shows a constant all the same. */
		(a->result->request.sets == NIL || contain_var_clause((Node *) expr));
}

/* ---- Keys that follow from other keys ---- */

/* Whether the query looks at the key in an order or in windows above, where a device takes
 * a key of its own and no expression. */
static bool
is_ordered_by(const TbAnalyzer *a, Index sortgroupref)
{
	const Query *parse = a->root->parse;

	return parse->hasWindowFuncs ||
		(parse->distinctClause != NIL &&
		 parse->distinctClause != a->result->request.group_clause) ||
		get_sortgroupref_clause_noerr(sortgroupref, parse->sortClause) != NULL;
}

/* True of every row that raises nothing. */
static Expr *
is_evaluated(Expr *expr)
{
	NullTest *is_null = makeNode(NullTest);
	NullTest *is_not_null = makeNode(NullTest);

	is_null->arg = is_not_null->arg = expr;
	is_null->nulltesttype = IS_NULL;
	is_not_null->nulltesttype = IS_NOT_NULL;
	is_null->location = is_not_null->location = -1;
	return makeBoolExpr(OR_EXPR, list_make2(is_null, is_not_null), -1);
}

/*
 * Where PostgreSQL evaluates the key for each row, an error may be raised that nobody
 * would raise for groups that are dropped. So the device evaluates it for each row, too, as
 * a filter. Of joins it would do so before rows are joined.
 */
static bool
keep_errors(TbAnalyzer *a, Expr *expr)
{
	TbValue value;

	if (!tb_expression_may_raise((Node *) expr))
		return true;
	if (a->result->request.rel->reloptkind == RELOPT_JOINREL ||
		!tb_translate(a->t, is_evaluated(expr), &value))
		return false;
	tb_builder_add_filter(a->t->builder, &value);
	return true;
}

/*
 * `GROUP BY x, x - 1`: a key that is made of other keys makes no more groups. PostgreSQL
 * computes it once for each group that is returned, and the device hashes and keeps one key
 * less. `keys`: the grouping expressions that are columns.
 */
static bool
follows_from(TbAnalyzer *a, Expr *expr, Index sortgroupref, const List *keys)
{
	Followed followed = {.keys = keys};

	return a->result->request.sets == NIL && !IsA(expr, Var) &&
		!reads_more((Node *) expr, &followed) && followed.found &&
		!contain_volatile_functions((Node *) expr) &&
		!expression_returns_set((Node *) expr) && !has_other_nodes((Node *) expr, NULL) &&
		!is_ordered_by(a, sortgroupref) && keep_errors(a, expr);
}

/* As one that is computed: if all of these follow from keys, nothing is folded. */
static void
add_computed_clause(TbAnalyzer *a, Expr *expr)
{
	TbAggAnalysis *result = a->result;

	result->clause_keys = lappend_int(result->clause_keys,
									  -1 - list_length(result->computed));
	result->computed = lappend(result->computed, expr);
}

/* A grouping expression: a key of the device, one that is computed, or one more name of a
 * key. */
static bool
add_clause(TbAnalyzer *a, Expr *expr, Index sortgroupref)
{
	TbAggAnalysis *result = a->result;
	const char	  *reason;
	ListCell	  *lc;

	/* One more name of a key? */
	foreach(lc, result->keys)
		if (equal(lfirst(lc), expr))
		{
			/* The planner would take one column for both above the node. */
			if (result->request.sets != NIL)
				return tb_analyzer_refuse(a, "a key of grouping sets is repeated");
			result->clause_keys = lappend_int(result->clause_keys,
											  foreach_current_index(lc));
			return true;
		}
	/* A key of the device? */
	if (add_key(a, expr, sortgroupref))
	{
		result->clause_keys = lappend_int(result->clause_keys,
										  list_length(result->keys) - 1);
		return true;
	}
	/* Else PostgreSQL computes it. */
	reason = a->reason;
	if (!may_be_computed(a, expr) ||
		(result->request.sets != NIL && list_member(result->computed, expr)))
		return tb_analyzer_refuse(a, reason);
	add_computed_clause(a, expr);
	return true;
}

/* Grouping expressions that are columns. */
static List *
columns_among(const TbAnalyzer *a, const TbAggRequest *request)
{
	List	 *columns = NIL;
	ListCell *lc;

	foreach(lc, request->group_clause)
	{
		Expr *expr = tb_request_key(a->root, request, lfirst_node(SortGroupClause, lc));

		if (IsA(expr, Var))
			columns = lappend(columns, expr);
	}
	return columns;
}

/* Columns outside of aggregates that depend on keys (PostgreSQL knows from a primary
 * key) become keys too: one more makes no other groups. True if one can not be. */
static bool
dependent_walker(Node *node, TbAnalyzer *a)
{
	if (node == NULL || IsA(node, Aggref))
		return false;
	if (!IsA(node, List) &&
		(tb_analyzer_has_output(a, node) || list_member(a->result->computed, node)))
		return false;
	if (IsA(node, Var))
		return !add_key(a, (Expr *) node, 0);
	return expression_tree_walker(node, dependent_walker, a);
}

static bool
add_grouping_keys(TbAnalyzer *a, const TbAggRequest *request)
{
	List	 *columns = columns_among(a, request);
	ListCell *lc;

	foreach(lc, request->group_clause)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		Expr			*expr = tb_request_key(a->root, request, clause);

		if (follows_from(a, expr, clause->tleSortGroupRef, columns))
		{
			add_computed_clause(a, expr);
			a->result->following = lappend(a->result->following, expr);
		}
		else if (!add_clause(a, expr, clause->tleSortGroupRef))
			return false;
	}
	a->result->grouped_keys = list_length(a->result->keys);
	if (request->sets != NIL || request->group_clause == NIL)
		return true;
	return !dependent_walker((Node *) request->target->exprs, a) &&
		!dependent_walker((Node *) request->having, a);
}

/* Of rows that are to be distinct: all columns. */
static bool
add_input_columns(TbAnalyzer *a, const TbAggRequest *request)
{
	ListCell *lc;

	foreach(lc, request->target->exprs)
	{
		const char *reason;

		if (tb_analyzer_has_output(a, lfirst(lc)) || add_key(a, lfirst(lc), 0))
			continue;
		reason = a->reason;
		if (!may_be_computed(a, lfirst(lc)))
			return tb_analyzer_refuse(a, reason);
		a->result->computed = lappend(a->result->computed, lfirst(lc));
	}
	return true;
}

/* In the scan tuple, where expressions above may read the first `visible`; `kind`:
 * TB_OUT_COMPUTED_KEY or TB_OUT_GROUP_FILTER. */
static void
add_computed_outputs(TbAnalyzer *a, uint32 kind, List *exprs, int visible)
{
	ListCell *lc;

	foreach(lc, exprs)
	{
		Expr	*expr = lfirst(lc);
		TbOutput output = {0};

		output.kind = kind;
		output.display = TB_NONE;
		/* What has no columns may equal a parameter of the program, which must stay one; an
		 * argument has no value in folded groups. */
		output.second = foreach_current_index(lc) >= visible ||
			kind == TB_OUT_GROUP_FILTER || !contain_var_clause((Node *) expr);
		tb_analyzer_add_output(a, &output, output.second ? hidden_key(expr) : expr, 0);
	}
}

static bool
check_computed(TbAnalyzer *a)
{
	const TbAggAnalysis *result = a->result;

	if (list_length(result->keys) + list_length(result->computed) > TB_MAX_KEYS)
		return tb_analyzer_refuse(a, "the keys are too many");
	if (a->distinct != NULL)
		return tb_analyzer_refuse(
			a,
			"an aggregate with DISTINCT beside a filter or key that PostgreSQL computes");
	if (!grouping_is_hashable(result->request.group_clause))
		return tb_analyzer_refuse(a, "a grouping key can not be hashed");
	return true;
}

/* Keys that print with different scales: the states that tell. Those follow all
 * keys, so the keys are complete. */
static void
add_key_displays(TbAnalyzer *a)
{
	TbAggStates states = tb_analyzer_states(a);
	ListCell   *output;
	ListCell   *value;

	forboth(output, a->outputs, value, a->key_values)
	{
		TbOutput *out = lfirst(output);

		out->display = tb_agg_display_column(&states, TB_AGG_MAX, lfirst(value), NULL);
		out->least_display = tb_agg_display_column(&states, TB_AGG_MIN, lfirst(value),
												   NULL);
	}
}

/* count(*) > 0 */
static Expr *
any_row(void)
{
	Aggref *count = makeNode(Aggref);
	Const *zero = makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false,
							FLOAT8PASSBYVAL);

	count->aggfnoid = F_COUNT_;
	count->aggtype = INT8OID;
	count->aggstar = true;
	count->aggkind = AGGKIND_NORMAL;
	count->aggno = -1;
	count->aggtransno = -1;
	count->location = -1;
	return make_opclause(Int8LessOperator, BOOLOID, false, (Expr *) zero, (Expr *) count,
						 InvalidOid, InvalidOid);
}

bool
tb_analyzer_add_keys(TbAnalyzer *a)
{
	TbAggAnalysis	   *result = a->result;
	const TbAggRequest *request = &result->request;

	/* Keys of the query. */
	if (!(request->distinct_input ? add_input_columns(a, request) :
									add_grouping_keys(a, request)))
		return false;
	/* Arguments and filters that are computed. */
	if (!request->distinct_input && !find_computed_arguments(a))
		return false;
	result->computed = list_concat(result->computed, a->arguments);
	result->narguments = list_length(a->arguments);
	result->group_filters = get_actual_clauses(a->late_filters);
	/* What all of these read. */
	if (!add_hidden_keys(a, result->computed) || !add_hidden_keys(a, result->group_filters))
		return false;
	if (request->distinct_input)
		result->grouped_keys = list_length(result->keys);
	/* Is anything folded? */
	result->folds = result->hidden != 0 || request->sets != NIL || a->arguments != NIL;
	/* Without keys a device returns a group of no rows, too. */
	if (!result->folds && request->group_clause != NIL && result->keys == NIL)
		result->group_filters = lappend(result->group_filters, any_row());
	if (!result->folds)
		result->computed = NIL;
	else if ((result->hidden != 0 || result->computed != NIL) && !check_computed(a))
		return false;
	/* The key of DISTINCT is the last. */
	if (a->distinct != NULL && !add_distinct_key(a))
		return false;
	add_key_displays(a);
	/* Computed columns stand behind. */
	add_computed_outputs(a, TB_OUT_COMPUTED_KEY, result->computed,
						 list_length(result->computed) - result->narguments);
	if (result->folds)
		add_computed_outputs(a, TB_OUT_GROUP_FILTER, result->group_filters, 0);
	return true;
}

static uint32
state_column(TbAnalyzer *a, const TbComputedState *state)
{
	ListCell *lc;

	foreach(lc, a->result->computed_states)
		if (memcmp(lfirst(lc), state, sizeof(*state)) == 0)
			return TB_FOLDED_COLUMNS + foreach_current_index(lc);
	a->result->computed_states = lappend(a->result->computed_states,
										 memcpy(palloc(sizeof(*state)), state,
												sizeof(*state)));
	return TB_FOLDED_COLUMNS + list_length(a->result->computed_states) - 1;
}

/* The number of the argument among the computed keys, of which it stands behind those that
 * are grouped by. */
static uint32
computed_number(const TbAnalyzer *a, const ComputedAggregate *found)
{
	return list_length(a->result->computed) - list_length(a->arguments) + found->argument;
}

/* The device's aggregate without its FILTER, of groups that pass. */
static bool
filtered_output(TbAnalyzer *a, const ComputedAggregate *found, TbOutput *out)
{
	TbAggStates		states = tb_analyzer_states(a);
	const Aggref   *aggref = found->aggref;
	TbComputedState state = {0};
	TbValue			argument;
	TbValue		   *value = NULL;
	bool			translated = true;

	/* The device's own state. */
	if (aggref->args != NIL)
	{
		/* Rows that do not pass the filter do not evaluate it. */
		a->t->conditional++;
		translated = tb_translate(a->t, linitial_node(TargetEntry, aggref->args)->expr,
								  &argument);
		a->t->conditional--;
		value = &argument;
	}
	if (!translated)
		return tb_analyzer_refuse(a, a->t->reason);
	if (!tb_agg_choose_output(&states, aggref, value, NULL, out))
		return tb_analyzer_refuse(a, states.reason);
	/* Each takes part or not. */
	state.computed = computed_number(a, found);
	state.filtered = true;
	state.column = out->first;
	out->first = state_column(a, &state);
	if (out->kind == TB_OUT_AVG_NUMERIC || out->kind == TB_OUT_AVG_FLOAT8 ||
		out->kind == TB_OUT_EXTREME_NUMERIC)
	{
		state.column = out->second;
		out->second = state_column(a, &state);
	}
	if (out->display != TB_NONE)
	{
		state.column = out->display;
		out->display = state_column(a, &state);
	}
	return true;
}

/* A state of the computed value in so many rows. */
static uint32
value_column(TbAnalyzer *a, const ComputedAggregate *found, TbAggKind kind,
			 const TbTypeInfo *type)
{
	TbAggStates		states = tb_analyzer_states(a);
	TbComputedState state = {0};

	state.kind = kind;
	state.computed = computed_number(a, found);
	state.column = tb_agg_count_column(&states, NULL, NULL);
	if (kind != TB_AGG_COUNT)
	{
		state.is_bool = type->type == TB_TYPE_BOOL;
		state.type = state.is_bool ? TB_TYPE_INT4 : type->type;
	}
	return state_column(a, &state);
}

static void
value_output(TbAnalyzer *a, const ComputedAggregate *found, TbOutput *out)
{
	TbAggregateKind kind = tb_aggregate_kind(found->aggref->aggfnoid);
	Expr		   *argument = list_nth(a->arguments, found->argument);
	TbTypeInfo		type = {0};
	bool			least;

	out->display = TB_NONE;
	/* Counts. */
	if (kind == TB_AGGREGATE_COUNT)
	{
		out->kind = TB_OUT_VALUE;
		out->type = TB_TYPE_INT8;
		out->first = value_column(a, found, TB_AGG_COUNT, &type);
		return;
	}
	(void) tb_plain_type_of(exprType((Node *) argument), &type);
	/* Sums, and what is divided by a count. */
	if (kind == TB_AGGREGATE_SUM || kind == TB_AGGREGATE_AVG)
	{
		bool narrow = type.type != TB_TYPE_INT8;

		out->type = narrow ? TB_TYPE_INT8 : TB_TYPE_NUM128;
		out->first = value_column(a, found, narrow ? TB_AGG_SUM_INT : TB_AGG_SUM_WIDE,
								  &type);
		out->kind = narrow ? TB_OUT_VALUE : TB_OUT_SUM_NUMERIC;
		if (kind == TB_AGGREGATE_AVG)
		{
			out->kind = TB_OUT_AVG_NUMERIC;
			out->second = value_column(a, found, TB_AGG_COUNT, &type);
		}
		return;
	}
	/* Extremes; of booleans as numbers. */
	least = kind == TB_AGGREGATE_MIN || kind == TB_AGGREGATE_BOOL_AND;
	out->kind = type.type == TB_TYPE_BOOL ? TB_OUT_BOOL : TB_OUT_VALUE;
	out->type = type.type == TB_TYPE_BOOL ? TB_TYPE_INT4 : type.type;
	out->first = value_column(a, found, least ? TB_AGG_MIN : TB_AGG_MAX, &type);
}

bool
tb_computed_arguments_output(TbAnalyzer *a, const Aggref *aggref, TbOutput *out)
{
	ListCell *lc;

	foreach(lc, a->computed_aggregates)
	{
		const ComputedAggregate *found = lfirst(lc);

		if (!equal(found->aggref, aggref))
			continue;
		if (found->filtered)
			return filtered_output(a, found, out);
		value_output(a, found, out);
		return true;
	}
	return tb_analyzer_refuse(a, NULL);
}
