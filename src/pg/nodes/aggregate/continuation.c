/*
 * continuation.c - see continuation.h. Called by plan.c.
 *
 * Over the groups of a first program (tb_continuation_over_groups): for aggregates with
 * DISTINCT it groups by all keys but the last, that of DISTINCT. It counts and adds this
 * key, and combines the states of plain aggregates. For grouping sets it gets each group
 * once per set: keys that the set lacks are NULL, and the set's number is its last key.
 * Must decline, with DISTINCT, states that depend on the order of additions (float sums),
 * and keys that print differently though they are equal.
 *
 * Over the rows of a node below (tb_preagg_analyze_rows): keys and aggregates are those of
 * analyze.c, translated to the columns of the engine's rows. A subquery's columns are
 * expressions over that node's scan tuple. Parts of them that are columns of the tuple
 * become Vars of a table that does not exist (RESULTS_VARNO), which the translator finds in
 * the engine's results. Must decline values that PostgreSQL makes of several columns, such
 * as averages, and values that change on their way out, such as numerics that print with
 * different scales. What the backend would have to fold is left to PostgreSQL.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"

#include "pg/convert/numeric_format.h"
#include "pg/nodes/aggregate/analyzer.h"
#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/aggregate/continuation.h"
#include "pg/nodes/sort/gpu_sort.h"
#include "pg/planner/cost.h"
#include "pg/errors/may_raise.h"
#include "pg/plans/our_nodes.h"
#include "pg/settings/guc.h"
#include "pg/source/heap/feeders/feeder_count.h"

/* Adding a row to a group: 2 cores take 20 ns. */
#define ROW_US 0.02

/* The column of the rows that has the number of their set, where these come once a set. */
#define SET_COLUMN (TB_MAX_COLUMNS * 2)

/* Backends fold some million groups a second; a program that is not compiled yet takes tens
 * of milliseconds. */
#define LEAST_GROUPS 10000
/* Of grouping sets, whose groups of all keys backends return as they are: how often a group
 * is added to one of a set. */
#define LEAST_ADDITIONS 100000
/* Of either, for tests, whose tables are small. */
#define LEAST_FORCED 300

/* The table that there is not; no range table is that long. */
#define RESULTS_VARNO 1000000000

/* Which columns of the rows the program's source has, in their order. */
static void
set_columns(const TbBuilder *builder, TbContinuationProgram *program)
{
	List	 *columns = tb_builder_row_columns(builder);
	ListCell *lc;

	program->ncolumns = list_length(columns);
	program->columns = palloc(sizeof(uint32) * Max(program->ncolumns, 1));
	foreach(lc, columns)
		program->columns[foreach_current_index(lc)] = lfirst_int(lc) - 1 == SET_COLUMN ?
			TB_NONE :
			(uint32) lfirst_int(lc) - 1;
}

/* What the builder holds. `rows` go in, `groups` come out, estimated; where rows come once
 * a set, all of them count. NULL if a limit is exceeded. */
static TbContinuationPlan *
finish_program(TbBuilder *builder, double rows, double groups)
{
	TbContinuationPlan *result = palloc0(sizeof(TbContinuationPlan));
	TbProgramCost		cost;

	result->program.program = tb_builder_finish(builder, TB_SINK_AGGREGATE, &result->params,
												&cost);
	if (result->program.program == NULL)
		return NULL;
	set_columns(builder, &result->program);
	result->program.groups = groups;
	result->cost = rows * ROW_US / TB_US_PER_UNIT;
	return result;
}

typedef struct OverGroups
{
	const TbAggAnalysis *groups;
	const TbProgram		*program; /* that makes the groups */
	const TbAgg			*aggs;
	TbBuilder			*builder;
	bool				 by_sets;
	uint32				 nkeys;		/* that of DISTINCT included */
	uint32				 new_nkeys; /* without it, and with the number of the set */
} OverGroups;

static bool
states_combine(const OverGroups *r)
{
	for (uint32 i = 0; i < r->program->aggs.count; i++)
		if (r->aggs[i].kind == TB_AGG_SUM_FLOAT)
			return false;
	return true;
}

/* Of sums over groups the order is as free as it is over rows. */
static bool
sets_qualify(const TbAggAnalysis *groups)
{
	return groups->distincts == NIL &&
		groups->folded >= (tb_guc_debug_force_offload ? LEAST_FORCED : LEAST_ADDITIONS) &&
		list_length(groups->keys) < TB_MAX_KEYS;
}

