/*
 * plan.c - GpuPreAgg: the path, PostgreSQL's kept plan, and the plan.
 *
 * The kept plan is made here, of paths that nobody else can free: a hashed or sorted
 * aggregate over a sequential scan or a noted join, without a Gather. For grouping sets
 * it is what PostgreSQL has chosen over the same input. It is the first of the path's
 * custom_paths, so that setrefs and parameters treat it like any child. It runs only if
 * the device gives up.
 *
 * Groups that surely do not pass HAVING need not come back: the engine gets estimates of
 * its conditions. One without an estimate is left to PostgreSQL, if it can be evaluated for
 * some groups alone: what may raise an error, or is volatile, must see all of them.
 *
 * Owns the order of the list of grouping sets in custom_private. Called by the upper-path
 * hook. Must offer nothing whose groups PostgreSQL could not return as well, and never
 * decide that a group passes.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/typcache.h"

#include "pg/compat/pg18.h"
#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/aggregate/continuation.h"
#include "pg/nodes/offer/noted_nodes.h"
#include "pg/nodes/offer/offer.h"
#include "pg/planner/join/join_read.h"
#include "pg/planner/postgres/rivals.h"
#include "pg/nodes/offer/prefer_whole.h"
#include "pg/nodes/results/estimate.h"
#include "pg/planner/join/serial_paths.h"
#include "pg/planner/postgres/postgres_scan.h"
#include "pg/planner/planning.h"
#include "pg/settings/guc.h"
#include "pg/stage/plan_private.h"

static Plan *plan_preagg(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
						 List *clauses, List *custom_plans);

static const CustomPathMethods path_methods = {
	.CustomName = TB_GPU_PREAGG_NAME,
	.PlanCustomPath = plan_preagg,
};

static const CustomScanMethods scan_methods = {
	.CustomName = TB_GPU_PREAGG_NAME,
	.CreateCustomScanState = tb_preagg_create_state,
};

void
tb_preagg_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
}

/* GROUP BY and aggregates of the input. False: not for us at all. */
static bool
request_grouping(PlannerInfo *root, RelOptInfo *output_rel, GroupPathExtraData *extra,
				 TbAggRequest *request)
{
	Query *parse = root->parse;

	if (IS_OTHER_REL(output_rel) || extra->patype == PARTITIONWISE_AGGREGATE_PARTIAL)
		return false;
	request->group_clause = parse->groupClause;
	request->sets = parse->groupingSets;
	request->target = output_rel->reltarget;
	request->having = (List *) extra->havingQual;
	return true;
}

/* SELECT DISTINCT of plain rows. */
static bool
request_distinct(PlannerInfo *root, RelOptInfo *input_rel, TbAggRequest *request)
{
	Query *parse = root->parse;

	if (parse->hasDistinctOn || parse->hasAggs || parse->hasWindowFuncs ||
		parse->groupClause != NIL || parse->groupingSets != NIL || root->hasHavingQual)
		return false;
	request->group_clause = parse->distinctClause;
	request->target = input_rel->reltarget;
	request->having = NIL;
	return true;
}

Expr *
tb_request_key(PlannerInfo *root, const TbAggRequest *request,
			   const SortGroupClause *clause)
{
	Expr *key = (Expr *) get_sortgroupclause_expr(unconstify(SortGroupClause *, clause),
												  root->processed_tlist);

	return request->sets == NIL ? tb_key_below_sets(root, key) : key;
}

bool
tb_preagg_make_request(PlannerInfo *root, UpperRelationKind step, RelOptInfo *input_rel,
					   RelOptInfo *output_rel, void *extra, TbAggRequest *request)
{
	if ((input_rel->reloptkind != RELOPT_BASEREL &&
		 input_rel->reloptkind != RELOPT_JOINREL) ||
		IS_DUMMY_REL(input_rel) || root->parse->hasTargetSRFs)
		return false;
	if (input_rel->reloptkind == RELOPT_BASEREL && input_rel->rtekind != RTE_RELATION &&
		(input_rel->rtekind != RTE_SUBQUERY || step != UPPERREL_GROUP_AGG))
		return false;
	memset(request, 0, sizeof(*request));
	request->rel = input_rel;
	if (step == UPPERREL_GROUP_AGG)
		return request_grouping(root, output_rel, extra, request);
	return request_distinct(root, input_rel, request);
}

