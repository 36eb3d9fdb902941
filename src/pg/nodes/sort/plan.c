/*
 * plan.c - GpuSort: at which steps of a query it is offered, the paths and the plan.
 *
 * Each step starts from the table, join or aggregation below and adds one more thing to
 * do: window functions, DISTINCT ON, ORDER BY with LIMIT. What was offered at a step is
 * noted for the next one, so the last step has everything in one node.
 *
 * Called by the upper-path hook. Must offer nothing that its analysis (analyze.c) declines.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/selfuncs.h"

#include "pg/nodes/aggregate/continuation.h"
#include "pg/nodes/join/gpu_join.h"
#include "pg/nodes/offer/noted_nodes.h"
#include "pg/nodes/offer/offer.h"
#include "pg/nodes/offer/prefer_whole.h"
#include "pg/nodes/sort/gpu_sort.h"
#include "pg/nodes/sort/window.h"
#include "pg/planner/join/join_read.h"
#include "pg/planner/planning.h"
#include "pg/planner/postgres/rivals.h"
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

/* The groups that have just been offered, if the engine has something to do with them that
 * they do not bring themselves. */
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
	return groups->distincts != NIL && groups->continuation == NULL;
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

/* The type of a result's column; of one that no output names, any number's. */
static uint32
column_type(const TbSortInput *input, uint32 column)
{
	ListCell *lc;

	foreach(lc, input->columns.outputs)
	{
		const TbOutput *output = lfirst(lc);

		if (output->first == column)
			return output->type;
	}
	return TB_TYPE_INT8;
}

static bool
has_texts(const TbSortInput *input)
{
	ListCell *lc;

	foreach(lc, input->columns.outputs)
		if (tb_type_is_text(((const TbOutput *) lfirst(lc))->type))
			return true;
	return false;
}

/* Whether a GPU would compute the window functions itself, over rows that stay there. As
 * the engine decides (src/engine/result/window/device_window_pass.h); that there are enough
 * rows, the costs say. */
static bool
windows_on_gpu(const TbSortPlan *plan)
{
	const TbResultPlan	   *result = plan->result;
	const TbWindowPass	   *pass = tb_result_passes(result);
	const TbWindowFunction *functions = tb_result_functions(result);

	if (plan->input->groups != NULL || result->passes.count != 1 || result->ndistinct > 0 ||
		(result->flags & TB_RESULT_WITH_TIES) != 0 || pass->nkeys > TB_GPU_WINDOW_KEYS ||
		pass->nfunctions > TB_GPU_WINDOW_FUNCTIONS ||
		result->conditions.count > TB_GPU_WINDOW_CONDITIONS || has_texts(plan->input))
		return false;
	for (uint32 i = 0; i < pass->nfunctions; i++)
	{
		uint32 arg = functions[i].arg;

		if (!tb_window_on_gpu(pass, functions[i].kind,
							  arg == TB_NONE ? TB_TYPE_INVALID :
											   column_type(plan->input, arg)))
			return false;
	}
	return true;
}

/* Does the condition say how many rows of a partition stay at most? */
static bool
limits_partition(const TbResultPlan *result, const TbResultCondition *condition)
{
	switch (tb_result_functions(result)[condition->column - result->ncolumns].kind)
	{
		case TB_WINDOW_ROW_NUMBER:
		case TB_WINDOW_RANK:
		case TB_WINDOW_DENSE_RANK:
			return (condition->flags & TB_CONDITION_AT_LEAST) == 0;
		default:
			return false;
	}
}

/* Rows that are left of those that it sorts, estimated: by run conditions on ranks, which
 * PostgreSQL's estimate of rows does not know, and by LIMIT. */
