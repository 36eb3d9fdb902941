/*
 * analyze.c - GpuPreAgg: what of a query the device computes.
 *
 * Adds grouping expressions and Aggrefs to the program of a tree, and says
 * for each column of the node's scan tuple how it comes out of keys and states
 * (final_values.h). Whatever stands above them in the target list or in HAVING is
 * PostgreSQL's projection; it may refer to nothing else. Called by plan.c.
 *
 * What aggregates with DISTINCT count and add becomes a key, the last one, that no
 * expression above may refer to; their states are the backend's (set_fold.h).
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "pg/nodes/aggregate/aggregate_states.h"
#include "pg/nodes/aggregate/fold_estimate.h"
#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/planner/expression/aggregate_kind.h"
#include "pg/planner/program/output_column.h"
#include "pg/planner/expression/collation_order.h"
#include "pg/planner/join/join_program.h"

/* Columns of states of DISTINCT count from here until those of the program, which
 * come before them, are known. */
#define DISTINCT_COLUMNS 0x10000

typedef struct Analyzer
{
	PlannerInfo	  *root;
	TbTranslator  *t;				  /* of the main program */
	TbAggAnalysis *result;
	List		  *outputs;			  /* TbOutput * */
	List		  *key_values;		  /* TbValue * */
	Expr		  *distinct;		  /* argument of aggregates with DISTINCT, or NULL */
	bool		   distinct_is_added; /* by one of them; else it is only counted */
	Expr		  *distinct_filter;	  /* FILTER of the first of them, or NULL */
	bool		   filters_differ;	  /* not all of them have that */
	bool		   some_unfiltered;	  /* one of them has none */
	const char	  *reason;
} Analyzer;

static bool
refuse(Analyzer *a, const char *reason)
{
	a->reason = reason;
	return false;
}

static bool
translator_refused(Analyzer *a)
{
	return refuse(a, a->t->reason);
}

static void
add_output(Analyzer *a, const TbOutput *output, Expr *expr, Index sortgroupref)
{
	TbOutput	*copy = palloc(sizeof(TbOutput));
	AttrNumber	 number = list_length(a->result->scan_tlist) + 1;
	TargetEntry *entry = makeTargetEntry(expr, number, NULL, false);

	*copy = *output;
	a->outputs = lappend(a->outputs, copy);
	entry->ressortgroupref = sortgroupref;
	a->result->scan_tlist = lappend(a->result->scan_tlist, entry);
}

static bool
translate_key(Analyzer *a, Expr *expr, TbValue *value)
{
	/* A parameter as key would be confused with the program's own parameters. */
	if (!contain_var_clause((Node *) expr))
		return refuse(a, "a grouping key without columns");
	if (!tb_translate(a->t, expr, value))
		return translator_refused(a);
	if (!tb_type_is_text(value->info.type))
		return true;
	if (!OidIsValid(exprCollation((Node *) expr)))
		return refuse(a, "no collation is known for a grouping key");
	if (!get_collation_isdeterministic(exprCollation((Node *) expr)))
		return refuse(a, "a grouping key's collation is not deterministic");
	return true;
}

/* `shown`: the key's entry of the scan tuple. */
static void
add_translated_key(Analyzer *a, const TbValue *value, int32 padding, Expr *expr,
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
	add_output(a, &output, shown, sortgroupref);
}

static bool
add_key(Analyzer *a, Expr *expr, Index sortgroupref)
{
	TbValue value;
	int32	padding;

	if (!translate_key(a, expr, &value) ||
		!tb_output_padding(expr, &value, &padding, &a->reason))
		return false;
	add_translated_key(a, &value, padding, expr, expr, sortgroupref);
	return true;
}

/* Whether all aggregates with DISTINCT have the same FILTER. */
static bool
has_common_filter(const Analyzer *a)
{
	return a->distinct_filter != NULL && !a->filters_differ;
}

