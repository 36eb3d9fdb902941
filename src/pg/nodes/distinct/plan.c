/*
 * plan.c - GpuDistinct: the parts of an aggregation, their paths, and the plan.
 *
 * A part is what one GpuPreAgg computes: all plain aggregates, or those with DISTINCT of
 * one argument under one FILTER. For grouping sets there are the same parts for each set. A
 * part has the keys of its set as first columns, and PostgreSQL's own plan as its child, so
 * the node needs none.
 *
 * The parts read the same rows again. So rows must not differ from one scan to the next:
 * volatile functions, samples and foreign tables stay with PostgreSQL. Snapshots see to the
 * rest.
 *
 * Owns the order of custom_private (gpu_distinct.h). Called by the upper-path hook.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"

#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/distinct/gpu_distinct.h"
#include "pg/nodes/offer/offer.h"
#include "pg/nodes/offer/prefer_whole.h"
#include "pg/planner/expression/aggregate_kind.h"
#include "pg/planner/planning.h"
#include "pg/planner/postgres/rivals.h"
#include "pg/plans/our_nodes.h"

/* Each child is planned, and reads the input once. */
#define MOST_CHILDREN 64

static Plan *plan_distinct(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
						   List *tlist, List *clauses, List *custom_plans);

static const CustomPathMethods path_methods = {
	.CustomName = TB_GPU_DISTINCT_NAME,
	.PlanCustomPath = plan_distinct,
};

static const CustomScanMethods scan_methods = {
	.CustomName = TB_GPU_DISTINCT_NAME,
	.CreateCustomScanState = tb_gpu_distinct_create_state,
};

void
tb_gpu_distinct_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
}

/* ---- Parts ---- */

typedef struct DistinctPart
{
	const Expr *argument; /* of DISTINCT; NULL: of plain aggregates */
	const Expr *filter;
	List	   *columns;  /* Expr: what it computes, or depends on keys */
	List	   *numbers;  /* int: these among the columns of all parts */
	int			naggregates;
} DistinctPart;

/* An aggregation, divided into parts. */
typedef struct DividedRequest
{
	PlannerInfo	 *root;
	TbAggRequest *request;
	List		 *sets;		 /* a list of SortGroupClauses for each set */
	List		 *keys;		 /* Expr, one a grouping expression */
	List		 *parts;	 /* DistinctPart *, that of plain aggregates first */
	List		 *columns;	 /* Expr: of all parts */
	List		 *functions; /* GroupingFunc */
	const char	 *reason;
} DividedRequest;

/* A path's custom_private points to it. */
typedef struct DistinctPlan
{
	const DividedRequest *divided;
	List				 *columns; /* a list of ints for each child: TB_DISTINCT_COLUMNS */
} DistinctPlan;

static bool
refuse_division(DividedRequest *divided, const char *reason)
{
	divided->reason = reason;
	return false;
}

/* Minima and maxima are the same however often a value comes. */
static const Expr *
argument_of_distinct(const Aggref *aggref)
{
	TbAggregateKind kind = tb_aggregate_kind(aggref->aggfnoid);

	if (aggref->aggdistinct == NIL || list_length(aggref->args) != 1 ||
		kind == TB_AGGREGATE_MIN || kind == TB_AGGREGATE_MAX)
		return NULL;
	return linitial_node(TargetEntry, aggref->args)->expr;
}

/* What DISTINCT is of, each once. */
typedef struct DistinctInputs
{
	List *arguments; /* Expr */
	List *filters;	 /* Expr, or NULL */
} DistinctInputs;

static bool
collect_inputs(Node *node, DistinctInputs *inputs)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		const Aggref *aggref = (const Aggref *) node;
		const Expr	 *argument = argument_of_distinct(aggref);

		if (argument == NULL || aggref->agglevelsup != 0)
			return false;
		inputs->arguments = list_append_unique(inputs->arguments,
											   unconstify(Expr *, argument));
		inputs->filters = list_append_unique(inputs->filters, aggref->aggfilter);
		return false;
	}
	return expression_tree_walker(node, collect_inputs, inputs);
}

TbDistinctUse
tb_gpu_distinct_use(PlannerInfo *root, const RelOptInfo *output_rel,
					const GroupPathExtraData *extra)
{
	DistinctInputs inputs = {0};

	if (root->numOrderedAggs == 0)
		return TB_DISTINCT_NO_USE;
	(void) collect_inputs((Node *) output_rel->reltarget->exprs, &inputs);
	(void) collect_inputs(extra->havingQual, &inputs);
	if (list_length(inputs.arguments) > (root->parse->groupingSets != NIL ? 0 : 1))
		return TB_DISTINCT_NEEDED;
	return list_length(inputs.filters) > 1 ? TB_DISTINCT_CHOICE : TB_DISTINCT_NO_USE;
}