static bool
distincts_qualify(const OverGroups *r)
{
	const TbAggAnalysis *groups = r->groups;
	ListCell			*lc;

	if (groups->distincts == NIL || groups->folds ||
		groups->groups < (tb_guc_debug_force_offload ? LEAST_FORCED : LEAST_GROUPS))
		return false;
	if (groups->outputs[r->nkeys - 1].display != TB_NONE)
		return false;
	foreach(lc, groups->distincts)
		if (((const TbDistinct *) lfirst(lc))->counter != TB_NONE)
			return false;
	return states_combine(r);
}

static bool
qualifies(const OverGroups *r)
{
	const TbAggAnalysis *groups = r->groups;

	if (groups->computed != NIL || groups->computed_states != NIL || groups->hidden != 0 ||
		groups->group_filters != NIL)
		return false;
	return r->by_sets ? sets_qualify(groups) : distincts_qualify(r);
}

/* A column of the groups. */
static TbValue
group_column(const OverGroups *r, uint32 column)
{
	const uint32 *keys = (const uint32 *) ((const char *) r->program +
										   r->program->keys.offset);
	const TbExpr *exprs = (const TbExpr *) ((const char *) r->program +
											r->program->exprs.offset);
	TbTypeInfo	  info = {0};

	if (column < r->nkeys)
	{
		info.type = exprs[keys[column]].type;
		info.scale = exprs[keys[column]].scale;
		return tb_builder_result_column(r->builder, column, info, true);
	}
	info.type = tb_agg_state_type(&r->aggs[column - r->nkeys]);
	/* That of the argument, which a count does not have. */
	if (tb_type_is_numeric(info.type))
		info.scale = r->aggs[column - r->nkeys].scale;
	return tb_builder_result_column(r->builder, column, info,
									r->aggs[column - r->nkeys].kind != TB_AGG_COUNT);
}

static uint32
add_state(const OverGroups *r, TbAggKind kind, uint32 column)
{
	TbValue value = group_column(r, column);

	return r->new_nkeys + tb_builder_add_agg(r->builder, kind, &value, NULL);
}

/* The column of the continuation's groups that the state becomes: of the first program,
 * or one of DISTINCT. */
static uint32
continued_state(const OverGroups *r, uint32 column)
{
	uint32			  state = column - r->nkeys;
	const TbDistinct *distinct;

	Assert(column >= r->nkeys);
	if (state < r->program->aggs.count)
		return add_state(r,
						 r->aggs[state].kind == TB_AGG_COUNT ? TB_AGG_SUM_INT :
															   r->aggs[state].kind,
						 column);
	distinct = list_nth(r->groups->distincts, state - r->program->aggs.count);
	return add_state(r, distinct->kind, distinct->column);
}

static bool
is_count(const OverGroups *r, uint32 column)
{
	return column >= r->nkeys && column - r->nkeys < r->program->aggs.count &&
		r->aggs[column - r->nkeys].kind == TB_AGG_COUNT;
}

static void
continued_output(const OverGroups *r, TbOutput *output, bool is_key)
{
	/* Its value. */
	if (output->kind == TB_OUT_GROUPING)
	{
		output->first = r->new_nkeys - 1;
		output->type = TB_TYPE_INT4;
	}
	else if (is_key)
	{
		/* Nobody sees the key of DISTINCT, which no group has any more. */
		if (output->first >= r->new_nkeys)
			output->kind = TB_OUT_COMPUTED_KEY;
	}
	else
	{
		if (output->kind == TB_OUT_VALUE && is_count(r, output->first))
			output->kind = TB_OUT_COUNT;
		output->first = continued_state(r, output->first);
		if (output->kind == TB_OUT_AVG_NUMERIC || output->kind == TB_OUT_AVG_FLOAT8 ||
			output->kind == TB_OUT_EXTREME_NUMERIC)
			output->second = continued_state(r, output->second);
	}
	/* How it prints. */
	if (output->display == TB_NONE)
		return;
	output->display = continued_state(r, output->display);
	if (is_key)
		output->least_display = continued_state(r, output->least_display);
}

