/*
 * analyze.c - GpuSort: how a request is done by the engine, and by PostgreSQL's kept plan.
 *
 * What is sorted are the results of a last stage: rows of a table or join, or groups of a
 * GpuPreAgg. The result plan (nodes/results/result_plan.h) has all that is requested of
 * them. There are two special cases: groups with DISTINCT aggregates are folded first, by
 * a pass over their order or, where these are many, by a continuation that hashes them; and
 * of an order that only PostgreSQL computes the engine finds the groups that may be first.
 *
 * Owns the description of the input, which points to its plan. Called by plan.c. Must
 * decline what drops rows that PostgreSQL would raise an error for.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "common/int.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "pg/compat/pg17.h"
#include "pg/nodes/aggregate/continuation.h"
#include "pg/nodes/join/gpu_join.h"
#include "pg/nodes/join/projection.h"
#include "pg/nodes/results/estimate.h"
#include "pg/nodes/sort/gpu_sort.h"
#include "pg/nodes/sort/sort_key.h"
#include "pg/nodes/sort/window.h"
#include "pg/planner/join/join_read.h"
#include "pg/planner/join/serial_paths.h"
#include "pg/planner/partitions.h"
#include "pg/planner/postgres/postgres_scan.h"
#include "pg/settings/guc.h"

/* Beside a row's values: their form as columns, its packed keys, its place; and the key
 * that RANGE frames by offsets look at. */
#define KEPT_ROW_BYTES 48
#define RANGE_KEY_BYTES 17

/* Fetching a row takes the backend about a microsecond, and a read if its page is not in
 * memory: so many may be fetched. A row's place takes some bytes itself. */
#define MOST_FETCHED_ROWS 1000
#define TID_BYTES 8

static uint32
count_columns(const TbProgram *program)
{
	return program->sink == TB_SINK_PROJECT ? program->outputs.count :
											  program->keys.count + program->aggs.count;
}

/* The references that clauses of the query have to the expression. */
static List *
references_to(PlannerInfo *root, Expr *expr)
{
	List	 *result = NIL;
	ListCell *lc;

	foreach(lc, root->processed_tlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);

		if (entry->ressortgroupref != 0 && equal(entry->expr, expr))
			result = lappend_int(result, entry->ressortgroupref);
	}
	return result;
}

/* The expressions of a scan tuple as a target, with the references that clauses of the
 * query have to them. An expression with several references stands there once more for
 * each, behind all others. */
static PathTarget *
target_of(PlannerInfo *root, List *scan_tlist)
{
	PathTarget *target = create_empty_pathtarget();
	ListCell   *lc;

	foreach(lc, scan_tlist)
	{
		Expr *expr = lfirst_node(TargetEntry, lc)->expr;
		List *references = references_to(root, expr);

		add_column_to_pathtarget(target, expr,
								 references != NIL ? linitial_int(references) : 0);
	}
	foreach(lc, scan_tlist)
	{
		Expr	 *expr = lfirst_node(TargetEntry, lc)->expr;
		List	 *references = references_to(root, expr);
		ListCell *reference;

		for_each_from(reference, references, 1)
			add_column_to_pathtarget(target, expr, lfirst_int(reference));
	}
	return set_pathtarget_cost_width(root, target);
}

static Path *
kept_rows(PlannerInfo *root, const TbSortInput *input, const TbJoinTree *tree)
{
	RelOptInfo *rel = input->rel;
	PathTarget *target = target_of(root, input->columns.scan_tlist);
	Path	   *path;

	if (rel->reloptkind == RELOPT_BASEREL && tree->partitions != NULL)
		return tb_partitions_append_target(root, rel, tree->partitions, target);
	path = rel->reloptkind == RELOPT_BASEREL ? tb_postgres_scan(root, rel) :
											   tb_serial_path_of(rel);
	return (Path *) create_projection_path(root, rel, path, target);
}

/* Rows with these expressions as columns, and columns that are fetched `late`. NULL, with
 * *reason, if a device can not compute them. */