/* PostgreSQL's plan of the input: a scan, the join that was noted, or a subquery. */
static Path *
make_kept_input(PlannerInfo *root, const TbAggAnalysis *analysis)
{
	RelOptInfo		 *rel = analysis->request.rel;
	const TbJoinTree *tree = analysis->request.tree;

	if (analysis->below != NULL)
		return (Path *) create_projection_path(root, rel, analysis->below->path,
											   rel->reltarget);
	if (rel->reloptkind == RELOPT_BASEREL && tree->partitions != NULL)
		return tb_partitions_append(root, rel, tree->partitions);
	if (rel->reloptkind == RELOPT_BASEREL)
		return tb_postgres_scan(root, rel);
	/* The target has become that of the aggregation's input meanwhile. */
	return (Path *) create_projection_path(root, rel, tb_serial_path_of(rel),
										   rel->reltarget);
}

/* The grouping that takes its input sorted, if there is one, is the first that does not
 * hash. */
static List *
sorted_keys(PlannerInfo *root, List *rollups)
{
	ListCell *lc;

	foreach(lc, rollups)
	{
		RollupData *rollup = lfirst_node(RollupData, lc);

		if (!rollup->is_hashed)
			return tb_group_pathkeys(root, rollup->groupClause);
	}
	return NIL;
}

/* As PostgreSQL does it, but for parallel workers below. */
static Path *
make_kept_sets_path(PlannerInfo *root, RelOptInfo *output_rel,
					const TbAggAnalysis *analysis, Path *input, const AggClauseCosts *costs)
{
	ListCell *lc;

	foreach(lc, output_rel->pathlist)
	{
		GroupingSetsPath *path = lfirst(lc);
		List			 *pathkeys;

		if (!IsA(path, GroupingSetsPath))
			continue;
		pathkeys = path->aggstrategy == AGG_HASHED ? NIL : sorted_keys(root, path->rollups);
		if (pathkeys != NIL)
			input = (Path *) create_sort_path(root, output_rel, input, pathkeys, -1.0);
		return (Path *) create_groupingsets_path(root, output_rel, input,
												 analysis->request.having,
												 path->aggstrategy, path->rollups, costs);
	}
	return NULL;
}

/* PostgreSQL's plan for the same: Agg over it. NULL if it has none. */
static Path *
make_kept_path(PlannerInfo *root, RelOptInfo *output_rel, const TbAggAnalysis *analysis)
{
	const TbAggRequest *request = &analysis->request;
	Path			   *path = make_kept_input(root, analysis);
	/* Of DISTINCT all keys. */
	List			   *clause = request->group_clause == root->parse->groupClause ?
					  TB_PLANNED_GROUP_CLAUSE(root) :
					  request->group_clause;
	List			   *keys = TB_PRESORTED_PATHKEYS(root);
	AggStrategy			strategy = AGG_PLAIN;
	AggClauseCosts		costs;

	/* Rows that come several times are no harm. */
	if (request->distinct_input)
		return path;
	memset(&costs, 0, sizeof(costs));
	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	if (request->sets != NIL)
		return make_kept_sets_path(root, output_rel, analysis, path, &costs);
	if (request->group_clause != NIL)
	{
		/* Agg hashes no groups of aggregates with DISTINCT. */
		if (clause != NIL && grouping_is_hashable(clause) && root->numOrderedAggs == 0)
			strategy = AGG_HASHED;
		else if (grouping_is_sortable(clause))
		{
			strategy = AGG_SORTED;
			if (keys == NIL)
				keys = tb_group_pathkeys(root, clause);
		}
		else
			return NULL;
	}
	/* All may be constant. */
	if (strategy != AGG_HASHED && keys != NIL)
		path = (Path *) create_sort_path(root, output_rel, path, keys, -1.0);
	return (Path *) create_agg_path(root, output_rel, path, request->target, strategy,
									AGGSPLIT_SIMPLE, clause, request->having, &costs,
									analysis->result_groups);
}

List *
tb_preagg_quals(const TbAggAnalysis *analysis)
{
	/* Else they hold of groups that are not folded yet. */
	return analysis->folds ?
		analysis->request.having :
		list_concat_copy(analysis->group_filters, analysis->request.having);
}

