/*
 * plan.c - GpuSort: at which steps of a query it is offered, the paths and the plan.
 *
 * Each step starts from the table, join or aggregation below and adds one more thing to
 * do: window functions, DISTINCT ON, ORDER BY with LIMIT. What was offered at a step is
 * noted for the next one, so the last step has everything in one node.
 *
 * Called by the upper-path hook. Must decline a step if rows are dropped that PostgreSQL
 * would raise an error for.
 */
#include "postgres.h"

#include "common/int.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/selfuncs.h"

#include "pg/nodes/join/gpu_join.h"
#include "pg/nodes/offer/noted_nodes.h"
#include "pg/nodes/offer/offer.h"
#include "pg/planner/postgres/rivals.h"
#include "pg/nodes/sort/distinct_fold.h"
#include "pg/nodes/sort/gpu_sort.h"
#include "pg/nodes/sort/gpu_windows.h"
#include "pg/nodes/sort/likely_groups.h"
#include "pg/nodes/sort/sort_key.h"
#include "pg/nodes/sort/window.h"
#include "pg/planner/planning.h"
#include "pg/settings/guc.h"
#include "pg/stage/plan_private.h"

static Plan *plan_sort(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
					   List *clauses, List *custom_plans);
static Node *create_state(CustomScan *plan);

static const CustomPathMethods path_methods = {
	.CustomName = TB_GPU_SORT_NAME,
	.PlanCustomPath = plan_sort,
};

static const CustomScanMethods scan_methods = {
	.CustomName = TB_GPU_SORT_NAME,
	.CreateCustomScanState = create_state,
};

void
tb_sort_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
}

/* What comes into a step. False: nothing of ours. */
static bool
request_input(RelOptInfo *input_rel, TbSortRequest *request)
{
	const CustomPath *noted;

	memset(request, 0, sizeof(*request));
	if (IS_DUMMY_REL(input_rel))
		return false;
	request->rel = input_rel;
	if (input_rel->reloptkind == RELOPT_JOINREL)
		return true;
	if (input_rel->reloptkind == RELOPT_BASEREL)
		return input_rel->rtekind == RTE_RELATION;
	noted = tb_noted_node_of(input_rel);
	if (noted == NULL)
		return false;
	if (noted->methods == &path_methods)
		*request = ((TbSortPlan *) linitial(noted->custom_private))->request;
	else
	{
		request->groups = noted;
		request->rel = ((TbAggAnalysis *) linitial(noted->custom_private))->request.rel;
	}
	return true;
}

/* The groups that have just been offered, if the engine has something to do with them. */
static bool
request_groups(RelOptInfo *output_rel, TbSortRequest *request)
{
	const CustomPath *noted = tb_noted_node_of(output_rel);
	TbAggAnalysis	 *groups;

	memset(request, 0, sizeof(*request));
	if (noted == NULL || noted->methods == &path_methods)
		return false;
	groups = linitial(noted->custom_private);
	request->groups = noted;
	request->rel = groups->request.rel;
	return groups->distincts != NIL;
}