static TbSortInput *
input_of_rows(PlannerInfo *root, RelOptInfo *rel, List *exprs, List *late,
			  const char **reason)
{
	TbJoinTree	 *tree = rel->reloptkind == RELOPT_BASEREL ?
		  tb_join_tree_of_table(root, rel, reason) :
		  tb_join_tree_noted(root, rel, reason);
	TbProjection *projection = NULL;
	TbSortInput	 *input;
	ListCell	 *lc;

	/* Such a value is a parameter of the program too, and would be taken for this
	 * column where the planner resolves parameters. */
	foreach(lc, exprs)
		if (!IsA(lfirst(lc), Const) && !contain_var_clause(lfirst(lc)))
		{
			*reason = "a sorted column is a value of the query, not of its rows";
			return NULL;
		}
	/* Programs that return them. */
	if (tree != NULL)
		projection = tb_projection_make(root, tree, exprs, late, false, reason);
	if (projection == NULL)
		return NULL;
	/* As an input. */
	input = palloc0(sizeof(TbSortInput));
	input->rel = rel;
	input->stages = projection->stages;
	input->fetched = list_length(late);
	foreach(lc, projection->exprs)
		tb_result_columns_add(&input->columns, lfirst(lc),
							  &projection->outputs[foreach_current_index(lc)]);
	input->ncolumns = count_columns(((const TbStage *) llast(input->stages))->program);
	input->rows = rel->rows;
	input->kept = kept_rows(root, input, tree);
	return input;
}

/* What a GpuPreAgg returns, but for HAVING. */
static TbSortInput *
input_of_groups(PlannerInfo *root, const CustomPath *preagg)
{
	const TbAggAnalysis *analysis = linitial(preagg->custom_private);
	TbSortInput			*input = palloc0(sizeof(TbSortInput));
	const TbOutput		*outputs = analysis->outputs;
	ListCell			*lc;

	input->rel = analysis->request.rel;
	input->groups = analysis;
	input->stages = analysis->stages;
	input->ncolumns = count_columns(((const TbStage *) llast(input->stages))->program);
	input->rows = analysis->groups;
	if (analysis->distincts != NIL && analysis->continuation != NULL)
	{
		input->continuation = analysis->continuation;
		outputs = input->continuation->outputs;
		input->ncolumns = count_columns(input->continuation->program.program);
		input->rows = analysis->result_groups;
	}
	foreach(lc, analysis->scan_tlist)
		tb_result_columns_add(&input->columns, lfirst_node(TargetEntry, lc)->expr,
							  &outputs[foreach_current_index(lc)]);
	input->kept = linitial(preagg->custom_paths);
	return input;
}

/* The longer of DISTINCT ON and ORDER BY: one begins with the other. */
static List *
distinct_pathkeys(PlannerInfo *root)
{
	return list_length(root->distinct_pathkeys) < list_length(root->sort_pathkeys) ?
		root->sort_pathkeys :
		root->distinct_pathkeys;
}

static Path *
sorted(PlannerInfo *root, RelOptInfo *rel, Path *path, List *pathkeys)
{
	if (pathkeys_contained_in(pathkeys, path->pathkeys))
		return path;
	return (Path *) create_sort_path(root, rel, path, pathkeys, -1.0);
}

/* The order that a window needs of its rows. */
static List *
window_pathkeys(PlannerInfo *root, const WindowClause *clause)
{
	return make_pathkeys_for_sortclauses(root,
										 list_concat_copy(clause->partitionClause,
														  clause->orderClause),
										 root->processed_tlist);
}

/* A WindowAgg for each clause, as create_one_window_path() stacks them. */
static Path *
windowed(PlannerInfo *root, RelOptInfo *rel, const TbSortPlan *plan, Path *path)
{
	List			*clauses = plan->request.windows;
	WindowFuncLists *functions = find_window_functions((Node *) root->processed_tlist,
													   list_length(
														   root->parse->windowClause));
	PathTarget		*target = path->pathtarget;
	List			*top_quals = NIL;
	ListCell		*lc;

	foreach(lc, clauses)
	{
		WindowClause *clause = lfirst_node(WindowClause, lc);
		List		 *own = functions->windowFuncs[clause->winref];
		List		 *conditions = tb_window_run_conditions(clause, own);
		bool		  top = lnext(clauses, lc) == NULL;
		ListCell	 *function;

		/* In the window's order. */
		path = sorted(root, rel, path, window_pathkeys(root, clause));
		/* The last one has the target. */
		if (!top)
		{
			target = copy_pathtarget(target);
			foreach(function, own)
				add_column_to_pathtarget(target, lfirst(function), 0);
			top_quals = list_concat(top_quals, conditions);
		}
		else if (plan->input->groups != NULL)
			target = root->upper_targets[UPPERREL_WINDOW];
		else
			target = target_of(root, plan->input->columns.scan_tlist);
		path = (Path *) create_windowagg_path(root, rel, path, target, own, conditions,
											  clause, top ? top_quals : NIL, top);
	}
	return path;
}