/* The value where the row passes that filter, else NULL, which is no value: of fewer
 * groups, and rows that do not pass can not raise. */
static Expr *
filtered_value(const Analyzer *a)
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
 * which is NULL in folded groups. Hence a node around it that they do not have.
 */
static bool
add_distinct_key(Analyzer *a)
{
	Expr   *expr = has_common_filter(a) ? filtered_value(a) : a->distinct;
	TbValue value;
	bool	conditional = a->filters_differ && !a->some_unfiltered;
	bool	translated;

	if (list_length(a->result->keys) >= TB_MAX_KEYS)
		return refuse(a, "the keys are too many");
	/* PostgreSQL computes it for rows that pass one of the filters. */
	a->t->conditional += conditional;
	translated = translate_key(a, expr, &value);
	a->t->conditional -= conditional;
	if (!translated)
		return false;
	/* How it prints matters to sums only. */
	if (!a->distinct_is_added)
		value.display_scale = TB_NONE;
	add_translated_key(a, &value, 0, a->distinct,
					   (Expr *) makeRelabelType(expr, exprType((Node *) expr),
												exprTypmod((Node *) expr),
												exprCollation((Node *) expr),
												COERCE_IMPLICIT_CAST),
					   0);
	return true;
}

/* A bit for each key of each set; the keys are complete. */
static void
add_sets(Analyzer *a)
{
	const TbAggRequest *request = &a->result->request;
	int					count = 0;
	ListCell		   *set;
	ListCell		   *key;

	a->result->nsets = a->distinct != NULL ? 1 : list_length(request->sets);
	a->result->sets = palloc0(sizeof(uint64) * Max(a->result->nsets, 1));
	if (a->distinct != NULL)
		a->result->sets[0] = (UINT64CONST(1) << (list_length(a->result->keys) - 1)) - 1;
	foreach(set, request->sets)
	{
		foreach(key, request->group_clause)
			if (list_member_int(lfirst(set),
								lfirst_node(SortGroupClause, key)->tleSortGroupRef))
				a->result->sets[count] |= UINT64CONST(1) << foreach_current_index(key);
		count++;
	}
}

/* GROUPING() of these keys: in each set a bit for those that it lacks, the last
 * argument's the lowest. */
static bool
add_grouping(Analyzer *a, GroupingFunc *function)
{
	TbOutput  output = {0};
	int		  nsets = list_length(a->result->request.sets);
	ListCell *set;

	if (function->agglevelsup != 0 || nsets == 0)
		return refuse(a, "GROUPING of another query level, or without grouping sets");
	foreach(set, a->result->request.sets)
	{
		int		  value = 0;
		ListCell *ref;

		foreach(ref, function->refs)
			value = value << 1 | !list_member_int(lfirst(set), lfirst_int(ref));
		a->result->functions = lappend_int(a->result->functions, value);
	}
	output.kind = TB_OUT_GROUPING;
	output.second = list_length(a->result->functions) / nsets - 1;
	output.display = TB_NONE;
	add_output(a, &output, (Expr *) function, 0);
	return true;
}

/* States follow the keys, which are complete as soon as there is one. */
static TbAggStates
states_of(Analyzer *a)
{
	TbAggStates states = {.translator = a->t, .nkeys = list_length(a->result->keys)};

	return states;
}

/* Keys that print with different scales: the states that tell. Those follow all
 * keys, so the keys are complete. */