static DistinctPart *
part_of(DividedRequest *divided, const Expr *argument, const Expr *filter)
{
	DistinctPart *part;
	ListCell	 *lc;

	foreach(lc, divided->parts)
	{
		part = lfirst(lc);
		if (equal(part->argument, argument) &&
			(argument == NULL || equal(part->filter, filter)))
			return part;
	}
	part = palloc0(sizeof(DistinctPart));
	part->argument = argument;
	part->filter = filter;
	/* Columns that depend on keys may come last; their part is the first all the same. */
	divided->parts = argument == NULL ? lcons(part, divided->parts) :
										lappend(divided->parts, part);
	return part;
}

/* Aggregates are numbered, without gaps, for one Agg; each part has one of its own. */
static Expr *
renumbered(DistinctPart *part, Expr *expr)
{
	Aggref *aggref;

	if (!IsA(expr, Aggref))
		return expr;
	aggref = copyObject((Aggref *) expr);
	aggref->aggno = part->naggregates;
	aggref->aggtransno = part->naggregates++;
	return (Expr *) aggref;
}

static void
add_column(DividedRequest *divided, Expr *expr, const Expr *argument, const Expr *filter)
{
	DistinctPart *part = part_of(divided, argument, filter);

	part->columns = lappend(part->columns, renumbered(part, expr));
	part->numbers = lappend_int(part->numbers, list_length(divided->columns));
	divided->columns = lappend(divided->columns, expr);
}

/* True, with the reason, if something is returned that no part has. */
static bool
divide_walker(Node *node, DividedRequest *divided)
{
	if (node == NULL)
		return false;
	if (!IsA(node, List) &&
		(list_member(divided->keys, node) || list_member(divided->columns, node) ||
		 list_member(divided->functions, node)))
		return false;
	switch (nodeTag(node))
	{
		case T_Aggref:
			add_column(divided, (Expr *) node, argument_of_distinct((Aggref *) node),
					   ((Aggref *) node)->aggfilter);
			return false;
		case T_Var:
			if (divided->request->sets != NIL)
				return !refuse_division(
					divided,
					"a column that is neither grouped nor aggregated, over grouping sets");
			add_column(divided, (Expr *) node, NULL, NULL);
			return false;
		case T_GroupingFunc:
			divided->functions = lappend(divided->functions, node);
			return ((GroupingFunc *) node)->agglevelsup != 0 &&
				!refuse_division(divided, "GROUPING of another query level");
		case T_PlaceHolderVar:
		case T_WindowFunc:
			return !refuse_division(divided,
									"an expression of a kind that devices do not compute");
		default:
			return expression_tree_walker(node, divide_walker, divided);
	}
}

/* Whether all scans of the input return the same rows. */
static bool
input_is_stable(DividedRequest *divided)
{
	Query	 *parse = divided->root->parse;
	ListCell *lc;

	if (contain_volatile_functions((Node *) parse))
		return refuse_division(divided,
							   "aggregates with DISTINCT of different arguments beside a "
							   "volatile function");
	foreach(lc, parse->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->tablesample != NULL)
			return refuse_division(divided,
								   "aggregates with DISTINCT of different arguments over a "
								   "sample, which each scan takes anew");
		if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_FOREIGN_TABLE)
			return refuse_division(divided,
								   "aggregates with DISTINCT of different arguments over a "
								   "foreign table, which may change between two scans");
	}
	return true;
}

/* The clauses of each set; without sets, of the only one. */
static bool
find_sets(DividedRequest *divided)
{
	const TbAggRequest *request = divided->request;
	ListCell		   *set;
	ListCell		   *clause;

	foreach(clause, request->group_clause)
	{
		Expr *key = (Expr *) get_sortgroupclause_expr(lfirst_node(SortGroupClause, clause),
													  divided->root->processed_tlist);

		/* The planner would take one column for both above the node. */
		if (request->sets != NIL && list_member(divided->keys, key))
			return refuse_division(divided, "a key of grouping sets is repeated");
		divided->keys = lappend(divided->keys, key);
	}
	if (request->sets == NIL)
		divided->sets = list_make1(request->group_clause);
	foreach(set, request->sets)
	{
		List *clauses = NIL;

		foreach(clause, request->group_clause)
			if (list_member_int(lfirst(set),
								lfirst_node(SortGroupClause, clause)->tleSortGroupRef))
				clauses = lappend(clauses, lfirst(clause));
		divided->sets = lappend(divided->sets, clauses);
	}
	return grouping_is_sortable(request->group_clause) ||
		refuse_division(divided, "a grouping key cannot be sorted");
}