static TbOutput *
add_outputs(const OverGroups *r)
{
	int		  noutputs = list_length(r->groups->scan_tlist);
	TbOutput *outputs = palloc(sizeof(TbOutput) * noutputs);

	for (uint32 key = 0; key < (r->by_sets ? r->nkeys : r->new_nkeys); key++)
	{
		TbValue value = group_column(r, key);

		tb_builder_add_key(r->builder, &value);
	}
	if (r->by_sets)
	{
		TbTypeInfo info = {.type = TB_TYPE_INT4};
		TbValue	   number = tb_builder_result_column(r->builder, SET_COLUMN, info, false);

		tb_builder_add_key(r->builder, &number);
	}
	for (int i = 0; i < noutputs; i++)
	{
		outputs[i] = r->groups->outputs[i];
		continued_output(r, &outputs[i], i < (int) r->nkeys);
	}
	return outputs;
}

/* By columns of the continuation's source what the sets are by keys. */
static void
set_sets(const OverGroups *r, TbContinuationProgram *program)
{
	program->nsets = r->groups->nsets;
	program->sets = palloc(sizeof(uint64) * program->nsets);
	for (uint32 set = 0; set < program->nsets; set++)
	{
		program->sets[set] = PG_UINT64_MAX;
		for (uint32 i = 0; i < program->ncolumns; i++)
			if (program->columns[i] < r->nkeys &&
				(r->groups->sets[set] & (UINT64CONST(1) << program->columns[i])) == 0)
				program->sets[set] &= ~(UINT64CONST(1) << i);
	}
}

/* All keys are among the columns that a set tells apart. */
static bool
keys_come_first(const OverGroups *r, const TbContinuationProgram *program)
{
	for (uint32 i = 64; i < program->ncolumns; i++)
		if (program->columns[i] < r->nkeys)
			return false;
	return true;
}

TbContinuationPlan *
tb_continuation_over_groups(const TbAggAnalysis *analysis)
{
	TbContinuationPlan *result;
	TbOutput		   *outputs;
	OverGroups			r = {.groups = analysis};

	/* Can the engine do it? */
	r.program = ((const TbStage *) llast(analysis->stages))->program;
	r.aggs = (const TbAgg *) ((const char *) r.program + r.program->aggs.offset);
	r.nkeys = r.program->keys.count;
	r.by_sets = analysis->request.sets != NIL;
	r.new_nkeys = r.by_sets ? r.nkeys + 1 : r.nkeys - 1;
	if (!qualifies(&r))
		return NULL;
	/* Make the continuation. */
	r.builder = tb_builder_create(NULL);
	outputs = add_outputs(&r);
	result = finish_program(r.builder, analysis->groups * (r.by_sets ? analysis->nsets : 1),
							analysis->result_groups);
	if (result == NULL)
		return NULL;
	/* Which keys each set has. */
	if (r.by_sets)
	{
		set_sets(&r, &result->program);
		if (!keys_come_first(&r, &result->program))
			return NULL;
	}
	Assert(result->params == NIL);
	result->outputs = outputs;
	return result;
}

static bool
take_groups(TbRowsBelow *below, const TbAggAnalysis *groups)
{
	if (groups->keys == NIL || groups->folds || groups->nsets > 0 || groups->below != NULL)
		return false;
	below->having = tb_preagg_quals(groups);
	below->stages = groups->stages;
	below->scan_tlist = groups->scan_tlist;
	below->outputs = groups->outputs;
	return true;
}

static bool
take_sorted(TbRowsBelow *below, const TbSortPlan *plan)
{
	const TbSortInput *input = plan->input;
	TbOutput		  *outputs;
	ListCell		  *lc;

	if (plan->likely || (input->groups != NULL && input->groups->distincts != NIL))
		return false;
	if (input->groups != NULL)
		below->having = tb_preagg_quals(input->groups);
	outputs = palloc(sizeof(TbOutput) * Max(list_length(input->columns.outputs), 1));
	foreach(lc, input->columns.outputs)
		outputs[foreach_current_index(lc)] = *(TbOutput *) lfirst(lc);
	below->stages = input->stages;
	below->scan_tlist = input->columns.scan_tlist;
	below->outputs = outputs;
	return true;
}

/* Whether the value that PostgreSQL returns is just that of the column. */
static bool
comes_as_it_is(const TbOutput *output)
{
	switch (output->kind)
	{
		case TB_OUT_KEY:
		case TB_OUT_VALUE:
		case TB_OUT_SUM_NUMERIC:
		case TB_OUT_SUM_FLOAT8:
			return output->display == TB_NONE;
		default:
			return false;
	}
}