/* PostgreSQL's plan for what the node does: WindowAgg, Unique and Sort over the kept plan
 * of its input. It must return rows in the very order that the node promises. */
static Path *
kept_path(PlannerInfo *root, RelOptInfo *output_rel, const TbSortPlan *plan)
{
	Path *path = plan->input->kept;

	if (plan->request.windows != NIL)
		path = windowed(root, output_rel, plan, path);
	if (plan->request.distinct)
	{
		path = sorted(root, output_rel, path, distinct_pathkeys(root));
		path = (Path *) create_upper_unique_path(root, output_rel, path,
												 list_length(root->distinct_pathkeys),
												 path->rows);
	}
	if (plan->request.order)
		path = sorted(root, output_rel, path, root->sort_pathkeys);
	return path;
}

static bool
add_conditions(const TbSortPlan *plan, TbResultBuilder *builder, const char **reason)
{
	ListCell *lc;

	foreach(lc, tb_preagg_quals(plan->input->groups))
	{
		List *steps = tb_estimate_steps(&plan->input->columns, lfirst(lc));

		if (steps == NIL)
		{
			*reason = "HAVING or a filter of groups is more than arithmetic of aggregates";
			return false;
		}
		tb_result_add_estimate(builder, TB_ESTIMATE_OF_CONDITION, 0, steps);
	}
	return true;
}

/* The query's sort keys, without those that others make superfluous: SortGroupClause. */
static List *
sort_clauses(PlannerInfo *root)
{
	List	 *clauses = NIL;
	ListCell *lc;

	foreach(lc, root->parse->sortClause)
		if (make_pathkeys_for_sortclauses(root, list_make1(lfirst(lc)),
										  root->processed_tlist) != NIL)
			clauses = lappend(clauses, lfirst(lc));
	return clauses;
}

/* All keys that the engine can estimate, from the first on; the one behind them may be
 * anything. *estimated: the expressions. */
static bool
add_keys(PlannerInfo *root, const TbSortPlan *plan, TbResultBuilder *builder,
		 List **estimated, const char **reason)
{
	List	 *clauses = sort_clauses(root);
	ListCell *lc;

	*estimated = NIL;
	foreach(lc, clauses)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		Expr  *expr = (Expr *) get_sortgroupclause_expr(clause, root->processed_tlist);
		bool   last = list_length(*estimated) == TB_MAX_ESTIMATED_KEYS - 1;
		uint32 flags = 0;
		List  *steps = NIL;

		if ((!last || lnext(clauses, lc) == NULL) &&
			tb_sort_key_flags(clause, expr, &flags, reason))
			steps = tb_estimate_steps(&plan->input->columns, expr);
		if (steps == NIL)
		{
			tb_result_add_estimate(builder, TB_ESTIMATE_OF_KEY, 0,
								   tb_estimate_of_anything());
			break;
		}
		tb_result_add_estimate(builder, TB_ESTIMATE_OF_KEY, flags, steps);
		*estimated = lappend(*estimated, expr);
	}
	if (*estimated != NIL)
		return true;
	*reason = "the first sort key is more than arithmetic of aggregates";
	return false;
}

/* What else PostgreSQL evaluates of every group. */
static bool
add_errors(PlannerInfo *root, const TbSortPlan *plan, TbResultBuilder *builder,
		   const List *estimated, const char **reason)
{
	ListCell *lc;

	foreach(lc, root->upper_targets[UPPERREL_DISTINCT]->exprs)
	{
		Node *expr = lfirst(lc);
		List *steps;

		if (contain_volatile_functions(expr))
		{
			*reason = "a volatile function beside LIMIT";
			return false;
		}
		if (!contain_leaked_vars(expr) || list_member(estimated, expr) ||
			list_member(plan->input->groups->following, expr) ||
			tb_result_columns_find(&plan->input->columns, (Expr *) expr) != NULL)
			continue;
		steps = tb_estimate_steps(&plan->input->columns, (Expr *) expr);
		if (steps == NIL)
		{
			*reason =
				"an expression over results may raise an error, and LIMIT drops groups";
			return false;
		}
		tb_result_add_estimate(builder, TB_ESTIMATE_OF_ERRORS, 0, steps);
	}
	return true;
}