static TbResultColumns
columns_of(const TbAggAnalysis *analysis)
{
	TbResultColumns columns = {NIL, NIL};
	ListCell	   *lc;

	foreach(lc, analysis->scan_tlist)
		tb_result_columns_add(&columns, lfirst_node(TargetEntry, lc)->expr,
							  &analysis->outputs[foreach_current_index(lc)]);
	return columns;
}

bool
tb_dropped_groups_add(const TbAggAnalysis *analysis, TbResultBuilder *builder)
{
	TbResultColumns columns = columns_of(analysis);
	List		   *estimates = NIL;
	ListCell	   *lc;

	if (analysis->keys == NIL || analysis->folds || analysis->nsets > 0)
		return false;
	foreach(lc, tb_preagg_quals(analysis))
	{
		List *steps = tb_estimate_steps(&columns, lfirst(lc));

		if (steps != NIL)
			estimates = lappend(estimates, steps);
		else if (contain_leaked_vars(lfirst(lc)) || contain_volatile_functions(lfirst(lc)))
			return false;
	}
	foreach(lc, estimates)
		tb_result_add_estimate(builder, TB_ESTIMATE_OF_CONDITION, 0, lfirst(lc));
	return estimates != NIL;
}

/* The result plan that does nothing else; NULL: the engine can drop none. */
static TbResultPlan *
dropped_groups_result(const TbAggAnalysis *analysis)
{
	const TbStage	*last = llast(analysis->stages);
	TbResultBuilder *builder = tb_result_create(last->program->keys.count +
												last->program->aggs.count);

	return tb_dropped_groups_add(analysis, builder) ? tb_result_finish(builder) : NULL;
}

/*
 * What it costs that one process computes of groups what PostgreSQL's workers would share
 * among them, of rows. Nearly all functions say that they cost an operator; those that
 * devices lack take some microseconds.
 */
static Cost
cost_of_lost_workers(const TbAggAnalysis *analysis)
{
	const RelOptInfo *rel = analysis->request.tree->probe_side;
	int	   exprs = list_length(analysis->computed) + list_length(analysis->group_filters);
	double rows = analysis->request.rel->rows * analysis->late_factor;
	int	   workers = 0;

	if (exprs == 0 || max_parallel_workers_per_gather == 0 || !rel->consider_parallel)
		return 0;
	workers = compute_parallel_worker(unconstify(RelOptInfo *, rel), rel->pages, -1,
									  max_parallel_workers_per_gather);
	return Max(analysis->groups - rows / (workers + 1), 0) * exprs * tb_cost_function();
}

/* What PostgreSQL computes of groups that come back. */
static Cost
cost_of_computed(PlannerInfo *root, const TbAggAnalysis *analysis)
{
	QualCost filters;
	QualCost keys;

	cost_qual_eval(&filters, analysis->group_filters, root);
	cost_qual_eval(&keys, analysis->computed, root);
	return filters.startup + keys.startup + cost_of_lost_workers(analysis) +
		analysis->groups *
		(filters.per_tuple + keys.per_tuple / Max(analysis->late_factor, 1));
}

void
tb_preagg_cost(PlannerInfo *root, const TbAggAnalysis *analysis, double returned,
			   Path *path)
{
	QualCost having;

	/* Until the last group is there. */
	cost_qual_eval(&having, analysis->request.having, root);
	path->startup_cost = having.startup + path->pathtarget->cost.startup;
	path->startup_cost += analysis->below != NULL ? analysis->below->cost :
													tb_cost_startup(&analysis->work) +
			tb_cost_stages(analysis->stages) + tb_cost_disabled(analysis->stages);
	if (!enable_hashagg && analysis->keys != NIL)
		path->startup_cost += disable_cost;
	/* A look-up and a store. */
	path->startup_cost += analysis->continuation != NULL ? analysis->continuation->cost :
														   analysis->folded *
			(cpu_tuple_cost + cpu_operator_cost * list_length(analysis->scan_tlist));
	path->startup_cost += cost_of_computed(root, analysis);
	/* More come back than are returned. */
	if ((analysis->distincts != NIL && analysis->continuation == NULL) ||
		analysis->hidden != 0 || analysis->group_filters != NIL)
		path->startup_cost += Max(analysis->groups - returned, 0) *
			tb_cost_returned_group();
	/* Rows that are returned. */
	path->total_cost = path->startup_cost +
		returned *
			(cpu_tuple_cost + tb_cost_returned_group() + having.per_tuple +
			 cpu_operator_cost * list_length(analysis->scan_tlist)) +
		path->rows * path->pathtarget->cost.per_tuple;
}