static void
add_key_displays(Analyzer *a)
{
	TbAggStates states = states_of(a);
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

/* Minima and maxima are the same however often a value comes. */
static bool
is_of_distinct_values(const Aggref *aggref)
{
	TbAggregateKind kind = tb_aggregate_kind(aggref->aggfnoid);

	return aggref->aggdistinct != NIL &&
		(kind == TB_AGGREGATE_COUNT || kind == TB_AGGREGATE_SUM ||
		 kind == TB_AGGREGATE_AVG);
}

/* The column of a state of distinct values, taken from a column of the groups. */
static uint32
distinct_column(Analyzer *a, TbAggKind kind, uint32 column, uint32 type, uint32 counter)
{
	TbDistinct *distinct = palloc0(sizeof(TbDistinct));
	ListCell   *lc;

	distinct->kind = kind;
	distinct->column = column;
	distinct->type = type;
	distinct->counter = counter;
	foreach(lc, a->result->distincts)
		if (memcmp(lfirst(lc), distinct, sizeof(*distinct)) == 0)
			return DISTINCT_COLUMNS + foreach_current_index(lc);
	a->result->distincts = lappend(a->result->distincts, distinct);
	return DISTINCT_COLUMNS + list_length(a->result->distincts) - 1;
}

/* count, sum, avg of the last key, where there is one; with a filter: where some row of
 * the group has passed it. */
static void
distinct_output(Analyzer *a, const Aggref *aggref, const TbValue *filter, TbOutput *out)
{
	TbAggStates		states = states_of(a);
	int				key = list_length(a->result->keys) - 1;
	const TbValue  *arg = list_nth(a->key_values, key);
	uint32			display = ((TbOutput *) list_nth(a->outputs, key))->display;
	TbAggregateKind kind = tb_aggregate_kind(aggref->aggfnoid);
	uint32			type = arg->info.type;
	uint32 counter = filter != NULL ? tb_agg_count_column(&states, arg, filter) : TB_NONE;
	bool   is_narrow = type == TB_TYPE_INT2 || type == TB_TYPE_INT4;

	out->scale = arg->info.scale;
	out->display = TB_NONE;
	if (kind != TB_AGGREGATE_SUM)
		out->second = distinct_column(a, TB_AGG_COUNT, key, type, counter);
	if (kind == TB_AGGREGATE_COUNT)
	{
		out->kind = TB_OUT_VALUE;
		out->type = TB_TYPE_INT8;
		out->first = out->second;
		return;
	}
	out->type = is_narrow ? TB_TYPE_INT8 : TB_TYPE_NUM128;
	out->first = distinct_column(a, is_narrow ? TB_AGG_SUM_INT : TB_AGG_SUM_WIDE, key, type,
								 counter);
	if (display != TB_NONE)
		out->display = distinct_column(a, TB_AGG_MAX, display, TB_TYPE_INT4, counter);
	out->kind = kind == TB_AGGREGATE_AVG ? TB_OUT_AVG_NUMERIC :
		is_narrow						 ? TB_OUT_VALUE :
										   TB_OUT_SUM_NUMERIC;
}

static bool
add_aggref(Analyzer *a, Aggref *aggref)
{
	TbValue		arg;
	TbValue		filter;
	TbValue	   *arg_ptr = NULL;
	TbValue	   *filter_ptr = NULL;
	TbAggStates states = states_of(a);
	TbOutput	out = {0};

	if (aggref->aggorder != NIL)
		return refuse(a, "an aggregate with ORDER BY");
	if (aggref->aggkind != AGGKIND_NORMAL || aggref->aggvariadic ||
		aggref->agglevelsup != 0 || list_length(aggref->args) > 1)
		return refuse(a, "an aggregate of several arguments");
	if (aggref->args != NIL && !is_of_distinct_values(aggref))
	{
		bool translated;

		/* Rows that do not pass the filter do not evaluate it. */
		a->t->conditional += aggref->aggfilter != NULL;
		translated = tb_translate(a->t, linitial_node(TargetEntry, aggref->args)->expr,
								  &arg);
		a->t->conditional -= aggref->aggfilter != NULL;
		if (!translated)
			return translator_refused(a);
		arg_ptr = &arg;
	}
	/* The key holds the filter of all with DISTINCT. */
	if (aggref->aggfilter != NULL &&
		!(is_of_distinct_values(aggref) && has_common_filter(a)))
	{
		if (!tb_translate(a->t, aggref->aggfilter, &filter))
			return translator_refused(a);
		filter_ptr = &filter;
	}
	if (is_of_distinct_values(aggref))
		distinct_output(a, aggref, filter_ptr, &out);
	else if (!tb_agg_choose_output(&states, aggref, arg_ptr, filter_ptr, &out))
		return refuse(a, states.reason);
	add_output(a, &out, (Expr *) aggref, 0);
	return true;
}

static bool
is_in_scan_tlist(const Analyzer *a, Node *node)
{
	return tlist_member((Expr *) node, a->result->scan_tlist) != NULL;
}

/* Their states are made of single values, so these must be the same in all of them. */
static bool
add_distinct_argument(Analyzer *a, const Aggref *aggref)
{
	Expr *arg = linitial_node(TargetEntry, aggref->args)->expr;
	Oid	  type = exprType((Node *) arg);

	if (a->result->request.sets != NIL)
		return refuse(a, "an aggregate with DISTINCT over grouping sets");
	if (a->distinct != NULL && !equal(a->distinct, arg))
		return refuse(a, "aggregates with DISTINCT of different arguments");
	if (a->distinct == NULL)
		a->distinct_filter = aggref->aggfilter;
	else if (!equal(a->distinct_filter, aggref->aggfilter))
		a->filters_differ = true;
	a->some_unfiltered = a->some_unfiltered || aggref->aggfilter == NULL;
	a->distinct = arg;
	if (tb_aggregate_kind(aggref->aggfnoid) == TB_AGGREGATE_COUNT)
		return true;
	a->distinct_is_added = true;
	/* PostgreSQL adds them in ascending order, so the last digits are certain. */
	if (type == FLOAT4OID || type == FLOAT8OID)
		return refuse(
			a, "a sum of distinct floating-point numbers, which depends on their order");
	return true;
}

/* Looks for what aggregates with DISTINCT are of; true (and a reason) if it is no key. */
static bool
distinct_walker(Node *node, Analyzer *a)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
		return is_of_distinct_values((Aggref *) node) &&
			!add_distinct_argument(a, (Aggref *) node);
	return expression_tree_walker(node, distinct_walker, a);
}