/*
 * The first groups of an order that only PostgreSQL computes: the engine drops those that
 * are surely not among them. Adds estimates of HAVING and of the order to the result plan,
 * and the limit. False, with *reason, if the engine cannot tell.
 *
 * PostgreSQL evaluates HAVING, sort keys and select list of every group before it drops
 * those behind the limit, and raises their errors. So whatever may raise has an estimate,
 * which keeps the groups where it might.
 */
static bool
add_likely_groups(PlannerInfo *root, const TbSortPlan *plan, uint64 limit,
				  TbResultBuilder *builder, const char **reason)
{
	List *estimated;

	if (!add_conditions(plan, builder, reason) ||
		!add_keys(root, plan, builder, &estimated, reason) ||
		!add_errors(root, plan, builder, estimated, reason))
		return false;
	tb_result_set_limit(builder, limit, false);
	return true;
}

static const TbProgram *
program_of(const TbAggAnalysis *groups)
{
	return ((const TbStage *) llast(groups->stages))->program;
}

/* Whether the engine can make the groups of GROUP BY out of those with DISTINCT. */
static bool
fold_qualifies(const TbAggAnalysis *groups, const char **reason)
{
	const TbOutput *distinct = &groups->outputs[list_length(groups->keys) - 1];
	ListCell	   *lc;

	if (groups->folds || groups->request.sets != NIL || list_length(groups->keys) < 2)
	{
		*reason =
			"values of aggregates with DISTINCT are made of groups when these have come back";
		return false;
	}
	foreach(lc, groups->distincts)
		if (((const TbDistinct *) lfirst(lc))->counter != TB_NONE ||
			distinct->display != TB_NONE)
		{
			*reason =
				"DISTINCT aggregates of several filters, or of numerics that print differently";
			return false;
		}
	return true;
}

typedef struct Folder
{
	TbSortInput		*input;
	TbResultBuilder *builder;
	int				 nkeys; /* that of DISTINCT included */
} Folder;

static uint32
add_fold_function(const Folder *folder, TbWindowKind kind, uint32 column, bool narrow)
{
	TbWindowFunction function = {.kind = kind,
								 .arg = column,
								 .other = TB_NONE,
								 .filter = TB_NONE,
								 .n = narrow};

	return tb_result_add_function(folder->builder, &function);
}

static uint32
fold_state(const Folder *folder, uint32 kind, uint32 column, bool narrow)
{
	switch (kind)
	{
		case TB_AGG_MIN:
			return add_fold_function(folder, TB_WINDOW_MIN, column, false);
		case TB_AGG_MAX:
			return add_fold_function(folder, TB_WINDOW_MAX, column, false);
		default:
			return add_fold_function(folder, TB_WINDOW_SUM, column, narrow);
	}
}

/* The column of the folded value: of a state of the program, or one of DISTINCT. */
static uint32
fold_column(const Folder *folder, uint32 column)
{
	const TbAggAnalysis *groups = folder->input->groups;
	const TbProgram		*program = program_of(groups);
	const TbAgg *aggs = (const TbAgg *) ((const char *) program + program->aggs.offset);
	uint32		 state = column - folder->nkeys;
	const TbDistinct *distinct;

	Assert(column >= folder->nkeys);
	if (state < program->aggs.count)
		return fold_state(folder, aggs[state].kind, column,
						  aggs[state].kind == TB_AGG_COUNT ||
							  aggs[state].kind == TB_AGG_SUM_INT);
	distinct = list_nth(groups->distincts, state - program->aggs.count);
	if (distinct->kind == TB_AGG_COUNT)
		return add_fold_function(folder, TB_WINDOW_COUNT, distinct->column, false);
	return fold_state(folder, distinct->kind, distinct->column, false);
}