static CustomPath *
make_path(PlannerInfo *root, RelOptInfo *output_rel, TbAggAnalysis *analysis, Path *kept)
{
	const TbAggRequest *request = &analysis->request;
	/* Of a join: so that EXPLAIN knows the tables by name. */
	RelOptInfo		   *parent = request->rel->reloptkind == RELOPT_JOINREL ? request->rel :
																			  output_rel;
	/* No projection: the kept plan returns exactly the target. */
	CustomPath		   *path = tb_offer_make_path(parent, request->target,
										  request->distinct_input ? analysis->groups :
																			kept->rows,
												  0,
												  lcons(kept,
												analysis->below != NULL ?
															list_make1(analysis->below->path) :
															tb_stage_sources(analysis->stages)),
												  analysis, &path_methods);

	tb_preagg_cost(root, analysis,
				   dropped_groups_result(analysis) != NULL ? kept->rows :
															 analysis->result_groups,
				   &path->path);
	return path;
}

/* Whether groups of all keys can be folded to those of the sets. */
static bool
grouping_sets_qualify(const TbAggRequest *request, const char **reason)
{
	if (request->group_clause == NIL)
		*reason = "grouping sets without keys";
	else if (list_length(request->group_clause) > TB_MAX_KEYS)
		*reason = "the keys of grouping sets are too many";
	/* Each takes a hash table and a look-up a group, or a run over all groups. */
	else if (list_length(request->sets) > TB_MAX_SETS)
		*reason = "grouping sets are too many";
	else if (!grouping_is_hashable(request->group_clause))
		*reason = "a key of grouping sets cannot be hashed";
	else
		return true;
	return false;
}

static TbJoinTree *
make_tree(PlannerInfo *root, RelOptInfo *rel, const char **reason)
{
	if (rel->reloptkind == RELOPT_BASEREL)
		return tb_join_tree_of_table(root, rel, reason);
	return tb_join_tree_noted(root, rel, reason);
}

/* Of grouping and aggregation alone, without HAVING and what is returned. */
static Cost
cost_of(PlannerInfo *root, const TbAggAnalysis *analysis)
{
	Path path = {0};

	path.pathtarget = create_empty_pathtarget();
	path.rows = analysis->result_groups;
	tb_preagg_cost(root, analysis, analysis->result_groups, &path);
	return path.total_cost;
}

/* Filters that devices lack are PostgreSQL's to apply to groups or to the table's rows,
 * whichever costs less. */
static TbAggAnalysis *
analyze(PlannerInfo *root, const TbAggRequest *request, const char **reason)
{
	TbAggAnalysis *of_groups = tb_preagg_analyze(root, request, true, reason);
	TbAggAnalysis *of_rows;
	const char	  *row_reason;

	if (of_groups != NULL && of_groups->group_filters == NIL)
		return of_groups;
	if (of_groups != NULL ? tb_guc_debug_force_offload : request->tree->filters == NIL)
		return of_groups;
	of_rows = tb_preagg_analyze(root, request, false, &row_reason);
	if (of_groups == NULL || of_rows == NULL)
		return of_groups != NULL ? of_groups : of_rows;
	return cost_of(root, of_groups) <= cost_of(root, of_rows) ? of_groups : of_rows;
}

/* Of the rows of a node below. */
static CustomPath *
make_path_over_rows(PlannerInfo *root, RelOptInfo *output_rel, TbAggRequest *request,
					const char *part)
{
	TbAggAnalysis *analysis = NULL;
	const char	  *reason = "grouping sets of a subquery's rows";
	Path		  *kept = NULL;

	request->tree = palloc0(sizeof(TbJoinTree));
	request->tree->probe_side = request->rel;
	if (request->sets == NIL)
		analysis = tb_preagg_analyze_rows(root, request, &reason);
	if (analysis != NULL)
	{
		reason = "a grouping key can be neither hashed nor sorted";
		kept = make_kept_path(root, output_rel, analysis);
	}
	if (kept != NULL)
		return make_path(root, output_rel, analysis, kept);
	tb_planning_note(part, "%s", reason);
	return NULL;
}