static bool
divide_request(DividedRequest *divided)
{
	const TbAggRequest *request = divided->request;

	return input_is_stable(divided) && find_sets(divided) &&
		!divide_walker((Node *) request->target->exprs, divided) &&
		!divide_walker((Node *) request->having, divided) &&
		(list_length(divided->parts) * list_length(divided->sets) <= MOST_CHILDREN ||
		 refuse_division(divided,
						 "arguments of DISTINCT, and grouping sets, are too many"));
}

/* ---- Paths ---- */

/* What the child of a part and a set computes. */
static TbAggRequest
request_of_child(const DividedRequest *divided, const DistinctPart *part, List *clauses)
{
	TbAggRequest request = *divided->request;
	ListCell	*lc;

	request.group_clause = clauses;
	request.sets = NIL;
	request.having = NIL;
	request.target = create_empty_pathtarget();
	foreach(lc, clauses)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);

		add_column_to_pathtarget(request.target,
								 tb_request_key(divided->root, &request, clause),
								 clause->tleSortGroupRef);
	}
	foreach(lc, part->columns)
		add_column_to_pathtarget(request.target, lfirst(lc), 0);
	(void) set_pathtarget_cost_width(divided->root, request.target);
	return request;
}

/* The columns of the scan tuple that the child's columns become. */
static List *
columns_of_child(const DividedRequest *divided, const DistinctPart *part, List *clauses)
{
	List	 *columns = NIL;
	ListCell *lc;

	foreach(lc, divided->request->group_clause)
		if (list_member_ptr(clauses, lfirst(lc)))
			columns = lappend_int(columns, foreach_current_index(lc) + 1);
	foreach(lc, part->numbers)
		columns = lappend_int(columns, list_length(divided->keys) + lfirst_int(lc) + 1);
	return columns;
}

/* A path for each part of each set; NIL, with the reason noted, if one has none. */
static List *
make_children(RelOptInfo *output_rel, const DividedRequest *divided, DistinctPlan *plan,
			  const char *note)
{
	List	 *children = NIL;
	ListCell *set;
	ListCell *lc;

	foreach(set, divided->sets)
		foreach(lc, divided->parts)
		{
			const DistinctPart *part = lfirst(lc);
			TbAggRequest		request = request_of_child(divided, part, lfirst(set));
			CustomPath *path = tb_preagg_make_path(divided->root, output_rel, &request,
												   note);

			if (path == NULL ||
				((TbAggAnalysis *) linitial(path->custom_private))->too_large)
				return NIL;
			children = lappend(children, path);
			plan->columns = lappend(plan->columns,
									columns_of_child(divided, part, lfirst(set)));
		}
	return children;
}

static List *
stages_of_children(const List *children)
{
	List	 *stages = NIL;
	ListCell *lc;

	foreach(lc, children)
	{
		const TbAggAnalysis *analysis = linitial(
			((const CustomPath *) lfirst(lc))->custom_private);

		stages = list_concat(stages, analysis->stages);
	}
	return stages;
}

/* Fills in costs and rows. */
static void
cost_distinct(const DividedRequest *divided, CustomPath *path)
{
	List	 *having = divided->request->having;
	int		  nparts = list_length(divided->parts);
	double	  groups = 0;
	QualCost  conditions;
	ListCell *lc;

	/* Until the last part has ended, a look-up and a store for each of its groups. */
	cost_qual_eval(&conditions, having, divided->root);
	path->path.startup_cost = conditions.startup + path->path.pathtarget->cost.startup;
	foreach(lc, path->custom_paths)
	{
		const Path *child = lfirst(lc);

		path->path.startup_cost += child->total_cost +
			child->rows * (cpu_tuple_cost + cpu_operator_cost * list_length(divided->keys));
		if (foreach_current_index(lc) % nparts == 0)
			groups += child->rows;
	}
	path->path.rows = clamp_row_est(
		groups * clauselist_selectivity(divided->root, having, 0, JOIN_INNER, NULL));
	/* Groups that are returned. */
	path->path.total_cost = path->path.startup_cost +
		groups * (cpu_tuple_cost + conditions.per_tuple) +
		path->path.rows * path->path.pathtarget->cost.per_tuple;
}