static void
fold_output(const Folder *folder, TbOutput *output, bool is_key)
{
	if (!is_key)
	{
		output->first = fold_column(folder, output->first);
		if (output->kind == TB_OUT_AVG_NUMERIC || output->kind == TB_OUT_AVG_FLOAT8 ||
			output->kind == TB_OUT_EXTREME_NUMERIC)
			output->second = fold_column(folder, output->second);
	}
	else if (output->first == folder->nkeys - 1)
		/* Nobody sees the key of DISTINCT, of which a row has any. */
		output->kind = TB_OUT_COMPUTED_KEY;
	if (output->display == TB_NONE)
		return;
	output->display = fold_column(folder, output->display);
	if (is_key)
		output->least_display = fold_column(folder, output->least_display);
}

/*
 * Adds the pass that makes groups of GROUP BY out of those that a device has made with the
 * argument of aggregates with DISTINCT as one more key, and has the input's outputs read
 * its columns.
 *
 * The groups of GROUP BY are partitions of the pass. Its functions, over whole partitions,
 * count and add distinct values and combine the states of plain aggregates; then the first
 * row of each partition stays. Backends do the same in a hash table (aggregate/set_fold.h),
 * one group after the other and within hash_mem; the engine with all threads, before
 * anything is returned, so that an order with a limit can follow.
 */
static void
add_fold_pass(TbSortInput *input, TbResultBuilder *builder)
{
	Folder			  folder = {.input = input,
								.builder = builder,
								.nkeys = list_length(input->groups->keys)};
	TbWindowPass	  pass = {.npartition = folder.nkeys - 1,
							  .start_limit = TB_NONE,
							  .end_limit = TB_NONE,
							  .frame_mode = TB_FRAME_ROWS,
							  .start_bound = TB_BOUND_UNBOUNDED_PRECEDING,
							  .end_bound = TB_BOUND_UNBOUNDED_FOLLOWING};
	TbResultCondition first = {.bound = 1};
	List			 *keys = NIL;
	ListCell		 *lc;

	/* Partitions are the groups. */
	for (int i = 0; i < folder.nkeys - 1; i++)
	{
		TbSortKey *key = palloc0(sizeof(TbSortKey));

		key->column = i;
		keys = lappend(keys, key);
	}
	tb_result_add_pass(builder, &pass, keys);
	/* Values over whole partitions. */
	foreach(lc, input->columns.outputs)
		fold_output(&folder, lfirst(lc), foreach_current_index(lc) < folder.nkeys);
	/* One row of each stays. */
	first.column = add_fold_function(&folder, TB_WINDOW_ROW_NUMBER, TB_NONE, false);
	tb_result_add_condition(builder, &first);
}

static List *
add_clause_exprs(PlannerInfo *root, List *exprs, List *clauses)
{
	ListCell *lc;

	foreach(lc, clauses)
	{
		Node *expr = get_sortgroupclause_expr(lfirst_node(SortGroupClause, lc),
											  root->processed_tlist);

		if (!contain_window_function(expr))
			exprs = list_append_unique(exprs, expr);
	}
	return exprs;
}

/* Whether not all rows that are sorted are returned. */
static bool
drops_rows(const PlannerInfo *root, const TbSortRequest *request)
{
	return request->distinct || (request->order && root->parse->limitCount != NULL);
}

/*
 * PostgreSQL computes the target before it sorts, and raises errors of rows that it
 * drops then. So must we: of a target that may raise, all is computed by the engine.
 * What is volatile it cannot compute.
 */
static bool
must_compute(const PlannerInfo *root, const TbSortRequest *request, Node *expr)
{
	return drops_rows(root, request) &&
		(contain_leaked_vars(expr) || contain_volatile_functions(expr));
}

/* Of rows: what must be columns for the request, and for the target above. */
static List *
needed_exprs(PlannerInfo *root, const TbSortRequest *request)
{
	List	 *exprs = tb_window_exprs(root, request->windows);
	ListCell *lc;

	/* Sort keys. */
	if (request->distinct)
		exprs = add_clause_exprs(root, exprs, root->parse->distinctClause);
	if (request->distinct || request->order)
		exprs = add_clause_exprs(root, exprs, root->parse->sortClause);
	/* The target, or what it reads. */
	foreach(lc, root->upper_targets[UPPERREL_DISTINCT]->exprs)
	{
		ListCell *var;

		if (list_member(exprs, lfirst(lc)))
			continue;
		if (must_compute(root, request, lfirst(lc)) && !contain_window_function(lfirst(lc)))
		{
			exprs = lappend(exprs, lfirst(lc));
			continue;
		}
		foreach(var,
				pull_var_clause(lfirst(lc),
								PVC_INCLUDE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS))
			if (!IsA(lfirst(var), WindowFunc))
				exprs = list_append_unique(exprs, lfirst(var));
	}
	return exprs;
}