static double
rows_left(PlannerInfo *root, const TbSortPlan *plan)
{
	const TbResultPlan		*result = plan->result;
	const TbResultCondition *conditions = tb_result_conditions(result);
	const WindowClause		*window = linitial(plan->request.windows);
	double					 left = Min(plan->returned, plan->input->rows);
	double					 partitions = -1;

	for (uint32 i = 0; i < result->conditions.count; i++)
	{
		if (!limits_partition(result, &conditions[i]))
			continue;
		if (partitions < 0)
			partitions = window->partitionClause == NIL ?
				1 :
				estimate_num_groups(root,
									get_sortgrouplist_exprs(window->partitionClause,
															root->processed_tlist),
									plan->input->rows, NULL, NULL);
		left = Min(left, partitions * Max((double) conditions[i].bound, 0));
	}
	return left;
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

/* Whether a device drops rows behind a bound as they come. As the engine decides
 * (src/engine/result/order/row_pruning.h). */
static bool
drops_late_rows(const TbSortPlan *plan)
{
	const TbResultPlan *result = plan->result;

	if (plan->input->groups != NULL || result->passes.count > 0 || result->ndistinct > 0 ||
		result->estimates.count > 0 || result->limit == TB_NO_LIMIT || result->nkeys == 0)
		return false;
	switch (column_type(plan->input, tb_result_keys(result)[result->first_key].column))
	{
		case TB_TYPE_INT2:
		case TB_TYPE_INT4:
		case TB_TYPE_INT8:
		case TB_TYPE_DATE:
		case TB_TYPE_TIMESTAMP:
		case TB_TYPE_TIMESTAMPTZ:
		case TB_TYPE_NUM64:
			return true;
		default:
			return false;
	}
}

static void
cost_path(PlannerInfo *root, const TbSortPlan *plan, Path *path)
{
	Cost steps = cost_steps(plan);

	if (drops_late_rows(plan))
		tb_cost_first_rows(&((TbStage *) llast(plan->input->stages))->info.work,
						   plan->returned);
	/* On a GPU rows stay there. */
	if (windows_on_gpu(plan))
	{
		TbStage *last = llast(plan->input->stages);

		tb_cost_result_on_gpu(&last->info.work, steps, rows_left(root, plan));
		steps = 0;
	}
	if (!enable_sort)
		steps += disable_cost;
	/* The node below. */
	if (tb_sort_folds_by_pass(plan))
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
	/* All of it. */
	path->startup_cost += steps;
	path->total_cost += steps;
	if (plan->input->fetched > 0)
		path->total_cost += tb_cost_fetched_rows(plan->returned);
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

/* NULL, with the reason noted, if PostgreSQL must do it. */
static CustomPath *
consider(PlannerInfo *root, RelOptInfo *output_rel, const TbSortRequest *request,
		 const char *part)
{
	const char *reason = "";
	TbSortPlan *plan = NULL;

	/* May it be done at all? */
	if (!tb_guc_enable_sort)
		reason = "pg_turbine.enable_sort is off";
	else if (root->parse->hasTargetSRFs)
		reason = "a set-returning function is returned";
	else if (tb_planning_may_run_backward())
		reason = "a cursor without NO SCROLL may run backward";
	else
		plan = tb_sort_analyze(root, output_rel, request, &reason);
	/* Why not. */
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
	if (tb_sort_folds_by_pass(plan) && plan->request.order)
		part = NULL;
	tb_prefer_whole(root, output_rel, plan->input->stages, offered);
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
	/* Is there anything to do? */
	if (!tb_planning_may_win(root, input_rel, output_rel->pathlist) ||
		!(step == UPPERREL_GROUP_AGG ? request_groups(output_rel, &request) :
									   request_input(input_rel, &request)) ||
		!request_step(root, step, output_rel, &request) ||
		!tb_rivals_leave_room(root, output_rel, request.rel))
		return;
	/* Make the path, and offer it. */
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
	scan->custom_private = tb_private_make(input->stages,
										   input->groups != NULL ? input->groups->groups :
																   input->rows,
										   output_array(input->columns.outputs),
										   sizeof(TbOutput) * columns);
	if (input->continuation != NULL)
	{
		TbContinuationProgram continued = input->continuation->program;

		continued.result = plan->result;
		tb_private_set_continuation(scan->custom_private, &continued);
	}
	else
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