/* A key that is shown as one of several equal ones: PostgreSQL's plan may have to run. */
static bool
some_row_is_ambiguous(const TbRowsBelow *below)
{
	return tb_final_may_be_ambiguous(below->outputs, list_length(below->scan_tlist));
}

static Node *
columns_mutator(Node *node, TbRowsBelow *below)
{
	ListCell *lc;

	if (node == NULL)
		return NULL;
	foreach(lc, below->scan_tlist)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, lc);

		if (!entry->resjunk && equal(entry->expr, node))
			return (Node *) makeVar(RESULTS_VARNO, foreach_current_index(lc) + 1,
									exprType(node), exprTypmod(node), exprCollation(node),
									0);
	}
	return expression_tree_mutator(node, columns_mutator, below);
}

/* The path below what only projects: a grouping expression, say. */
static Path *
below_projections(Path *path)
{
	while (IsA(path, ProjectionPath))
		path = ((ProjectionPath *) path)->subpath;
	return path;
}

static bool
take_path(TbRowsBelow *below, Path *path)
{
	const Path *node;
	TbNodeKind	kind;

	path = below_projections(path);
	if (!IsA(path, SubqueryScanPath) || path->param_info != NULL)
		return false;
	node = below_projections(((SubqueryScanPath *) path)->subpath);
	kind = tb_node_kind_of_path(node);
	if (kind != TB_NODE_SORT && kind != TB_NODE_PREAGG)
		return false;
	below->path = path;
	below->node = (const CustomPath *) node;
	return kind == TB_NODE_SORT ?
		take_sorted(below, linitial(below->node->custom_private)) :
		take_groups(below, linitial(below->node->custom_private));
}

/* What the node below costs without handing its rows to PostgreSQL. */
static Cost
cost_below(const TbRowsBelow *below)
{
	const Path *path = &below->node->path;
	Cost		returning = path->rows *
		(cpu_tuple_cost + tb_cost_returned_row() + path->pathtarget->cost.per_tuple);

	return Max(path->total_cost - returning, 0);
}

/* NULL, with *reason, if the subquery has no such path, or one whose rows PostgreSQL still
 * does something to. */
static TbRowsBelow *
rows_below(RelOptInfo *rel, const char **reason)
{
	TbRowsBelow *below = palloc0(sizeof(TbRowsBelow));
	ListCell	*lc;

	/* Is it a plan of ours? */
	*reason = "the input is a subquery, which is a plan of its own";
	if (rel->subroot == NULL || rel->subroot->init_plans != NIL ||
		rel->subroot->parse->hasSubLinks || rel->lateral_relids != NULL)
		return NULL;
	below->rel = rel;
	foreach(lc, rel->pathlist)
		if (take_path(below, lfirst(lc)))
			break;
	if (lc == NULL || some_row_is_ambiguous(below))
		return NULL;
	/* Its columns as those of the results. */
	foreach(lc, rel->subroot->processed_tlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);
		Node		*column = columns_mutator((Node *) entry->expr, below);

		if (!entry->resjunk)
			below->columns = lappend(below->columns, column);
		if (tb_expression_may_raise(column))
			below->raising = lappend(below->raising, column);
	}
	below->having = (List *) columns_mutator((Node *) below->having, below);
	below->cost = cost_below(below);
	return below;
}

static TbTypeInfo
form_of_output(const TbOutput *output)
{
	TbTypeInfo info = {output->type, 0, 0};

	if (tb_type_is_numeric(output->type))
	{
		info.scale = output->scale;
		info.precision = output->type == TB_TYPE_NUM64 ? TB_NUM64_DIGITS : TB_NUM128_DIGITS;
	}
	return info;
}

static bool
resolve_column(TbTranslator *t, Var *var, TbValue *value)
{
	TbRowsBelow	   *below = t->resolver;
	const TbOutput *output;

	if (var->varno == (int) below->rel->relid)
	{
		if (var->varattno > list_length(below->columns))
			return tb_refuse(t, "a column that the subquery does not have");
		return tb_translate(t, list_nth(below->columns, var->varattno - 1), value);
	}
	if (var->varno != RESULTS_VARNO)
		return tb_refuse(t, "a column of another table");
	output = &below->outputs[var->varattno - 1];
	if (!comes_as_it_is(output))
		return tb_refuse(t, "a value that PostgreSQL makes of the rows of a subquery");
	*value = tb_builder_result_column(t->builder, output->first, form_of_output(output),
									  true);
	return true;
}

