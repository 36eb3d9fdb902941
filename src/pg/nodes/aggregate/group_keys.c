/*
 * group_keys.c - GpuPreAgg: what the device groups by, and what PostgreSQL computes of it.
 *
 * The device's keys are, in this order: grouping expressions that it has, columns that
 * depend on them, what computed keys and filters read (hidden keys), what aggregates with
 * DISTINCT are of. Behind them in the scan tuple stand the computed keys, then the filters.
 * Where everything that is computed depends on keys that are grouped by, there is nothing
 * to fold: the projection above computes it, and the filters are the node's.
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

#include "pg/nodes/aggregate/analyzer.h"
#include "pg/nodes/aggregate/computed_arguments.h"
#include "pg/nodes/aggregate/computed_columns.h"
#include "pg/planner/program/output_column.h"

static bool
refuse_key(TbAnalyzer *a, const char *reason)
{
	return tb_analyzer_refuse(a, reason);
}

static bool
translate_key(TbAnalyzer *a, Expr *expr, TbValue *value)
{
	/* A parameter as key would be confused with the program's own parameters. */
	if (!contain_var_clause((Node *) expr))
		return refuse_key(a, "a grouping key without columns");
	if (!tb_translate(a->t, expr, value))
		return refuse_key(a, a->t->reason);
	if (!tb_type_is_text(value->info.type))
		return true;
	if (!OidIsValid(exprCollation((Node *) expr)))
		return refuse_key(a, "no collation is known for a grouping key");
	if (!get_collation_isdeterministic(exprCollation((Node *) expr)))
		return refuse_key(a, "a grouping key's collation is not deterministic");
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

/* The value where the row passes that filter, else NULL, which is no value: of fewer
 * groups, and rows that do not pass can not raise. */
static Expr *
filtered_value(const TbAnalyzer *a)
{
	Node	 *value = (Node *) a->distinct;
	CaseExpr *expr = makeNode(CaseExpr);
	CaseWhen *when = makeNode(CaseWhen);

	when->expr = a->distinct_filter;
	when->result = a->distinct;
	when->location = -1;
	expr->casetype = exprType(value);
	expr->casecollid = exprCollation(value);
	expr->args = list_make1(when);
	expr->defresult = (Expr *) makeNullConst(exprType(value), exprTypmod(value),
											 exprCollation(value));
	expr->location = -1;
	return (Expr *) expr;
}

/*
 * What aggregates with DISTINCT are of, behind all other keys. Expressions above may
 * contain the same, where it depends on keys; they must not take it from this column,
 * which is NULL in folded groups.
 */
static bool
add_distinct_key(TbAnalyzer *a)
{
	Expr   *expr = tb_analyzer_has_common_filter(a) ? filtered_value(a) : a->distinct;
	TbValue value;
	bool	conditional = a->filters_differ && !a->some_unfiltered;
	bool	translated;

	if (list_length(a->result->keys) >= TB_MAX_KEYS)
		return refuse_key(a, "the keys are too many");
	/* PostgreSQL computes it for rows that pass one of the filters. */
	a->t->conditional += conditional;
	translated = translate_key(a, expr, &value);
	a->t->conditional -= conditional;
	if (!translated)
		return false;
	/* How it prints matters to sums only. */
	if (!a->distinct_is_added)
		value.display_scale = TB_NONE;
	add_translated_key(a, &value, 0, a->distinct, tb_hidden_key(expr), 0);
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

	foreach(lc, exprs)
		if (!tb_computed_inputs(a->t, lfirst(lc), a->result->keys, &inputs))
			return refuse_key(a, a->t->reason);
	foreach(lc, inputs)
	{
		Expr   *expr = lfirst(lc);
		bool	hidden = !a->result->request.distinct_input;
		TbValue value;
		int32	padding;

		if (list_length(a->result->keys) >= TB_MAX_KEYS)
			return refuse_key(a, "the keys are too many");
		if (!tb_translate(a->t, expr, &value) ||
			!tb_output_padding(expr, &value, &padding, &a->t->reason))
			return refuse_key(a, a->t->reason);
		if (hidden)
			a->result->hidden |= UINT64CONST(1) << list_length(a->result->keys);
		add_translated_key(a, &value, padding, expr, hidden ? tb_hidden_key(expr) : expr,
						   0);
	}
	return true;
}