/* Collects Aggrefs; true (and a reason) where something else is referred to. */
static bool
collect_walker(Node *node, Analyzer *a)
{
	if (node == NULL)
		return false;
	if (!IsA(node, List) && is_in_scan_tlist(a, node))
		return false;
	switch (nodeTag(node))
	{
		case T_Aggref:
			return !add_aggref(a, (Aggref *) node);
		case T_Var:
			return !refuse(a,
						   "a column that is neither grouped nor aggregated is returned");
		case T_GroupingFunc:
			return !add_grouping(a, (GroupingFunc *) node);
		case T_PlaceHolderVar:
		case T_WindowFunc:
			return !refuse(a, "an expression of a kind that devices do not compute");
		default:
			return expression_tree_walker(node, collect_walker, a);
	}
}

/* Columns outside of aggregates that depend on keys (PostgreSQL knows from a primary
 * key) become keys too: one more makes no other groups. True if one can not be. */
static bool
dependent_walker(Node *node, Analyzer *a)
{
	if (node == NULL || IsA(node, Aggref) ||
		(!IsA(node, List) && is_in_scan_tlist(a, node)))
		return false;
	if (IsA(node, Var))
		return !add_key(a, (Expr *) node, 0);
	return expression_tree_walker(node, dependent_walker, a);
}