CustomPath *
tb_preagg_make_path(PlannerInfo *root, RelOptInfo *output_rel, TbAggRequest *request,
					const char *part)
{
	TbAggAnalysis *analysis = NULL;
	const char	  *reason = "";
	Path		  *kept;

	/* May it be done at all? */
	if (!tb_guc_enable_aggregate)
	{
		tb_planning_note(part, "pg_turbine.enable_aggregate is off");
		return NULL;
	}
	if (request->rel->rtekind == RTE_SUBQUERY && request->rel->reloptkind == RELOPT_BASEREL)
		return make_path_over_rows(root, output_rel, request, part);
	if (request->sets != NIL && !grouping_sets_qualify(request, &reason))
	{
		tb_planning_note(part, "%s", reason);
		return NULL;
	}
	/* What the device computes. */
	request->tree = make_tree(root, request->rel, &reason);
	if (request->tree != NULL)
		analysis = analyze(root, request, &reason);
	if (analysis == NULL)
	{
		tb_planning_note(part, "%s", reason);
		return NULL;
	}
	if (!tb_offer_finds_device(&analysis->work, part))
		return NULL;
	/* Who folds the groups? */
	analysis->continuation = tb_continuation_over_groups(analysis);
	if (analysis->continuation == NULL &&
		analysis->folded_bytes > get_hash_memory_limit() && !tb_guc_debug_force_offload)
	{
		tb_planning_note(
			part, "the folded groups are estimated to take more memory than hash_mem");
		/* With DISTINCT the engine may fold them: see nodes/sort/analyze.c. */
		if (analysis->distincts == NIL)
			return NULL;
		analysis->too_large = true;
	}
	/* PostgreSQL's plan, then ours. */
	kept = make_kept_path(root, output_rel, analysis);
	if (kept == NULL)
	{
		tb_planning_note(part, "a grouping key can be neither hashed nor sorted");
		return NULL;
	}
	return make_path(root, output_rel, analysis, kept);
}

/* Of rows that are no table's there is nothing to offer. */
static void
note_other_input(PlannerInfo *root, const char *what, RelOptInfo *rel)
{
	if (rel->reloptkind == RELOPT_BASEREL && rel->rtekind != RTE_RELATION &&
		rel->rtekind != RTE_RESULT && rel->rtekind != RTE_SUBQUERY)
		tb_planning_note(psprintf("%s %s", what,
								  planner_rt_fetch(rel->relid, root)->eref->aliasname),
						 "the input is no table");
}

static const char *
what_is_done(UpperRelationKind step)
{
	return step == UPPERREL_DISTINCT ? "DISTINCT over" : "aggregation of";
}

const char *
tb_preagg_part(PlannerInfo *root, UpperRelationKind step, RelOptInfo *input_rel)
{
	const char *what = what_is_done(step);

	if (input_rel->rtekind == RTE_SUBQUERY && input_rel->reloptkind == RELOPT_BASEREL)
		return psprintf("%s %s", what,
						planner_rt_fetch(input_rel->relid, root)->eref->aliasname);
	if (input_rel->reloptkind == RELOPT_BASEREL)
		return tb_planning_part(what, planner_rt_fetch(input_rel->relid, root)->relid);
	return tb_join_part(root, psprintf("%s join of", what), input_rel->relids);
}