/* A translator of expressions over the subquery's columns, whose program is one over the
 * engine's rows. `below` stays in use. */
static void
init_translator(TbRowsBelow *below, PlannerInfo *root, TbTranslator *t)
{
	tb_translator_init(t, root, 0, NULL);
	t->resolve = resolve_column;
	t->resolver = below;
}

/* Literals and parameters of prepared statements: the others are known when the node below
 * has begun. */
static bool
params_are_known(List *params)
{
	ListCell *lc;

	foreach(lc, params)
		if (!IsA(lfirst(lc), Const) &&
			!(IsA(lfirst(lc), Param) && lfirst_node(Param, lc)->paramkind == PARAM_EXTERN))
			return false;
	return true;
}

static Expr *
null_test(Expr *arg, NullTestType type)
{
	NullTest *test = makeNode(NullTest);

	test->arg = arg;
	test->nulltesttype = type;
	test->location = -1;
	return (Expr *) test;
}

/* True of every row that raises nothing: where no one else would evaluate the expression,
 * PostgreSQL does, also what only a window that is not used was ordered by. */
static Expr *
evaluated(Expr *expr)
{
	return makeBoolExpr(OR_EXPR,
						list_make2(null_test(expr, IS_NOT_NULL), null_test(expr, IS_NULL)),
						-1);
}

/* What PostgreSQL evaluates of the rows that come out of the node below: its HAVING, the
 * subquery's columns, then filters that are not in there already. */
static bool
add_row_filters(TbAnalyzer *a, const TbRowsBelow *below)
{
	List	 *filters = list_copy(below->having);
	ListCell *lc;

	foreach(lc, below->raising)
		filters = lappend(filters, evaluated(lfirst(lc)));
	filters = list_concat(filters,
						  extract_actual_clauses(below->rel->baserestrictinfo, false));

	if (extract_actual_clauses(below->rel->baserestrictinfo, true) != NIL)
		return tb_analyzer_refuse(a, "a filter without columns over a subquery");
	foreach(lc, filters)
	{
		TbValue value;

		if (!tb_translate(a->t, lfirst(lc), &value))
			return tb_analyzer_refuse(a, a->t->reason);
		tb_builder_add_filter(a->t->builder, &value);
	}
	return true;
}

/* The continuation. */
static bool
finish_rows(TbAnalyzer *a)
{
	TbAggAnalysis *result = a->result;
	ListCell	  *lc;

	if (result->distincts != NIL || result->folds || result->nsets > 0 ||
		result->computed != NIL || result->computed_states != NIL || result->hidden != 0 ||
		result->group_filters != NIL)
		return tb_analyzer_refuse(
			a, "groups of a subquery's rows that PostgreSQL would have to combine");
	tb_analyzer_estimate_groups(a->root, result);
	result->continuation = finish_program(a->t->builder, result->below->node->path.rows,
										  result->groups);
	if (result->continuation == NULL)
		return tb_analyzer_refuse(a, "keys, aggregates or expressions are too many");
	if (!params_are_known(result->continuation->params))
		return tb_analyzer_refuse(a, "a parameter that is computed beside a subquery");
	result->outputs = palloc(sizeof(TbOutput) * list_length(a->outputs));
	foreach(lc, a->outputs)
		result->outputs[foreach_current_index(lc)] = *(TbOutput *) lfirst(lc);
	result->continuation->outputs = result->outputs;
	return true;
}

TbAggAnalysis *
tb_preagg_analyze_rows(PlannerInfo *root, const TbAggRequest *request, const char **reason)
{
	TbRowsBelow *below = rows_below(request->rel, reason);
	TbAnalyzer	 a = {0};
	TbTranslator t;

	if (below == NULL)
		return NULL;
	/* Over the columns of these rows. */
	init_translator(below, root, &t);
	a.root = root;
	a.t = &t;
	a.result = palloc0(sizeof(TbAggAnalysis));
	a.result->request = *request;
	a.result->late_factor = 1;
	a.result->below = below;
	a.result->stages = below->stages;
	a.result->work = ((TbStage *) llast(below->stages))->info.work;
	/* Filters, keys and aggregates. */
	if (add_row_filters(&a, below) && tb_analyzer_build(&a, request) && finish_rows(&a))
		return a.result;
	*reason = a.reason;
	return NULL;
}
