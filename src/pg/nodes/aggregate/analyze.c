/*
 * analyze.c - GpuPreAgg: what of a query the device computes.
 *
 * Adds grouping expressions and Aggrefs to the program of a tree. Says for each column of
 * the node's scan tuple how it comes out of keys and states (final_values.h). Whatever
 * stands above them in the target list or in HAVING is PostgreSQL's projection; it may
 * refer to nothing else.
 *
 * The argument of aggregates with DISTINCT becomes a key, the last one. No expression
 * above may refer to it. The states of these aggregates are made from the device's
 * groups, in the backend (set_fold.h) or by a continuation of the engine
 * (continuation.h).
 *
 * Estimates how many groups there will be, and what folding them takes. Called by plan.c,
 * and by continuation.c for rows of a node below.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "pg/nodes/aggregate/analyzer.h"
#include "pg/planner/expression/aggregate_kind.h"
#include "pg/planner/expression/collation_order.h"
#include "pg/planner/join/join_program.h"
#include "pg/planner/program/output_column.h"

#define NONE (-1)

/* Values of a computed key for one of its inputs. PostgreSQL takes the key for unique among
 * them; but nobody would group by it if they were not many more. */
#define COMPUTED_SHARE 0.1

static bool
translator_refused(TbAnalyzer *a)
{
	return tb_analyzer_refuse(a, a->t->reason);
}

void
tb_analyzer_add_output(TbAnalyzer *a, const TbOutput *output, Expr *expr,
					   Index sortgroupref)
{
	TbOutput	*copy = palloc(sizeof(TbOutput));
	AttrNumber	 number = list_length(a->result->scan_tlist) + 1;
	TargetEntry *entry = makeTargetEntry(expr, number, NULL, false);

	*copy = *output;
	a->outputs = lappend(a->outputs, copy);
	entry->ressortgroupref = sortgroupref;
	a->result->scan_tlist = lappend(a->result->scan_tlist, entry);
}

/* The bit of a grouping expression's key: computed ones stand behind the device's. */
static uint64
bit_of_clause(const TbAggAnalysis *result, int clause)
{
	int key = list_nth_int(result->clause_keys, clause);

	return UINT64CONST(1) << (key >= 0 ? key : list_length(result->keys) - 1 - key);
}

/* Of one set only: all keys but those that nobody sees. */
static uint64
visible_keys(const TbAnalyzer *a)
{
	int	   nkeys = list_length(a->result->keys);
	int	   total = nkeys + list_length(a->result->computed);
	uint64 all = total == 64 ? ~UINT64CONST(0) : (UINT64CONST(1) << total) - 1;

	if (a->distinct != NULL)
		all &= ~(UINT64CONST(1) << (nkeys - 1));
	for (int i = 0; i < list_length(a->arguments); i++)
		all &= ~(UINT64CONST(1) << (total - 1 - i));
	return all & ~a->result->hidden;
}

/* A bit for each key of each set; the keys are complete. */
static void
analyze_sets(TbAnalyzer *a)
{
	TbAggAnalysis	   *result = a->result;
	const TbAggRequest *request = &result->request;
	int					count = 0;
	ListCell		   *set;
	ListCell		   *key;

	if (request->sets != NIL)
		result->nsets = list_length(request->sets);
	else
		result->nsets = a->distinct != NULL || result->folds;
	result->sets = palloc0(sizeof(uint64) * Max(result->nsets, 1));
	if (request->sets == NIL)
		result->sets[0] = visible_keys(a);
	foreach(set, request->sets)
	{
		foreach(key, request->group_clause)
			if (list_member_int(lfirst(set),
								lfirst_node(SortGroupClause, key)->tleSortGroupRef))
				result->sets[count] |= bit_of_clause(result, foreach_current_index(key));
		count++;
	}
}

/* GROUPING() of these keys: in each set a bit for those that it lacks, the last
 * argument's the lowest. */