bool
tb_gpu_distinct_add_path(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel,
						 GroupPathExtraData *extra, TbDistinctUse use)
{
	DividedRequest *divided = palloc0(sizeof(DividedRequest));
	TbAggRequest   *request = palloc0(sizeof(TbAggRequest));
	DistinctPlan   *plan = palloc0(sizeof(DistinctPlan));
	const char	   *note = NULL;
	List		   *children;
	CustomPath	   *path;

	/* Is it worth a look? */
	if (!tb_planning_may_win(root, input_rel, output_rel->pathlist) ||
		!tb_preagg_make_request(root, UPPERREL_GROUP_AGG, input_rel, output_rel, extra,
								request) ||
		!tb_rivals_leave_room(root, output_rel, input_rel))
		return false;
	if (use == TB_DISTINCT_NEEDED)
		note = tb_preagg_part(root, UPPERREL_GROUP_AGG, input_rel);
	divided->root = root;
	divided->request = request;
	plan->divided = divided;
	if (!divide_request(divided))
	{
		tb_planning_note(note, "%s", divided->reason);
		return false;
	}
	children = make_children(output_rel, divided, plan, note);
	if (children == NIL)
		return false;
	path = tb_offer_make_path(input_rel->reloptkind == RELOPT_JOINREL ? input_rel :
																		output_rel,
							  request->target, 0, 0, children, plan, &path_methods);
	cost_distinct(divided, path);
	/* Offer it. */
	tb_prefer_whole(root, output_rel, stages_of_children(children), &path->path);
	tb_rivals_bound(root, output_rel, stages_of_children(children), &path->path);
	tb_offer_path(output_rel, &path->path, note, TB_GPU_PREAGG_NAME,
				  tb_stage_relids(stages_of_children(list_make1(linitial(children)))));
	return true;
}

/* ---- The plan ---- */

static List *
scan_tlist_of(const DividedRequest *divided)
{
	List	 *exprs = list_concat_copy(divided->keys, divided->columns);
	List	 *tlist = NIL;
	ListCell *lc;

	exprs = list_concat(exprs, divided->functions);
	foreach(lc, exprs)
		tlist = lappend(tlist,
						makeTargetEntry(lfirst(lc), foreach_current_index(lc) + 1, NULL,
										false));
	return tlist;
}

/* The keys of each set, as numbers. */
static List *
sets_of(const DividedRequest *divided)
{
	List	 *result = NIL;
	ListCell *set;
	ListCell *lc;

	foreach(set, divided->sets)
	{
		List *keys = NIL;

		foreach(lc, divided->request->group_clause)
			if (list_member_ptr(lfirst(set), lfirst(lc)))
				keys = lappend_int(keys, foreach_current_index(lc));
		result = lappend(result, keys);
	}
	return result;
}

/* What each GROUPING() is in the set: a bit for each argument that it lacks, the last
 * argument's the lowest. */
static List *
functions_of(const DividedRequest *divided, const List *clauses)
{
	List	 *values = NIL;
	ListCell *function;
	ListCell *lc;

	foreach(function, divided->functions)
	{
		int value = 0;

		foreach(lc, lfirst_node(GroupingFunc, function)->refs)
			value = value << 1 |
				(get_sortgroupref_clause_noerr(lfirst_int(lc),
											   unconstify(List *, clauses)) == NULL);
		values = lappend_int(values, value);
	}
	return values;
}

/* In the order of TbDistinctPrivate. */
static List *
pack_distinct(const DistinctPlan *plan)
{
	const DividedRequest *divided = plan->divided;
	List				 *equal_operators = NIL;
	List				 *less_operators = NIL;
	List				 *functions = NIL;
	bool				  hashable = grouping_is_hashable(divided->request->group_clause);
	ListCell			 *lc;

	foreach(lc, divided->request->group_clause)
	{
		const SortGroupClause *clause = lfirst_node(SortGroupClause, lc);

		equal_operators = lappend_oid(equal_operators, clause->eqop);
		less_operators = lappend_oid(less_operators, clause->sortop);
	}
	foreach(lc, divided->sets)
		functions = lappend(functions, functions_of(divided, lfirst(lc)));
	return lappend(list_make5(plan->columns, sets_of(divided), equal_operators,
							  less_operators, list_make1_int(hashable)),
				   functions);
}

static Plan *
plan_distinct(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
			  List *clauses, List *custom_plans)
{
	const DistinctPlan *plan = linitial(path->custom_private);
	CustomScan		   *scan = makeNode(CustomScan);

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = plan->divided->request->having;
	scan->scan.scanrelid = 0;
	scan->flags = path->flags;
	scan->custom_plans = custom_plans;
	scan->custom_scan_tlist = scan_tlist_of(plan->divided);
	scan->custom_private = pack_distinct(plan);
	scan->methods = &scan_methods;
	return &scan->scan.plan;
}