static int64
constant_count(const Node *expr, int64 if_absent)
{
	const Const *value = (const Const *) expr;

	if (expr == NULL || (IsA(expr, Const) && value->constisnull))
		return if_absent;
	return IsA(expr, Const) ? DatumGetInt64(value->constvalue) : -1;
}

/* Rows that LIMIT and OFFSET need; TB_NO_LIMIT if that is not known, or if LIMIT will
 * raise an error. */
static uint64
rows_needed(const Query *parse)
{
	int64 count = constant_count(parse->limitCount, PG_INT64_MAX);
	int64 offset = constant_count(parse->limitOffset, 0);
	int64 sum;

	if (count < 0 || offset < 0 || pg_add_s64_overflow(count, offset, &sum) ||
		sum == PG_INT64_MAX)
		return TB_NO_LIMIT;
	return sum;
}

/* One heap, whose rows a tuple id names. */
static bool
is_plain_table(PlannerInfo *root, const RelOptInfo *rel)
{
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);

	return rte->rtekind == RTE_RELATION && !rte->inh &&
		(rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_MATVIEW);
}

/* Columns of the table that only the rows which are returned need: no sort key and nothing
 * of the engine's. The backend fetches them from the heap. NIL: the engine reads all. */
static List *
late_columns(PlannerInfo *root, const TbSortRequest *request, List *exprs)
{
	RelOptInfo *rel = request->rel;
	List	   *keys = NIL;
	List	   *late = NIL;
	ListCell   *lc;

	if (!request->order || request->distinct || request->windows != NIL ||
		root->parse->limitOption == LIMIT_OPTION_WITH_TIES ||
		rows_needed(root->parse) > MOST_FETCHED_ROWS || rel->reloptkind != RELOPT_BASEREL ||
		!is_plain_table(root, rel))
		return NIL;
	keys = add_clause_exprs(root, keys, root->parse->sortClause);
	foreach(lc, exprs)
	{
		const Var *var = lfirst(lc);

		if (IsA(var, Var) && var->varno == rel->relid && var->varattno > 0 &&
			!list_member(keys, var))
			late = lappend(late, lfirst(lc));
	}
	return late;
}

/* Bytes of their values in a row, estimated. */
static int
width_of(const RelOptInfo *rel, List *vars)
{
	int		  width = 0;
	ListCell *lc;

	foreach(lc, vars)
	{
		const Var *var = lfirst_node(Var, lc);
		int32	   known = rel->attr_widths[var->varattno - rel->min_attr];

		width += known > 0 ? known : get_typavgwidth(var->vartype, var->vartypmod);
	}
	return width;
}

/* Rows of a table or join: of a narrow table's the engine reads all columns, unless it does
 * not know one of them. */
static TbSortInput *
sorted_rows(PlannerInfo *root, const TbSortRequest *request, const char **reason)
{
	List		*exprs = needed_exprs(root, request);
	List		*late = late_columns(root, request, exprs);
	TbSortInput *input = NULL;

	if (late == NIL || width_of(request->rel, late) <= TID_BYTES)
		input = input_of_rows(root, request->rel, exprs, NIL, reason);
	if (input == NULL && late != NIL)
		input = input_of_rows(root, request->rel, list_difference_ptr(exprs, late), late,
							  reason);
	return input;
}

static double
estimate_distinct(PlannerInfo *root, double rows)
{
	return estimate_num_groups(root,
							   get_sortgrouplist_exprs(root->parse->distinctClause,
													   root->processed_tlist),
							   rows, NULL, NULL);
}