static bool
add_grouping(TbAnalyzer *a, GroupingFunc *function)
{
	TbOutput  output = {0};
	int		  nsets = list_length(a->result->request.sets);
	ListCell *set;

	if (function->agglevelsup != 0 || nsets == 0)
		return tb_analyzer_refuse(
			a, "GROUPING of another query level, or without grouping sets");
	foreach(set, a->result->request.sets)
	{
		int		  value = 0;
		ListCell *ref;

		foreach(ref, function->refs)
			value = value << 1 | !list_member_int(lfirst(set), lfirst_int(ref));
		a->result->functions = lappend_int(a->result->functions, value);
	}
	output.kind = TB_OUT_GROUPING;
	output.first = TB_NONE;
	output.second = list_length(a->result->functions) / nsets - 1;
	output.display = TB_NONE;
	tb_analyzer_add_output(a, &output, (Expr *) function, 0);
	return true;
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
distinct_column(TbAnalyzer *a, TbAggKind kind, uint32 column, uint32 type, uint32 counter)
{
	TbDistinct *distinct = palloc0(sizeof(TbDistinct));
	ListCell   *lc;

	distinct->kind = kind;
	distinct->column = column;
	distinct->type = type;
	distinct->counter = counter;
	foreach(lc, a->result->distincts)
		if (memcmp(lfirst(lc), distinct, sizeof(*distinct)) == 0)
			return TB_FOLDED_COLUMNS + foreach_current_index(lc);
	a->result->distincts = lappend(a->result->distincts, distinct);
	return TB_FOLDED_COLUMNS + list_length(a->result->distincts) - 1;
}

/* count, sum, avg of the last key, where there is one; with a filter: where some row of
 * the group has passed it. */
static void
distinct_output(TbAnalyzer *a, const Aggref *aggref, const TbValue *filter, TbOutput *out)
{
	TbAggStates		states = tb_analyzer_states(a);
	int				key = list_length(a->result->keys) - 1;
	const TbValue  *arg = list_nth(a->key_values, key);
	uint32			display = ((TbOutput *) list_nth(a->outputs, key))->display;
	TbAggregateKind kind = tb_aggregate_kind(aggref->aggfnoid);
	uint32			type = arg->info.type;
	uint32 counter = filter != NULL ? tb_agg_count_column(&states, arg, filter) : TB_NONE;
	bool   is_narrow = type == TB_TYPE_INT2 || type == TB_TYPE_INT4;

	/* How many values there are. */
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
	/* Their sum, exact. */
	out->type = is_narrow ? TB_TYPE_INT8 : TB_TYPE_NUM128;
	out->first = distinct_column(a, is_narrow ? TB_AGG_SUM_INT : TB_AGG_SUM_WIDE, key, type,
								 counter);
	/* How it prints. */
	if (display != TB_NONE)
		out->display = distinct_column(a, TB_AGG_MAX, display, TB_TYPE_INT4, counter);
	out->kind = kind == TB_AGGREGATE_AVG ? TB_OUT_AVG_NUMERIC :
		is_narrow						 ? TB_OUT_VALUE :
										   TB_OUT_SUM_NUMERIC;
}

static bool
add_aggref(TbAnalyzer *a, Aggref *aggref)
{
	TbValue		arg;
	TbValue		filter;
	TbValue	   *arg_ptr = NULL;
	TbValue	   *filter_ptr = NULL;
	TbAggStates states = tb_analyzer_states(a);
	TbOutput	out = {0};

	/* What no device has. */
	if (aggref->aggorder != NIL)
		return tb_analyzer_refuse(a, "an aggregate with ORDER BY");
	if (aggref->aggkind != AGGKIND_NORMAL || aggref->aggvariadic ||
		aggref->agglevelsup != 0 || list_length(aggref->args) > 1)
		return tb_analyzer_refuse(a, "an aggregate of several arguments");
	/* Does PostgreSQL compute its argument? */
	a->reason = NULL;
	if (tb_computed_arguments_output(a, aggref, &out))
	{
		tb_analyzer_add_output(a, &out, (Expr *) aggref, 0);
		return true;
	}
	if (a->reason != NULL)
		return false;
	/* Else the device does. */
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
		!(is_of_distinct_values(aggref) && tb_analyzer_has_common_filter(a)))
	{
		if (!tb_translate(a->t, aggref->aggfilter, &filter))
			return translator_refused(a);
		filter_ptr = &filter;
	}
	/* Its value out of states. */
	if (is_of_distinct_values(aggref))
		distinct_output(a, aggref, filter_ptr, &out);
	else if (!tb_agg_choose_output(&states, aggref, arg_ptr, filter_ptr, &out))
		return tb_analyzer_refuse(a, states.reason);
	tb_analyzer_add_output(a, &out, (Expr *) aggref, 0);
	return true;
}