bool
tb_preagg_add_path(PlannerInfo *root, UpperRelationKind step, RelOptInfo *input_rel,
				   RelOptInfo *output_rel, void *extra, bool quietly)
{
	TbAggRequest request;
	List		*stages;
	const char	*part;
	CustomPath	*path;

	if (!quietly)
		note_other_input(root, what_is_done(step), input_rel);
	/* Is it worth a look? */
	if (!tb_planning_may_win(root, input_rel, output_rel->pathlist) ||
		!tb_preagg_make_request(root, step, input_rel, output_rel, extra, &request) ||
		!tb_rivals_leave_room(root, output_rel, input_rel))
		return false;
	part = tb_preagg_part(root, step, input_rel);
	/* Make the path. */
	path = tb_preagg_make_path(root, output_rel, &request, quietly ? NULL : part);
	if (path == NULL)
		return false;
	stages = ((TbAggAnalysis *) linitial(path->custom_private))->stages;
	/* What GpuSort would do is done to the stages' own groups. */
	if (((TbAggAnalysis *) linitial(path->custom_private))->below == NULL)
		tb_noted_nodes_note(output_rel, path);
	if (((TbAggAnalysis *) linitial(path->custom_private))->too_large)
		return false;
	/* Offer it. */
	tb_prefer_whole(root, output_rel, stages, &path->path);
	tb_rivals_bound(root, output_rel, stages, &path->path);
	tb_offer_path(output_rel, &path->path, part, TB_GPU_PREAGG_NAME,
				  tb_stage_relids(stages));
	return true;
}

/* The grouping expression whose key it is, computed ones behind the device's; NULL: none.
 */
static const SortGroupClause *
clause_of_key(const TbAggAnalysis *analysis, int key)
{
	int		  nkeys = list_length(analysis->keys);
	ListCell *lc;

	foreach(lc, analysis->clause_keys)
		if (lfirst_int(lc) == (key < nkeys ? key : nkeys - 1 - key))
			return list_nth_node(SortGroupClause, analysis->request.group_clause,
								 foreach_current_index(lc));
	return NULL;
}

/* What folded groups are told apart by: the clauses' operators; a type's own for columns
 * that depend on keys. */
static Oid *
key_operators(const TbAggAnalysis *analysis)
{
	List	 *keys = list_concat_copy(analysis->keys, analysis->computed);
	Oid		 *operators = palloc(sizeof(Oid) * Max(list_length(keys), 1));
	ListCell *lc;

	foreach(lc, keys)
	{
		int					   key = foreach_current_index(lc);
		const SortGroupClause *clause = clause_of_key(analysis, key);

		operators[key] = clause != NULL ?
			clause->eqop :
			lookup_type_cache(exprType(lfirst(lc)), TYPECACHE_EQ_OPR)->eq_opr;
	}
	return operators;
}

/* The list of grouping sets in custom_private, which PostgreSQL copies with the plan: it
 * has nothing that is no node. */
typedef enum TbPrivateSets
{
	TB_SETS_SETS,	   /* Const, bytea: uint64[] */
	TB_SETS_FUNCTIONS, /* Const, bytea: int32[] */
	TB_SETS_OPERATORS, /* OID list, one a key, computed ones included */
	TB_SETS_DISTINCTS, /* Const, bytea: TbDistinct[] */
	TB_SETS_COMPUTED,  /* int list: how many keys are computed */
	TB_SETS_STATES	   /* Const, bytea: TbComputedState[] */
} TbPrivateSets;

/* Adds them to custom_private (stage/plan_private.h), which is returned. */
static List *
pack_sets(List *private, const TbGroupingSets *sets)
{
	List *operators = NIL;

	for (int i = 0; i < sets->nkeys + sets->ncomputed; i++)
		operators = lappend_oid(operators, sets->operators[i]);
	lfirst(list_nth_cell(private, TB_PRIVATE_SETS)) =
		list_make5(tb_bytes_node(sets->sets, sizeof(uint64) * sets->nsets),
				   tb_bytes_node(sets->functions,
								 sizeof(int32) * sets->nfunctions * sets->nsets),
				   operators,
				   tb_bytes_node(sets->distincts, sizeof(TbDistinct) * sets->ndistincts),
				   list_make1_int(sets->ncomputed));
	lfirst(list_nth_cell(private, TB_PRIVATE_SETS)) =
		lappend(list_nth(private, TB_PRIVATE_SETS),
				tb_bytes_node(sets->computed_states,
							  sizeof(TbComputedState) * sets->ncomputed_states));
	return private;
}

