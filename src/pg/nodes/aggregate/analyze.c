/*
 * analyze.c - GpuPreAgg: what of a query the device computes.
 *
 * Adds grouping expressions and Aggrefs to the program of a tree, and says
 * for each column of the node's scan tuple how it comes out of keys and states
 * (final.h). Whatever stands above them in the target list or in HAVING is
 * PostgreSQL's projection; it may refer to nothing else. Called by plan.c.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"
#include "utils/selfuncs.h"

#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/aggregate_kind.h"
#include "pg/nodes/output_column.h"
#include "pg/planner/join_program.h"

typedef struct Analyzer
{
	PlannerInfo *root;
	TbTranslator *t;				/* of the main program */
	TbAggAnalysis *result;
	List	   *outputs;			/* TbOutput * */
	List	   *key_values;			/* TbValue * */
	const char *reason;
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
	TbOutput   *copy = palloc(sizeof(TbOutput));
	AttrNumber	number = list_length(a->result->scan_tlist) + 1;
	TargetEntry *entry = makeTargetEntry(expr, number, NULL, false);

	*copy = *output;
	a->outputs = lappend(a->outputs, copy);
	entry->ressortgroupref = sortgroupref;
	a->result->scan_tlist = lappend(a->result->scan_tlist, entry);
}

static bool
add_key(Analyzer *a, Expr *expr, Index sortgroupref)
{
	TbValue		value;
	TbOutput	output = {0};

	/* A parameter as key would be confused with the program's own parameters. */
	if (!contain_var_clause((Node *) expr))
		return refuse(a, "a grouping key without columns");
	if (!tb_translate(a->t, expr, &value))
		return translator_refused(a);
	if (tb_type_is_text(value.info.type) &&
		OidIsValid(exprCollation((Node *) expr)) &&
		!get_collation_isdeterministic(exprCollation((Node *) expr)))
		return refuse(a, "a grouping key's collation is not deterministic");
	if (!tb_output_padding(expr, &value, &output.padding, &a->reason))
		return false;
	tb_builder_add_key(a->t->builder, &value);
	output.kind = TB_OUT_KEY;
	output.type = value.info.type;
	output.scale = value.info.scale;
	output.first = list_length(a->result->keys);
	output.display = TB_NONE;
	a->result->keys = lappend(a->result->keys, expr);
	a->key_values = lappend(a->key_values, memcpy(palloc(sizeof(value)), &value, sizeof(value)));
	add_output(a, &output, expr, sortgroupref);
	return true;
}

/* A bit for each key of each set; the keys are complete. */
static void
add_sets(Analyzer *a)
{
	const TbAggRequest *request = &a->result->request;
	int			count = 0;
	ListCell   *set;
	ListCell   *key;

	a->result->sets = palloc0(sizeof(uint64) * Max(list_length(request->sets), 1));
	foreach(set, request->sets)
	{
		foreach(key, request->group_clause)
			if (list_member_int(lfirst(set), lfirst_node(SortGroupClause, key)->tleSortGroupRef))
				a->result->sets[count] |= UINT64CONST(1) << foreach_current_index(key);
		count++;
	}
}

/* GROUPING() of these keys: in each set a bit for those that it lacks, the last
 * argument's the lowest. */