/* Whether PostgreSQL may compute it of a group's columns. What those are is looked for
 * when all other keys are known; here, whether they can be keys. */
static bool
may_be_computed(TbAnalyzer *a, Expr *expr)
{
	List *inputs = NIL;

	return tb_computed_inputs(a->t, expr, a->result->keys, &inputs) &&
		/* In sets that lack it, PostgreSQL shows a constant all the same. */
		(a->result->request.sets == NIL || contain_var_clause((Node *) expr));
}

/* A grouping expression: a key of the device, one that is computed, or one more name of a
 * key. */
static bool
add_clause(TbAnalyzer *a, Expr *expr, Index sortgroupref)
{
	TbAggAnalysis *result = a->result;
	const char	  *reason;
	ListCell	  *lc;

	foreach(lc, result->keys)
		if (equal(lfirst(lc), expr))
		{
			/* The planner would take one column for both above the node. */
			if (result->request.sets != NIL)
				return refuse_key(a, "a key of grouping sets is repeated");
			result->clause_keys = lappend_int(result->clause_keys,
											  foreach_current_index(lc));
			return true;
		}
	if (add_key(a, expr, sortgroupref))
	{
		result->clause_keys = lappend_int(result->clause_keys,
										  list_length(result->keys) - 1);
		return true;
	}
	reason = a->reason;
	if (!may_be_computed(a, expr) ||
		(result->request.sets != NIL && list_member(result->computed, expr)))
		return refuse_key(a, reason);
	result->clause_keys = lappend_int(result->clause_keys,
									  -1 - list_length(result->computed));
	result->computed = lappend(result->computed, expr);
	return true;
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
	ListCell *lc;

	foreach(lc, request->group_clause)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		Node			*expr = get_sortgroupclause_expr(clause, a->root->processed_tlist);

		if (!add_clause(a, (Expr *) expr, clause->tleSortGroupRef))
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
			return refuse_key(a, reason);
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
		tb_analyzer_add_output(a, &output, output.second ? tb_hidden_key(expr) : expr, 0);
	}
}

static bool
check_computed(TbAnalyzer *a)
{
	const TbAggAnalysis *result = a->result;

	if (list_length(result->keys) + list_length(result->computed) > TB_MAX_KEYS)
		return refuse_key(a, "the keys are too many");
	if (a->distinct != NULL)
		return refuse_key(
			a,
			"an aggregate with DISTINCT beside a filter or key that PostgreSQL computes");
	if (!grouping_is_hashable(result->request.group_clause))
		return refuse_key(a, "a grouping key can not be hashed");
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

	if (!(request->distinct_input ? add_input_columns(a, request) :
									add_grouping_keys(a, request)))
		return false;
	if (!request->distinct_input && !tb_computed_arguments_find(a))
		return false;
	result->computed = list_concat(result->computed, a->arguments);
	result->narguments = list_length(a->arguments);
	result->group_filters = get_actual_clauses(a->late_filters);
	if (!add_hidden_keys(a, result->computed) || !add_hidden_keys(a, result->group_filters))
		return false;
	if (request->distinct_input)
		result->grouped_keys = list_length(result->keys);
	result->folds = result->hidden != 0 || request->sets != NIL || a->arguments != NIL;
	/* Without keys a device returns a group of no rows, too. */
	if (!result->folds && request->group_clause != NIL && result->keys == NIL)
		result->group_filters = lappend(result->group_filters, any_row());
	if (!result->folds)
		result->computed = NIL;
	else if ((result->hidden != 0 || result->computed != NIL) && !check_computed(a))
		return false;
	if (a->distinct != NULL && !add_distinct_key(a))
		return false;
	add_key_displays(a);
	add_computed_outputs(a, TB_OUT_COMPUTED_KEY, result->computed,
						 list_length(result->computed) - result->narguments);
	if (result->folds)
		add_computed_outputs(a, TB_OUT_GROUP_FILTER, result->group_filters, 0);
	return true;
}