/* Their states are made of single values, so these must be the same in all of them. */
static bool
add_distinct_argument(TbAnalyzer *a, const Aggref *aggref)
{
	Expr *arg = linitial_node(TargetEntry, aggref->args)->expr;
	Oid	  type = exprType((Node *) arg);

	if (a->result->request.sets != NIL)
		return tb_analyzer_refuse(a, "an aggregate with DISTINCT over grouping sets");
	if (a->distinct != NULL && !equal(a->distinct, arg))
		return tb_analyzer_refuse(a, "aggregates with DISTINCT of different arguments");
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
		return tb_analyzer_refuse(
			a, "a sum of distinct floating-point numbers, which depends on their order");
	return true;
}

/* Looks for what aggregates with DISTINCT are of; true (and a reason) if it is no key. */
static bool
distinct_walker(Node *node, TbAnalyzer *a)
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
collect_walker(Node *node, TbAnalyzer *a)
{
	if (node == NULL)
		return false;
	if (!IsA(node, List) && tb_analyzer_has_output(a, node))
		return false;
	switch (nodeTag(node))
	{
		case T_Aggref:
			return !add_aggref(a, (Aggref *) node);
		case T_Var:
			return !tb_analyzer_refuse(
				a, "a column that is neither grouped nor aggregated is returned");
		case T_GroupingFunc:
			return !add_grouping(a, (GroupingFunc *) node);
		case T_PlaceHolderVar:
		case T_WindowFunc:
			return !tb_analyzer_refuse(
				a, "an expression of a kind that devices do not compute");
		default:
			return expression_tree_walker(node, collect_walker, a);
	}
}

bool
tb_analyzer_build(TbAnalyzer *a, const TbAggRequest *request)
{
	if (!request->distinct_input &&
		(distinct_walker((Node *) request->target->exprs, a) ||
		 distinct_walker((Node *) request->having, a)))
		return false;
	if (!tb_analyzer_add_keys(a))
		return false;
	analyze_sets(a);
	if (collect_walker((Node *) request->target->exprs, a) ||
		collect_walker((Node *) request->having, a) ||
		(!a->result->folds && collect_walker((Node *) a->result->group_filters, a)))
		return false;
	if (a->result->scan_tlist == NIL)
		return tb_analyzer_refuse(a, "nothing is grouped or aggregated");
	return true;
}

/* Groups of the device by its keys, without that of DISTINCT, of rows that filters have not
 * dropped yet. */
static double
estimate_key_groups(PlannerInfo *root, const TbAggAnalysis *result, List *keys)
{
	RelOptInfo *probe_side = result->request.tree->probe_side;
	double		rows = probe_side->rows;
	double		groups;

	if (keys == NIL)
		return 1;
	/* PostgreSQL estimates how many values a table's filters leave from this. */
	probe_side->rows = Min(rows * result->late_factor, Max(probe_side->tuples, rows));
	groups = estimate_num_groups(root, keys,
								 result->request.rel->rows * result->late_factor, NULL,
								 NULL);
	probe_side->rows = rows;
	return groups;
}