/* What is to be done at the step. False: nothing. */
static bool
request_step(PlannerInfo *root, UpperRelationKind step, RelOptInfo *output_rel,
			 TbSortRequest *request)
{
	switch (step)
	{
		case UPPERREL_GROUP_AGG:
			return request->groups != NULL;
		case UPPERREL_WINDOW:
			request->windows = tb_windows_of_paths(output_rel->pathlist);
			return request->windows != NIL;
		case UPPERREL_DISTINCT:
			request->distinct = true;
			return root->parse->hasDistinctOn;
		case UPPERREL_ORDERED:
			request->order = true;
			return true;
		default:
			return false;
	}
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

	if (request->distinct)
		exprs = add_clause_exprs(root, exprs, root->parse->distinctClause);
	if (request->distinct || request->order)
		exprs = add_clause_exprs(root, exprs, root->parse->sortClause);
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

static double
estimate_distinct(PlannerInfo *root, double rows)
{
	return estimate_num_groups(root,
							   get_sortgrouplist_exprs(root->parse->distinctClause,
													   root->processed_tlist),
							   rows, NULL, NULL);
}

static bool
folds_distinct(const TbSortPlan *plan)
{
	return plan->input->groups != NULL && plan->input->groups->distincts != NIL;
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
	tb_result_set_order(builder, keys, ndistinct);
	plan->pathkeys = plan->request.order ? root->sort_pathkeys :
										   tb_sort_distinct_pathkeys(root);
	if (ndistinct > 0)
		plan->returned = estimate_distinct(root, plan->returned);
	/* HAVING drops groups after they came back, and so do PostgreSQL's filters; those that
	 * surely fall the engine need not sort. */
	if (plan->request.order &&
		(plan->request.groups == NULL || tb_preagg_quals(plan->input->groups) == NIL))
		limit = rows_needed(parse);
	else if (plan->request.order && plan->request.windows == NIL &&
			 !plan->request.distinct && !folds_distinct(plan) &&
			 tb_dropped_groups_add(plan->input->groups, builder))
		plan->returned = Min(plan->returned, plan->input->kept->rows);
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
	plan->pathkeys = tb_sort_window_pathkeys(root, clause);
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
		return tb_distinct_fold_qualifies(input->groups, reason);
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

	plan->returned = plan->input->rows;
	if (folds_distinct(plan))
	{
		tb_distinct_fold_add(plan->input, builder);
		plan->returned = plan->input->groups->result_groups;
	}
	if (!tb_windows_add(root, plan->input, plan->request.windows, builder, reason) ||
		!check_target(root, plan, reason))
		return NULL;
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

	if (request->groups == NULL || folds_distinct(plan) || request->windows != NIL ||
		request->distinct || !request->order || limit == TB_NO_LIMIT || limit == 0 ||
		root->parse->limitOption == LIMIT_OPTION_WITH_TIES)
		return NULL;
	builder = tb_result_create(plan->input->ncolumns);
	if (!tb_likely_groups_add(root, plan, limit, builder, reason))
		return NULL;
	plan->pathkeys = NIL;
	plan->returned = clamp_row_est(Min(plan->input->rows, (double) limit));
	plan->likely = true;
	return tb_result_finish(builder);
}

static TbSortPlan *
analyze(PlannerInfo *root, RelOptInfo *output_rel, const TbSortRequest *request,
		const char **reason)
{
	TbSortPlan *plan = palloc0(sizeof(TbSortPlan));
	const char *other_reason;

	plan->request = *request;
	if (request->groups != NULL)
		plan->input = tb_sort_input_of_groups(root, request->groups);
	else
		plan->input = tb_sort_input_of_rows(root, request->rel, needed_exprs(root, request),
											reason);
	if (plan->input == NULL ||
		(request->groups != NULL && !check_groups(request, plan->input, reason)))
		return NULL;
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
	plan->kept = plan->likely ? plan->input->kept :
								tb_sort_kept_path(root, output_rel, plan);
	return plan;
}

/* In values of window functions: those of a frame that excludes rows come from both
 * sides of the hole, and of RANGE frames by offsets the keys and limits are read once
 * more. */
static int
values_of_pass(const TbWindowPass *pass)
{
	return pass->nfunctions * (pass->exclusion != TB_EXCLUDE_NONE ? 2 : 1) +
		(tb_pass_has_range_offset(pass) ? 1 : 0) + (pass->start_limit != TB_NONE) +
		(pass->end_limit != TB_NONE);
}

/* Of all steps in the engine. */
static Cost
cost_steps(const TbSortPlan *plan)
{
	const TbResultPlan *result = plan->result;
	const TbWindowPass *passes = tb_result_passes(result);
	double				rows = plan->input->rows;
	Cost				cost = 0;

	for (uint32 i = 0; i < result->passes.count; i++)
		cost += tb_cost_sort(rows, passes[i].nkeys, rows) +
			tb_cost_windows(rows, values_of_pass(&passes[i]));
	if (plan->request.order || plan->request.distinct)
		cost += tb_cost_sort(rows, Max(result->nkeys, result->estimates.count),
							 result->ndistinct > 0 ? rows : plan->returned);
	return cost;
}

static void
cost_path(PlannerInfo *root, const TbSortPlan *plan, Path *path)
{
	Cost steps = cost_steps(plan);

	if (tb_sort_windows_on_gpu(plan))
	{
		TbStage *last = llast(plan->input->stages);

		tb_cost_result_on_gpu(&last->info.work, steps, tb_sort_rows_left(root, plan));
		steps = 0;
	}
	if (!enable_sort)
		steps += disable_cost;
	if (folds_distinct(plan))
	{
		/* The backend folds nothing. That others pass to the engine's pass costs about what
		 * passing them to the backend does. */
		TbAggAnalysis groups = *plan->input->groups;

		groups.folded = 0;
		tb_preagg_cost(root, &groups, plan->returned, path);
	}
	else if (plan->input->groups != NULL)
		tb_preagg_cost(root, plan->input->groups, plan->returned, path);
	else
		tb_join_cost(plan->input->stages, path);
	path->startup_cost += steps;
	path->total_cost += steps;
}

static CustomPath *
make_path(PlannerInfo *root, TbSortPlan *plan)
{
	/* Of groups the kept plan returns exactly the target. The parent is the input's
	 * relation, so that EXPLAIN knows the tables by name. */
	uint32 flags = plan->input->groups != NULL ? 0 : CUSTOMPATH_SUPPORT_PROJECTION;
	bool   groups_only = plan->request.windows == NIL && !plan->request.distinct &&
		!plan->request.order;
	CustomPath
		*path = tb_offer_make_path(plan->input->rel,
								   root->upper_targets[groups_only ? UPPERREL_GROUP_AGG :
																	 UPPERREL_DISTINCT],
								   plan->returned, flags,
								   lcons(plan->kept, tb_stage_sources(plan->input->stages)),
								   plan, &path_methods);

	path->path.pathkeys = plan->pathkeys;
	cost_path(root, plan, &path->path);
	return path;
}

/* Beside a row's values: their form as columns, its packed keys, its place; and the key
 * that RANGE frames by offsets look at. */
#define KEPT_ROW_BYTES 48
#define RANGE_KEY_BYTES 17

/* All rows are kept until the last has come; of an order with a limit only the first. */
static bool
fits_in_memory(PlannerInfo *root, const TbSortPlan *plan)
{
	const TbResultPlan *result = plan->result;
	bool				all = result->limit == TB_NO_LIMIT || result->passes.count > 0 ||
		result->ndistinct > 0;
	double rows = all ? plan->input->rows : plan->returned;
	int width = tb_target_of(root, plan->input->columns.scan_tlist)->width + KEPT_ROW_BYTES;
	int keys = 0; /* of the pass that has most, limits included */

	for (uint32 i = 0; i < result->passes.count; i++)
	{
		const TbWindowPass *pass = &tb_result_passes(result)[i];

		if (tb_pass_has_range_offset(pass))
			keys = Max(keys,
					   1 + (pass->start_limit != TB_NONE) + (pass->end_limit != TB_NONE));
	}
	return tb_cost_fits_in_memory(rows * (width + keys * RANGE_KEY_BYTES));
}

/* NULL, with the reason noted, if PostgreSQL must do it. */
static CustomPath *
consider(PlannerInfo *root, RelOptInfo *output_rel, const TbSortRequest *request,
		 const char *part)
{
	const char *reason = "";
	TbSortPlan *plan = NULL;

	if (!tb_guc_enable_sort)
		reason = "pg_turbine.enable_sort is off";
	else if (root->parse->hasTargetSRFs)
		reason = "a set-returning function is returned";
	else if (tb_planning_may_run_backward())
		reason = "a cursor without NO SCROLL may run backward";
	else
		plan = analyze(root, output_rel, request, &reason);
	if (plan != NULL && !tb_guc_debug_force_offload && !fits_in_memory(root, plan))
	{
		reason = "the sorted rows are estimated not to fit into the service's memory";
		plan = NULL;
	}
	if (plan == NULL)
	{
		tb_planning_note(part, "%s", reason);
		return NULL;
	}
	if (!tb_offer_finds_device(&((TbStage *) llast(plan->input->stages))->info.work, part))
		return NULL;
	return make_path(root, plan);
}

static const char *
part_of(PlannerInfo *root, UpperRelationKind step, const RelOptInfo *rel)
{
	const char *what = step == UPPERREL_GROUP_AGG ? "aggregation of" :
		step == UPPERREL_WINDOW					  ? "window functions over" :
		step == UPPERREL_DISTINCT				  ? "DISTINCT ON over" :
													"ORDER BY over";

	if (rel->reloptkind == RELOPT_BASEREL)
		return tb_planning_part(what, planner_rt_fetch(rel->relid, root)->relid);
	return tb_join_part(root, psprintf("%s join of", what), rel->relids);
}

static void
offer(PlannerInfo *root, UpperRelationKind step, RelOptInfo *output_rel, CustomPath *path,
	  const char *part)
{
	TbSortPlan *plan = linitial(path->custom_private);
	Path	   *offered = &path->path;

	if (plan->likely)
		offered = (Path *) create_sort_path(root, output_rel, offered, root->sort_pathkeys,
											root->limit_tuples);
	else
		tb_noted_nodes_note(output_rel, path);
	/* The step may have a projection above. */
	if (step == UPPERREL_ORDERED &&
		root->upper_targets[UPPERREL_ORDERED] != path->path.pathtarget)
		offered = apply_projection_to_path(root, output_rel, offered,
										   root->upper_targets[UPPERREL_ORDERED]);
	/* The fold was offered at the step below, and it is one node that may be lost. */
	if (folds_distinct(plan) && plan->request.order)
		part = NULL;
	tb_rivals_bound(root, output_rel, plan->input->stages, offered);
	tb_offer_path(output_rel, offered, part, TB_GPU_SORT_NAME,
				  tb_stage_relids(plan->input->stages));
}

void
tb_sort_add_path(PlannerInfo *root, UpperRelationKind step, RelOptInfo *input_rel,
				 RelOptInfo *output_rel)
{
	TbSortRequest request;
	const char	 *part;
	CustomPath	 *path;

	if (step != UPPERREL_WINDOW && step != UPPERREL_DISTINCT && step != UPPERREL_ORDERED &&
		step != UPPERREL_GROUP_AGG)
		return;
	if (!tb_planning_may_win(root, input_rel, output_rel->pathlist) ||
		!(step == UPPERREL_GROUP_AGG ? request_groups(output_rel, &request) :
									   request_input(input_rel, &request)) ||
		!request_step(root, step, output_rel, &request) ||
		!tb_rivals_leave_room(root, output_rel, request.rel))
		return;
	part = part_of(root, step, request.rel);
	/* Groups that the engine cannot fold the backend can: no reason is noted. */
	path = consider(root, output_rel, &request, step == UPPERREL_GROUP_AGG ? NULL : part);
	if (path != NULL)
		offer(root, step, output_rel, path, part);
}

static TbOutput *
output_array(const List *outputs)
{
	TbOutput *array = palloc(sizeof(TbOutput) * Max(list_length(outputs), 1));
	ListCell *lc;

	foreach(lc, outputs)
		array[foreach_current_index(lc)] = *(TbOutput *) lfirst(lc);
	return array;
}

static Plan *
plan_sort(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		  List *custom_plans)
{
	TbSortPlan		  *plan = linitial(path->custom_private);
	const TbSortInput *input = plan->input;
	int				   columns = list_length(input->columns.scan_tlist);
	List			  *children = tb_stage_plans(input->stages, custom_plans);
	CustomScan		  *scan = makeNode(CustomScan);

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = input->groups != NULL ? tb_preagg_quals(input->groups) : NIL;
	scan->scan.scanrelid = 0;
	scan->flags = path->flags;
	scan->custom_plans = children;
	scan->custom_exprs = tb_stage_params(input->stages);
	scan->custom_scan_tlist = lappend(copyObject(input->columns.scan_tlist),
									  tb_stage_notes(input->stages, columns + 1));
	scan->custom_private = tb_private_make(input->stages, input->rows,
										   output_array(input->columns.outputs),
										   sizeof(TbOutput) * columns);
	tb_private_set_result(scan->custom_private, plan->result);
	scan->methods = &scan_methods;
	return &scan->scan.plan;
}

/* The state of the node below, but for what EXPLAIN shows. */
static Node *
create_state(CustomScan *plan)
{
	static CustomExecMethods exec_methods[2];
	bool rows = tb_private_program(plan, tb_private_nstages(plan) - 1)->sink ==
		TB_SINK_PROJECT;
	Node *state = rows ? tb_join_create_state(plan) : tb_preagg_create_state(plan);
	CustomScanState	  *css = (CustomScanState *) state;
	CustomExecMethods *methods = &exec_methods[rows];

	*methods = *css->methods;
	methods->CustomName = TB_GPU_SORT_NAME;
	methods->ExplainCustomScan = tb_sort_explain;
	css->methods = methods;
	return state;
}