TbGroupingSets *
tb_grouping_sets_unpack(const CustomScan *plan)
{
	List		   *packed = list_nth(plan->custom_private, TB_PRIVATE_SETS);
	TbGroupingSets *result;
	List		   *operators;
	Oid			   *copy;
	Size			size;

	if (packed == NIL)
		return NULL;
	/* How many keys. */
	operators = list_nth(packed, TB_SETS_OPERATORS);
	result = palloc0(sizeof(TbGroupingSets));
	result->ncomputed = linitial_int(list_nth(packed, TB_SETS_COMPUTED));
	result->nkeys = list_length(operators) - result->ncomputed;
	/* Sets, and GROUPING() in each. */
	result->sets = tb_node_bytes(packed, TB_SETS_SETS, &size);
	result->nsets = size / sizeof(uint64);
	result->functions = tb_node_bytes(packed, TB_SETS_FUNCTIONS, &size);
	result->nfunctions = size / sizeof(int32) / Max(result->nsets, 1);
	/* States that only folded groups have. */
	result->distincts = tb_node_bytes(packed, TB_SETS_DISTINCTS, &size);
	result->ndistincts = size / sizeof(TbDistinct);
	result->computed_states = tb_node_bytes(packed, TB_SETS_STATES, &size);
	result->ncomputed_states = size / sizeof(TbComputedState);
	/* What tells keys apart. */
	copy = palloc(sizeof(Oid) * Max(list_length(operators), 1));
	for (int i = 0; i < list_length(operators); i++)
		copy[i] = list_nth_oid(operators, i);
	result->operators = copy;
	return result;
}

static List *
add_sets(List *private, const TbAggAnalysis *analysis)
{
	int				 nvalues = list_length(analysis->functions);
	int32			*functions = palloc(sizeof(int32) * Max(nvalues, 1));
	TbDistinct		*distincts = palloc(sizeof(TbDistinct) *
										Max(list_length(analysis->distincts), 1));
	TbComputedState *states = palloc(sizeof(TbComputedState) *
									 Max(list_length(analysis->computed_states), 1));
	TbGroupingSets	 sets = {0};
	ListCell		*lc;

	/* Lists as arrays. */
	foreach(lc, analysis->functions)
		functions[foreach_current_index(lc)] = lfirst_int(lc);
	foreach(lc, analysis->distincts)
		distincts[foreach_current_index(lc)] = *(TbDistinct *) lfirst(lc);
	foreach(lc, analysis->computed_states)
		states[foreach_current_index(lc)] = *(TbComputedState *) lfirst(lc);
	/* As execution sees them. */
	sets.nkeys = list_length(analysis->keys);
	sets.ncomputed = list_length(analysis->computed);
	sets.nsets = analysis->nsets;
	sets.sets = analysis->sets;
	sets.nfunctions = nvalues / analysis->nsets;
	sets.functions = functions;
	sets.operators = key_operators(analysis);
	sets.ndistincts = list_length(analysis->distincts);
	sets.distincts = distincts;
	sets.ncomputed_states = list_length(analysis->computed_states);
	sets.computed_states = states;
	return pack_sets(private, &sets);
}

static Plan *
plan_preagg(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
			List *clauses, List *custom_plans)
{
	TbAggAnalysis *analysis = linitial(path->custom_private);
	CustomScan	  *scan = makeNode(CustomScan);
	bool		   over_rows = analysis->below != NULL;
	/* Of rows of a node below, its plan is a child and has the stages. */
	List		  *stages = over_rows ? NIL : analysis->stages;
	List		  *children = tb_stage_plans(stages, custom_plans);
	int			   columns = list_length(analysis->scan_tlist);
	TbResultPlan  *result = over_rows ? NULL : dropped_groups_result(analysis);

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = tb_preagg_quals(analysis);
	scan->scan.scanrelid = 0;
	scan->flags = path->flags;
	scan->custom_plans = children;
	scan->custom_exprs = over_rows ? list_make1(analysis->continuation->params) :
									 tb_stage_params(stages);
	scan->custom_scan_tlist = lappend(list_copy(analysis->scan_tlist),
									  tb_stage_notes(stages, columns + 1));
	scan->custom_private = tb_private_make(stages, analysis->groups,
										   analysis->continuation != NULL ?
											   analysis->continuation->outputs :
											   analysis->outputs,
										   sizeof(TbOutput) * columns);
	if (analysis->continuation != NULL)
		tb_private_set_continuation(scan->custom_private, &analysis->continuation->program);
	if (analysis->nsets > 0)
		scan->custom_private = add_sets(scan->custom_private, analysis);
	if (result != NULL)
		tb_private_set_result(scan->custom_private, result);
	scan->methods = &scan_methods;
	return &scan->scan.plan;
}