/* Of rows that have so many combinations of independent keys. */
static double
groups_of_pairs(double rows, double pairs)
{
	return clamp_row_est(-expm1(-rows / pairs) * pairs);
}

/* Hidden keys as if they depended neither on others nor on each other: see below. */
static double
estimate_hidden_groups(PlannerInfo *root, const TbAggAnalysis *result)
{
	List	 *visible = NIL;
	double	  pairs = 1;
	ListCell *lc;

	foreach(lc, result->keys)
	{
		if (result->hidden & (UINT64CONST(1) << foreach_current_index(lc)))
			pairs *= estimate_key_groups(root, result, list_make1(lfirst(lc)));
		else
			visible = lappend(visible, lfirst(lc));
	}
	pairs *= estimate_key_groups(root, result, visible);
	return groups_of_pairs(result->request.rel->rows * result->late_factor, pairs);
}

/*
 * With the key of DISTINCT as if it did not depend on the others. PostgreSQL guesses a
 * tenth of a table's rows at the most; that is fair as a number of rows that come out,
 * but each of these groups costs, and an index in their order should win then.
 */
void
tb_analyzer_estimate_groups(PlannerInfo *root, TbAggAnalysis *result)
{
	List  *keys = list_truncate(list_copy(result->keys), result->grouped_keys);
	double rows = result->request.rel->rows;
	double pairs;

	keys = list_concat(keys,
					   list_truncate(list_copy(result->computed),
									 list_length(result->computed) - result->narguments));
	/* Statistics may know all of the query's keys together. */
	keys = list_concat(keys, result->following);
	result->result_groups = keys == NIL ? 1 :
										  estimate_num_groups(root, keys, rows, NULL, NULL);
	result->groups = result->result_groups;
	if (result->hidden != 0 || result->group_filters != NIL)
		result->groups = estimate_hidden_groups(root, result);
	if (result->distincts == NIL)
		return;
	pairs = result->result_groups *
		estimate_num_groups(root, list_make1(llast(result->keys)), rows, NULL, NULL);
	result->groups = groups_of_pairs(rows, pairs);
}

/* A set that the backend makes: see set_fold.c, which takes those with most keys first,
 * makes each of the smallest one that contains it, and lets go of it when none is left to
 * be made of it. */
typedef struct EstimatedSet
{
	uint64 keys;
	double groups;
	int	   source;	 /* the set that it is made of; NONE: the groups of all keys */
	int	   last_use; /* the last set that is made of it, or itself */
} EstimatedSet;

static int
by_key_set(const void *left, const void *right)
{
	return pg_popcount64(((const EstimatedSet *) right)->keys) -
		pg_popcount64(((const EstimatedSet *) left)->keys);
}

/* Whether the set's groups are the device's. */
static bool
is_whole(const TbAggAnalysis *analysis, uint64 set)
{
	return analysis->computed == NIL && pg_popcount64(set) == list_length(analysis->keys);
}

static double
groups_of(PlannerInfo *root, const TbAggAnalysis *analysis, uint64 set)
{
	List	 *all = list_concat_copy(analysis->keys, analysis->computed);
	List	 *keys = NIL;
	double	  most = analysis->groups;
	ListCell *lc;

	foreach(lc, all)
	{
		if ((set & (UINT64CONST(1) << foreach_current_index(lc))) == 0)
			continue;
		keys = lappend(keys, lfirst(lc));
		if (foreach_current_index(lc) >= list_length(analysis->keys))
			most = Max(analysis->groups * COMPUTED_SHARE, 1);
	}
	return keys == NIL ?
		1 :
		Min(estimate_num_groups(root, keys, analysis->request.rel->rows, NULL, NULL), most);
}