/* DISTINCT ON, the final order, the limit. */
static bool
add_order(PlannerInfo *root, TbSortPlan *plan, TbResultBuilder *builder,
		  const char **reason)
{
	const Query *parse = root->parse;
	List		*keys = NIL;
	uint32		 ndistinct;
	uint64		 limit = TB_NO_LIMIT;

	/* Keys: DISTINCT ON comes first. */
	if (plan->request.distinct &&
		!tb_sort_keys_add(root, plan->input, parse->distinctClause, true, &keys, reason))
		return false;
	ndistinct = list_length(keys);
	if (plan->request.distinct && ndistinct == 0)
	{
		*reason = "DISTINCT ON constants";
		return false;
	}
	if (!tb_sort_keys_add(root, plan->input, parse->sortClause, true, &keys, reason))
		return false;
	/* The order that comes of it. */
	tb_result_set_order(builder, keys, ndistinct);
	plan->pathkeys = plan->request.order ? root->sort_pathkeys : distinct_pathkeys(root);
	if (ndistinct > 0)
		plan->returned = estimate_distinct(root, plan->returned);
	/* HAVING drops groups after they came back, and so do PostgreSQL's filters; those that
	 * surely fall the engine need not sort. */
	if (plan->request.order &&
		(plan->request.groups == NULL || tb_preagg_quals(plan->input->groups) == NIL))
		limit = rows_needed(parse);
	else if (plan->request.order && plan->request.windows == NIL &&
			 !plan->request.distinct && !tb_sort_folds_distinct(plan) &&
			 tb_dropped_groups_add(plan->input->groups, builder))
		plan->returned = Min(plan->returned, plan->input->kept->rows);
	/* The limit. */
	if (limit != TB_NO_LIMIT)
	{
		tb_result_set_limit(builder, limit, parse->limitOption == LIMIT_OPTION_WITH_TIES);
		plan->returned = clamp_row_est(Min(plan->returned, (double) limit));
	}
	return true;
}

/* Without another order rows come in that of the last window, as they do from
 * PostgreSQL. */
static void
keep_window_order(PlannerInfo *root, TbSortPlan *plan, TbResultBuilder *builder)
{
	const WindowClause *clause = llast_node(WindowClause, plan->request.windows);
	const char		   *reason;
	List			   *keys = NIL;

	if (!tb_sort_keys_add(root, plan->input, clause->partitionClause, true, &keys,
						  &reason) ||
		!tb_sort_keys_add(root, plan->input, clause->orderClause, true, &keys, &reason))
		return;
	tb_result_set_order(builder, keys, 0);
	plan->pathkeys = window_pathkeys(root, clause);
}

static bool
check_target(PlannerInfo *root, const TbSortPlan *plan, const char **reason)
{
	ListCell *lc;

	foreach(lc, root->upper_targets[UPPERREL_DISTINCT]->exprs)
	{
		if (!must_compute(root, &plan->request, lfirst(lc)) ||
			tb_result_columns_find(&plan->input->columns, lfirst(lc)) != NULL)
			continue;
		if (plan->input->groups != NULL &&
			list_member(plan->input->groups->following, lfirst(lc)))
			continue;
		*reason =
			"an expression over results may raise an error, and LIMIT or DISTINCT ON drops rows";
		return false;
	}
	return true;
}

static bool
check_groups(const TbSortRequest *request, const TbSortInput *input, const char **reason)
{
	if (input->groups->keys == NIL)
		*reason = "an aggregation without groups has one row";
	else if (input->groups->request.sets != NIL)
		*reason = "grouping sets are made of the groups when these have come back";
	else if (input->groups->distincts != NIL &&
			 (request->windows != NIL || request->distinct))
		*reason = "aggregates with DISTINCT below window functions or DISTINCT ON";
	else if (input->groups->distincts != NIL)
		return fold_qualifies(input->groups, reason);
	else if (input->groups->folds)
		*reason = "PostgreSQL folds the groups when these have come back";
	else if (tb_preagg_quals(input->groups) != NIL &&
			 (request->windows != NIL || request->distinct))
		*reason = "HAVING or a filter of groups below window functions or DISTINCT ON";
	else
		return true;
	return false;
}