static bool
add_grouping(Analyzer *a, GroupingFunc *function)
{
	TbOutput	output = {0};
	int			nsets = list_length(a->result->request.sets);
	ListCell   *set;

	if (function->agglevelsup != 0 || nsets == 0)
		return refuse(a, "GROUPING of another query level, or without grouping sets");
	foreach(set, a->result->request.sets)
	{
		int			value = 0;
		ListCell   *ref;

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

/* The column of a state: states follow the keys. */
static uint32
state_column(Analyzer *a, TbAggKind kind, const TbValue *arg, const TbValue *filter)
{
	return list_length(a->result->keys) +
		tb_builder_add_agg(a->t->builder, kind, arg, filter);
}

static uint32
count_column(Analyzer *a, const TbValue *arg, const TbValue *filter)
{
	return state_column(a, TB_AGG_COUNT, arg && arg->nullable ? arg : NULL, filter);
}

/* The column of the largest display scale among the values (or the smallest, for
 * MIN). A NULL value's scale does not count. */
static uint32
display_column(Analyzer *a, TbAggKind kind, const TbValue *arg, const TbValue *filter)
{
	TbBuilder  *b = a->t->builder;
	TbTypeInfo	boolean = {TB_TYPE_BOOL, 0, 0};
	TbValue		scale = {0};
	TbValue		conditions[2];
	TbValue		condition;

	if (arg->display_scale == TB_NONE)
		return TB_NONE;
	scale.expr = arg->display_scale;
	scale.info.type = TB_TYPE_INT4;
	scale.display_scale = TB_NONE;
	conditions[0] = tb_builder_node(b, TB_EXPR_IS_NOT_NULL, boolean, 0, 1, arg, false);
	condition = conditions[0];
	if (filter != NULL)
	{
		conditions[1] = *filter;
		condition = tb_builder_node(b, TB_EXPR_AND, boolean, 0, 2, conditions,
									filter->nullable);
	}
	return state_column(a, kind, &scale, &condition);
}

/* Keys that print with different scales: the states that tell. Those follow all
 * keys, so the keys are complete. */
static void
add_key_displays(Analyzer *a)
{
	ListCell   *output;
	ListCell   *value;

	forboth(output, a->outputs, value, a->key_values)
	{
		TbOutput   *out = lfirst(output);

		out->display = display_column(a, TB_AGG_MAX, lfirst(value), NULL);
		out->least_display = display_column(a, TB_AGG_MIN, lfirst(value), NULL);
	}
}

static bool
sum_output(Analyzer *a, const TbValue *arg, const TbValue *filter, TbOutput *out)
{
	switch (arg->info.type)
	{
		case TB_TYPE_INT2:
		case TB_TYPE_INT4:
			out->kind = TB_OUT_VALUE;
			out->type = TB_TYPE_INT8;
			out->first = state_column(a, TB_AGG_SUM_INT, arg, filter);
			return true;
		case TB_TYPE_INT8:
		case TB_TYPE_NUM64:
		case TB_TYPE_NUM128:
			out->kind = TB_OUT_SUM_NUMERIC;
			out->type = TB_TYPE_NUM128;
			out->first = state_column(a, TB_AGG_SUM_WIDE, arg, filter);
			out->display = display_column(a, TB_AGG_MAX, arg, filter);
			return true;
		case TB_TYPE_FLOAT4:
		case TB_TYPE_FLOAT8:
			out->kind = arg->info.type == TB_TYPE_FLOAT4 ? TB_OUT_SUM_FLOAT4 : TB_OUT_SUM_FLOAT8;
			out->type = TB_TYPE_FLOAT8;
			out->first = state_column(a, TB_AGG_SUM_FLOAT, arg, filter);
			return true;
		default:
			return refuse(a, "sum or avg of a type that devices do not sum");
	}
}

static bool
avg_output(Analyzer *a, const TbValue *arg, const TbValue *filter, TbOutput *out)
{
	if (!sum_output(a, arg, filter, out))
		return false;
	if (out->type == TB_TYPE_FLOAT8)
		out->kind = TB_OUT_AVG_FLOAT8;
	else
		out->kind = TB_OUT_AVG_NUMERIC;
	out->second = count_column(a, arg, filter);
	return true;
}

/* min, max of a numeric whose values print with different scales */
static bool
extreme_numeric_output(Analyzer *a, TbAggKind kind, const TbValue *arg,
					   const TbValue *filter, TbOutput *out)
{
	TbValue		above;
	TbValue		below;

	if (!tb_numeric_with_display(a->t, arg, false, &above) ||
		!tb_numeric_with_display(a->t, arg, true, &below))
		return translator_refused(a);
	out->kind = TB_OUT_EXTREME_NUMERIC;
	out->type = above.info.type;
	out->first = state_column(a, kind, &above, filter);
	out->second = state_column(a, kind, &below, filter);
	return true;
}

/* bool_and, bool_or: min, max of 0 and 1 */
static bool
bool_output(Analyzer *a, TbAggKind kind, const TbValue *arg, const TbValue *filter,
			TbOutput *out)
{
	TbTypeInfo	integer = {TB_TYPE_INT4, 0, 0};
	TbValue		number = tb_builder_node(a->t->builder, TB_EXPR_CALL, integer,
										 TB_FN_BOOL_TO_INT4, 1, arg, arg->nullable);

	out->kind = TB_OUT_BOOL;
	out->type = TB_TYPE_INT4;
	out->first = state_column(a, kind, &number, filter);
	return true;
}

static bool
extreme_output(Analyzer *a, const Aggref *aggref, TbAggKind kind,
			   const TbValue *arg, const TbValue *filter, TbOutput *out)
{
	Expr	   *expr = linitial_node(TargetEntry, aggref->args)->expr;

	if (tb_type_is_text(arg->info.type) && !lc_collate_is_c(aggref->inputcollid))
		return refuse(a, "min or max of text by a collation other than C");
	if (arg->info.type == TB_TYPE_BOOL)
		return refuse(a, "min or max of boolean");
	if (arg->display_scale != TB_NONE)
		return extreme_numeric_output(a, kind, arg, filter, out);
	if (!tb_output_padding(expr, arg, &out->padding, &a->reason))
		return false;
	out->kind = TB_OUT_VALUE;
	out->type = arg->info.type;
	out->first = state_column(a, kind, arg, filter);
	return true;
}

static bool
choose_output(Analyzer *a, const Aggref *aggref, const TbValue *arg,
			  const TbValue *filter, TbOutput *out)
{
	out->display = TB_NONE;
	out->scale = arg ? arg->info.scale : 0;
	switch (tb_aggregate_kind(aggref->aggfnoid))
	{
		case TB_AGGREGATE_COUNT:
			out->kind = TB_OUT_VALUE;
			out->type = TB_TYPE_INT8;
			out->first = count_column(a, arg, filter);
			return true;
		case TB_AGGREGATE_SUM:
			return sum_output(a, arg, filter, out);
		case TB_AGGREGATE_AVG:
			return avg_output(a, arg, filter, out);
		case TB_AGGREGATE_MIN:
			return extreme_output(a, aggref, TB_AGG_MIN, arg, filter, out);
		case TB_AGGREGATE_MAX:
			return extreme_output(a, aggref, TB_AGG_MAX, arg, filter, out);
		case TB_AGGREGATE_BOOL_AND:
			return bool_output(a, TB_AGG_MIN, arg, filter, out);
		case TB_AGGREGATE_BOOL_OR:
			return bool_output(a, TB_AGG_MAX, arg, filter, out);
		case TB_AGGREGATE_UNKNOWN:
			break;
	}
	return refuse(a, psprintf("aggregate %s is not in the catalogue",
							  get_func_name(aggref->aggfnoid)));
}

static bool
add_aggref(Analyzer *a, Aggref *aggref)
{
	TbValue		arg;
	TbValue		filter;
	TbValue    *arg_ptr = NULL;
	TbValue    *filter_ptr = NULL;
	TbOutput	out = {0};

	if (aggref->aggdistinct != NIL || aggref->aggorder != NIL)
		return refuse(a, "an aggregate with DISTINCT or ORDER BY");
	if (aggref->aggkind != AGGKIND_NORMAL || aggref->aggvariadic ||
		aggref->agglevelsup != 0 || list_length(aggref->args) > 1)
		return refuse(a, "an aggregate of several arguments");
	if (aggref->args != NIL)
	{
		bool		translated;

		/* Rows that do not pass the filter do not evaluate it. */
		a->t->conditional += aggref->aggfilter != NULL;
		translated = tb_translate(a->t, linitial_node(TargetEntry, aggref->args)->expr, &arg);
		a->t->conditional -= aggref->aggfilter != NULL;
		if (!translated)
			return translator_refused(a);
		arg_ptr = &arg;
	}
	if (aggref->aggfilter != NULL)
	{
		if (!tb_translate(a->t, aggref->aggfilter, &filter))
			return translator_refused(a);
		filter_ptr = &filter;
	}
	if (!choose_output(a, aggref, arg_ptr, filter_ptr, &out))
		return false;
	add_output(a, &out, (Expr *) aggref, 0);
	return true;
}

static bool
is_in_scan_tlist(const Analyzer *a, Node *node)
{
	return tlist_member((Expr *) node, a->result->scan_tlist) != NULL;
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
			return !refuse(a, "a column that is neither grouped nor aggregated is returned");
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
	if (node == NULL || IsA(node, Aggref) || (!IsA(node, List) && is_in_scan_tlist(a, node)))
		return false;
	if (IsA(node, Var))
		return !add_key(a, (Expr *) node, 0);
	return expression_tree_walker(node, dependent_walker, a);
}

static bool
add_keys(Analyzer *a, const TbAggRequest *request)
{
	ListCell   *lc;

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
	if (!add_keys(a, request))
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

static double
estimate_groups(PlannerInfo *root, const TbAggAnalysis *result)
{
	if (result->keys == NIL)
		return 1;
	return estimate_num_groups(root, list_truncate(list_copy(result->keys), result->grouped_keys),
							   result->request.rel->rows, NULL, NULL);
}

/* Memory of the groups that are made here, of all sets without some key. */
static double
estimate_folded_bytes(PlannerInfo *root, const TbAggAnalysis *result)
{
	double		groups = 0;
	int			nsets = list_length(result->request.sets);

	for (int set = 0; set < nsets; set++)
	{
		List	   *keys = NIL;
		ListCell   *lc;

		foreach(lc, result->keys)
			if (result->sets[set] & (UINT64CONST(1) << foreach_current_index(lc)))
				keys = lappend(keys, lfirst(lc));
		if (list_length(keys) < list_length(result->keys) && keys != NIL)
			groups += estimate_num_groups(root, keys, result->request.rel->rows, NULL, NULL);
	}
	return groups * tb_set_fold_group_bytes(list_length(result->scan_tlist));
}

static void
store_outputs(Analyzer *a)
{
	ListCell   *lc;
	int			i = 0;

	a->result->outputs = palloc(sizeof(TbOutput) * list_length(a->outputs));
	foreach(lc, a->outputs)
		a->result->outputs[i++] = *(TbOutput *) lfirst(lc);
}

TbAggAnalysis *
tb_preagg_analyze(PlannerInfo *root, const TbAggRequest *request,
				  const char **reason)
{
	TbJoinProgram *program = tb_join_program_begin(root, request->tree, reason);
	Analyzer	a = {0};

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
	a.result->groups = estimate_groups(root, a.result);
	a.result->folded_bytes = estimate_folded_bytes(root, a.result);
	return a.result;
}