static bool
add_keys(Analyzer *a, const TbAggRequest *request)
{
	ListCell *lc;

	if (request->distinct_input)
	{
		foreach(lc, request->target->exprs)
			if (!is_in_scan_tlist(a, lfirst(lc)) && !add_key(a, lfirst(lc), 0))
				return false;
		a->result->grouped_keys = list_length(a->result->keys);
		return true;
	}
	foreach(lc, request->group_clause)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);

		if (!add_key(a, (Expr *) get_sortgroupclause_expr(clause, a->root->processed_tlist),
					 clause->tleSortGroupRef))
			return false;
	}
	a->result->grouped_keys = list_length(a->result->keys);
	if (request->sets != NIL || request->group_clause == NIL)
		return true;
	return !dependent_walker((Node *) request->target->exprs, a) &&
		!dependent_walker((Node *) request->having, a);
}

static bool
build(Analyzer *a, const TbAggRequest *request)
{
	if (!request->distinct_input &&
		(distinct_walker((Node *) request->target->exprs, a) ||
		 distinct_walker((Node *) request->having, a)))
		return false;
	if (!add_keys(a, request) || (a->distinct != NULL && !add_distinct_key(a)))
		return false;
	add_key_displays(a);
	add_sets(a);
	if (collect_walker((Node *) request->target->exprs, a) ||
		collect_walker((Node *) request->having, a))
		return false;
	if (a->result->scan_tlist == NIL)
		return refuse(a, "nothing is grouped or aggregated");
	return true;
}

/*
 * With the key of DISTINCT as if it did not depend on the others. PostgreSQL guesses a
 * tenth of a table's rows at the most; that is fair as a number of rows that come out,
 * but each of these groups costs, and an index in their order should win then.
 */
static void
estimate_groups(PlannerInfo *root, TbAggAnalysis *result)
{
	List  *keys = list_truncate(list_copy(result->keys), result->grouped_keys);
	double rows = result->request.rel->rows;
	double pairs;

	result->result_groups = keys == NIL ? 1 :
										  estimate_num_groups(root, keys, rows, NULL, NULL);
	result->groups = result->result_groups;
	if (result->distincts == NIL)
		return;
	pairs = result->result_groups *
		estimate_num_groups(root, list_make1(llast(result->keys)), rows, NULL, NULL);
	result->groups = clamp_row_est(-expm1(-rows / pairs) * pairs);
}

/* The program is complete: where the states of DISTINCT begin is known. */
static void
place_distinct(uint32 *column, uint32 begin)
{
	if (*column != TB_NONE && *column >= DISTINCT_COLUMNS)
		*column += begin - DISTINCT_COLUMNS;
}

static void
store_outputs(Analyzer *a)
{
	const TbProgram *program = ((TbStage *) llast(a->result->stages))->program;
	uint32			 begin = list_length(a->result->keys) + program->aggs.count;
	ListCell		*lc;
	int				 i = 0;

	a->result->outputs = palloc(sizeof(TbOutput) * list_length(a->outputs));
	foreach(lc, a->outputs)
	{
		TbOutput *output = &a->result->outputs[i++];

		*output = *(TbOutput *) lfirst(lc);
		place_distinct(&output->first, begin);
		place_distinct(&output->second, begin);
		place_distinct(&output->display, begin);
	}
}

TbAggAnalysis *
tb_preagg_analyze(PlannerInfo *root, const TbAggRequest *request, const char **reason)
{
	TbJoinProgram *program = tb_join_program_begin(root, request->tree, reason);
	Analyzer	   a = {0};

	if (program == NULL)
		return NULL;
	a.root = root;
	a.result = palloc0(sizeof(TbAggAnalysis));
	a.result->request = *request;
	a.t = tb_join_program_translator(program);
	if (build(&a, request))
		a.result->stages = tb_join_program_finish(program, TB_SINK_AGGREGATE, &a.reason);
	tb_join_program_end(program);
	if (a.result->stages == NIL)
	{
		*reason = a.reason;
		return NULL;
	}
	store_outputs(&a);
	a.result->work = ((TbStage *) llast(a.result->stages))->info.work;
	estimate_groups(root, a.result);
	tb_estimate_folding(root, a.result);
	return a.result;
}