/* The engine does all that is requested. */
static TbResultPlan *
make_result(PlannerInfo *root, TbSortPlan *plan, const char **reason)
{
	TbResultBuilder *builder = tb_result_create(plan->input->ncolumns);
	TbResultPlan	*result;

	/* Groups, windows. */
	plan->returned = plan->input->rows;
	if (tb_sort_folds_by_pass(plan))
	{
		add_fold_pass(plan->input, builder);
		plan->returned = plan->input->groups->result_groups;
	}
	if (!tb_windows_add(root, plan->input, plan->request.windows, builder, reason) ||
		!check_target(root, plan, reason))
		return NULL;
	/* The final order. */
	if (plan->request.windows == NIL && !plan->request.distinct && !plan->request.order)
		tb_result_set_order(builder, NIL, 0);
	else if (!plan->request.distinct && !plan->request.order)
		keep_window_order(root, plan, builder);
	else if (!add_order(root, plan, builder, reason))
		return NULL;
	result = tb_result_finish(builder);
	if (result == NULL)
		*reason = "sort keys or window functions are too many";
	return result;
}

/* The engine drops groups that are surely not among the first, and PostgreSQL sorts. NULL:
 * it cannot tell. */
static TbResultPlan *
make_likely_result(PlannerInfo *root, TbSortPlan *plan, const char **reason)
{
	const TbSortRequest *request = &plan->request;
	uint64				 limit = rows_needed(root->parse);
	TbResultBuilder		*builder;

	if (request->groups == NULL || tb_sort_folds_distinct(plan) ||
		request->windows != NIL || request->distinct || !request->order ||
		limit == TB_NO_LIMIT || limit == 0 ||
		root->parse->limitOption == LIMIT_OPTION_WITH_TIES)
		return NULL;
	builder = tb_result_create(plan->input->ncolumns);
	if (!add_likely_groups(root, plan, limit, builder, reason))
		return NULL;
	plan->pathkeys = NIL;
	plan->returned = clamp_row_est(Min(plan->input->rows, (double) limit));
	plan->likely = true;
	return tb_result_finish(builder);
}

/* All rows are kept until the last has come; of an order with a limit only the first. */
static bool
fits_in_memory(PlannerInfo *root, const TbSortPlan *plan)
{
	const TbResultPlan *result = plan->result;
	bool				all = result->limit == TB_NO_LIMIT || result->passes.count > 0 ||
		result->ndistinct > 0;
	double rows = all ? plan->input->rows : plan->returned;
	int	   width = target_of(root, plan->input->columns.scan_tlist)->width + KEPT_ROW_BYTES;
	int	   keys = 0; /* of the pass that has most, limits included */

	for (uint32 i = 0; i < result->passes.count; i++)
	{
		const TbWindowPass *pass = &tb_result_passes(result)[i];

		if (tb_pass_has_range_offset(pass))
			keys = Max(keys,
					   1 + (pass->start_limit != TB_NONE) + (pass->end_limit != TB_NONE));
	}
	return tb_cost_fits_in_memory(rows * (width + keys * RANGE_KEY_BYTES));
}

TbSortPlan *
tb_sort_analyze(PlannerInfo *root, RelOptInfo *output_rel, const TbSortRequest *request,
				const char **reason)
{
	TbSortPlan *plan = palloc0(sizeof(TbSortPlan));
	const char *other_reason;

	/* What comes in. */
	plan->request = *request;
	if (request->groups != NULL)
		plan->input = input_of_groups(root, request->groups);
	else
		plan->input = sorted_rows(root, request, reason);
	if (plan->input == NULL ||
		(request->groups != NULL && !check_groups(request, plan->input, reason)))
		return NULL;
	/* What the engine does. */
	plan->result = make_result(root, plan, reason);
	/* An order without its limit, because of HAVING, is the worse of the two. */
	if (plan->result == NULL ||
		(plan->result->limit == TB_NO_LIMIT && request->groups != NULL))
	{
		TbResultPlan *likely = make_likely_result(root, plan, &other_reason);

		if (likely != NULL)
			plan->result = likely;
	}
	if (plan->result == NULL)
		return NULL;
	/* What PostgreSQL does. */
	plan->kept = plan->likely ? plan->input->kept : kept_path(root, output_rel, plan);
	if (!tb_guc_debug_force_offload && !fits_in_memory(root, plan))
	{
		*reason = "the sorted rows are estimated not to fit into the service's memory";
		return NULL;
	}
	return plan;
}