/* Those that are made here; returns how many. */
static int
collect_sets(PlannerInfo *root, const TbAggAnalysis *analysis, EstimatedSet *sets)
{
	int count = 0;

	for (int i = 0; i < analysis->nsets; i++)
		if (!is_whole(analysis, analysis->sets[i]))
		{
			sets[count].keys = analysis->sets[i];
			sets[count++].groups = groups_of(root, analysis, analysis->sets[i]);
		}
	qsort(sets, count, sizeof(EstimatedSet), by_key_set);
	return count;
}

static void
choose_sources(EstimatedSet *sets, int count)
{
	for (int i = 0; i < count; i++)
	{
		sets[i].source = NONE;
		sets[i].last_use = i;
		for (int j = 0; j < i; j++)
			if ((sets[i].keys & ~sets[j].keys) == 0 &&
				(sets[i].source == NONE || sets[j].groups < sets[sets[i].source].groups))
				sets[i].source = j;
		if (sets[i].source != NONE)
			sets[sets[i].source].last_use = i;
	}
}

/* The most groups that are there at a time: while set after set is made and returned. */
static double
most_groups(const EstimatedSet *sets, int count)
{
	double most = 0;

	for (int now = 0; now < count; now++)
	{
		double there = 0;

		for (int i = 0; i < count; i++)
			if (i <= now ? sets[i].last_use >= now : sets[i].source == NONE)
				there += sets[i].groups;
		most = Max(most, there);
	}
	return most;
}

/* Fills in `folded` and `folded_bytes`, of groups that have been estimated. */
static void
estimate_folding(PlannerInfo *root, TbAggAnalysis *analysis)
{
	EstimatedSet *sets = palloc0(sizeof(EstimatedSet) * Max(analysis->nsets, 1));
	int			  count = collect_sets(root, analysis, sets);

	choose_sources(sets, count);
	/* Groups of all keys are rows of a set that has them all. */
	analysis->folded = analysis->groups * (analysis->nsets - count);
	for (int i = 0; i < count; i++)
		analysis->folded += sets[i].source == NONE ? analysis->groups :
													 sets[sets[i].source].groups;
	analysis->folded_bytes = most_groups(sets, count) *
		tb_set_fold_group_bytes(list_length(analysis->scan_tlist));
	pfree(sets);
}

/* The program is complete: where the states of DISTINCT begin is known. */
static void
place_distinct(uint32 *column, uint32 begin)
{
	if (*column != TB_NONE && *column >= TB_FOLDED_COLUMNS)
		*column += begin - TB_FOLDED_COLUMNS;
}

static void
store_outputs(TbAnalyzer *a)
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
tb_preagg_analyze(PlannerInfo *root, const TbAggRequest *request, bool late_filters,
				  const char **reason)
{
	TbAnalyzer	   a = {0};
	TbJoinProgram *program = tb_join_program_begin(root, request->tree,
												   late_filters ? &a.late_filters : NULL,
												   NULL, reason);
	TbStage		  *last;

	if (program == NULL)
		return NULL;
	/* Make the programs. */
	a.root = root;
	a.result = palloc0(sizeof(TbAggAnalysis));
	a.result->request = *request;
	a.result->late_factor = tb_late_filters_factor(root, a.late_filters);
	a.t = tb_join_program_translator(program);
	if (tb_analyzer_build(&a, request))
		a.result->stages = tb_join_program_finish(program, TB_SINK_AGGREGATE, &a.reason);
	tb_join_program_end(program);
	if (a.result->stages == NIL)
	{
		*reason = a.reason;
		return NULL;
	}
	/* What groups are made of. */
	store_outputs(&a);
	/* How many there will be. */
	tb_analyzer_estimate_groups(root, a.result);
	estimate_folding(root, a.result);
	last = llast(a.result->stages);
	last->info.work.groups = a.result->groups;
	a.result->work = last->info.work;
	return a.result;
}
