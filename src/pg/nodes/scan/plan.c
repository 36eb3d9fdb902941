/*
 * plan.c - GpuScan: which filters go to the device, the paths and the plan.
 *
 * There are two paths: one of the whole table, and a partial one. Above the partial path
 * PostgreSQL's parallel workers can do what devices lack: joins of PostgreSQL's, its
 * aggregates, unknown functions. Each worker takes shares of the blocks (exec.c).
 *
 * Called by the path hook for every table. Must add no path if relation_check.h says no.
 * Must keep the order of security levels: a filter runs on the device before PostgreSQL's
 * filters, so all filters of a lower level must run there too.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/rel.h"

#include "pg/compat/pg18.h"
#include "pg/errors/may_raise.h"
#include "pg/planner/foreign_inputs.h"
#include "pg/nodes/offer/offer.h"
#include "pg/planner/postgres/rivals.h"
#include "pg/nodes/scan/gpu_scan.h"
#include "pg/planner/block_index.h"
#include "pg/planner/expression/expression.h"
#include "pg/planner/expression/geometry_clause.h"
#include "pg/planner/postgres/postgres_time.h"
#include "pg/planner/planning.h"
#include "pg/planner/relation_check.h"
#include "pg/settings/guc.h"
#include "pg/stage/plan_private.h"

/* What planning found; a path's custom_private points to it. */
typedef struct ScanPlan
{
	List		 *device_clauses; /* RestrictInfo */
	TbProgram	 *program;
	List		 *params;		  /* Expr */
	TbWork		  work;
	TbBlockIndex *block_index;	  /* or NULL */
	Oid			  relid;
} ScanPlan;

static Plan *plan_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
					   List *clauses, List *custom_plans);

static const CustomPathMethods path_methods = {
	.CustomName = TB_GPU_SCAN_NAME,
	.PlanCustomPath = plan_scan,
};

static const CustomScanMethods scan_methods = {
	.CustomName = TB_GPU_SCAN_NAME,
	.CreateCustomScanState = tb_scan_create_state,
};

void
tb_scan_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
}

/* Clauses that stay with PostgreSQL, in its order. */
typedef struct Stayed
{
	bool  any;
	Index level;	   /* security level of the first */
	bool  is_volatile; /* one of them is */
} Stayed;

/* Why the device must not evaluate a clause before those that stay; NULL: it may. */
static const char *
why_not_before(const Stayed *stayed, const RestrictInfo *rinfo)
{
	if (stayed->any && rinfo->security_level > stayed->level && !rinfo->leakproof)
		return "a filter must not run before one of a lower security level";
	if (stayed->is_volatile && tb_expression_may_raise((Node *) rinfo->clause))
		return "a filter that may raise an error must not run before a volatile one";
	return NULL;
}

/* The clauses that the device takes. Once one of a level stays with
 * PostgreSQL, only leakproof ones of higher levels may overtake it. Those that may raise
 * overtake others, since what a chunk raises is left to PostgreSQL, in its order; except
 * for volatile ones, which must not run twice. */
static List *
translate_clauses(TbTranslator *t, List *clauses, const char *part)
{
	List	 *result = NIL;
	Stayed	  stayed = {0};
	ListCell *lc;

	foreach(lc, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		const char	 *reason = why_not_before(&stayed, rinfo);
		TbValue		  value;

		/* May it go there? */
		if (reason == NULL && tb_translate(t, rinfo->clause, &value))
		{
			tb_builder_add_filter(t->builder, &value);
			result = lappend(result, rinfo);
			continue;
		}
		/* It stays. */
		tb_planning_note(part, "%s", reason != NULL ? reason : t->reason);
		if (!stayed.any)
			stayed.level = rinfo->security_level;
		stayed.any = true;
		stayed.is_volatile = stayed.is_volatile ||
			contain_volatile_functions((Node *) rinfo->clause);
	}
	return result;
}

/* What has to be computed may raise, and is tried in a subtransaction before it counts
 * (may_raise.h); parallel mode has none. */
static bool
are_values(List *params)
{
	ListCell *lc;

	foreach(lc, params)
		if (!IsA(lfirst(lc), Const) && !IsA(lfirst(lc), Param))
			return false;
	return true;
}

static ScanPlan *
analyze(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte, const char *part)
{
	Relation	  relation = table_open(rte->relid, NoLock);
	ScanPlan	 *plan = palloc0(sizeof(ScanPlan));
	TbTranslator  t;
	TbProgramCost cost;

	/* Filters that go to the device. */
	tb_translator_init(&t, root, rel->relid, RelationGetDescr(relation));
	t.leaves_undecided = true;
	plan->relid = rte->relid;
	plan->device_clauses = translate_clauses(&t, tb_ordered_clauses(root, rel), part);
	if (plan->device_clauses != NIL)
		plan->program = tb_builder_finish(t.builder, TB_SINK_ROWS, &plan->params, &cost);
	table_close(relation, NoLock);
	/* Is there a program? */
	if (plan->device_clauses == NIL)
		return NULL;
	if (plan->program == NULL)
	{
		tb_planning_note(part, "the filters are too many");
		return NULL;
	}
	/* What it takes. */
	plan->work = tb_cost_work(rte->relid, rel,
							  rel->tuples *
								  clauselist_selectivity(root, plan->device_clauses, 0,
														 JOIN_INNER, NULL),
							  &cost);
	/* Rows go on while it is fed: parallel mode must do for the whole statement. */
	plan->work.may_be_fed = root->glob->parallelModeOK && are_values(plan->params);
	plan->block_index = tb_block_index_choose(root, rel, &plan->work);
	return plan;
}

/* Filters that PostgreSQL evaluates for rows that come back: those that did not go to the
 * device, and those that it decides only where boxes are apart. */
static List *
filters_behind(RelOptInfo *rel, const ScanPlan *plan)
{
	List	 *result = list_difference_ptr(rel->baserestrictinfo, plan->device_clauses);
	ListCell *lc;

	foreach(lc, plan->device_clauses)
		if (tb_compares_boxes((Node *) lfirst_node(RestrictInfo, lc)->clause))
			result = lappend(result, lfirst(lc));
	return result;
}

/* What PostgreSQL does with the rows that come back: forms each tuple, runs
 * the other filters, and projects. Of several processes each does a part; the service's
 * work is the same for one and for many. Without workers the path is no partial one. */
static void
cost_path(PlannerInfo *root, RelOptInfo *rel, ScanPlan *plan, int workers, Path *path)
{
	double	 processes = workers > 0 ? tb_postgres_processes(workers) : 1;
	List	*others = filters_behind(rel, plan);
	QualCost qual_cost;

	cost_qual_eval(&qual_cost, others, root);
	Cost wanted_pages = tb_cost_wanted_pages(&plan->work);

	path->startup_cost = tb_cost_startup(&plan->work) + qual_cost.startup +
		path->pathtarget->cost.startup;
	if (plan->block_index != NULL)
		path->startup_cost += plan->block_index->cost;
	/* Else it is a sequential scan, and the user may not want one. */
	else if (!enable_seqscan)
		path->startup_cost += disable_cost;
	path->rows = clamp_row_est(rel->rows / processes);
	path->total_cost = path->startup_cost + tb_cost_run(&plan->work) +
		(wanted_pages +
		 plan->work.passing *
			 (cpu_tuple_cost + tb_cost_returned_row() + qual_cost.per_tuple)) /
			processes +
		path->rows * path->pathtarget->cost.per_tuple;
	if (!tb_guc_debug_force_offload)
		path->total_cost = Max(path->total_cost,
							   tb_rivals_bound_scan(root, rel, &plan->work, plan->program,
													others, workers));
}

static CustomPath *
make_path(PlannerInfo *root, RelOptInfo *rel, ScanPlan *plan, int workers)
{
	List *children = plan->block_index != NULL ? list_make1(plan->block_index->path) : NIL;
	CustomPath *path = tb_offer_make_path(rel, rel->reltarget, rel->rows,
										  CUSTOMPATH_SUPPORT_PROJECTION, children, plan,
										  &path_methods);

	cost_path(root, rel, plan, workers, &path->path);
	return path;
}

/* Literals and the client's parameters: what workers have without computing it. */
static bool
workers_have(List *params)
{
	ListCell *lc;

	foreach(lc, params)
		if (!IsA(lfirst(lc), Const) &&
			!(IsA(lfirst(lc), Param) && ((Param *) lfirst(lc))->paramkind == PARAM_EXTERN))
			return false;
	return true;
}

/* How many processes may share the scan beside the leader; an index's blocks are not
 * shared. */
static int
workers_of(const RelOptInfo *rel, const ScanPlan *plan)
{
	if (!rel->consider_parallel || !bms_is_empty(rel->lateral_relids) ||
		plan->block_index != NULL || !workers_have(plan->params))
		return 0;
	return compute_parallel_worker(unconstify(RelOptInfo *, rel), rel->pages, -1,
								   max_parallel_workers_per_gather);
}

/* For workers of PostgreSQL's, in whose plans the node is then. */
static void
offer_partial_path(PlannerInfo *root, RelOptInfo *rel, ScanPlan *whole, int workers)
{
	ScanPlan   *plan;
	CustomPath *path;

	plan = palloc(sizeof(ScanPlan));
	*plan = *whole;
	/* The workers read what feeders would. */
	path = make_path(root, rel, plan, workers);
	plan->work.may_be_fed = false;
	path->path.parallel_aware = true;
	path->path.parallel_safe = true;
	path->path.parallel_workers = workers;
	tb_path_count_disabled(&path->path);
	add_partial_path(rel, &path->path);
}

static bool
may_offer(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte, const char *part)
{
	const char *reason;

	/* Of a partitioned table the partitions are scanned. */
	if (rel->baserestrictinfo == NIL || IS_DUMMY_REL(rel) || tb_is_partitioned(rel, rte))
		return false;
	if (!tb_guc_enable_scan)
		tb_planning_note(part, "pg_turbine.enable_scan is off");
	else if (rel->reloptkind == RELOPT_OTHER_MEMBER_REL && !tb_guc_enable_partitionwise)
		tb_planning_note(part, "pg_turbine.enable_partitionwise is off");
	else if (tb_planning_may_run_backward())
		tb_planning_note(part, "a cursor without NO SCROLL may run backward");
	else if (rte->relkind == RELKIND_FOREIGN_TABLE)
	{
		if (tb_foreign_input(rte->relid, rte->relkind) == NULL) /* file_scan.c */
			tb_planning_note(part, "it is not a table");
	}
	else if (!tb_relation_qualifies(root, rel, rte, &reason))
		tb_planning_note(part, "%s", reason);
	else
		return true;
	return false;
}

void
tb_scan_add_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	const char *part;
	ScanPlan   *plan;
	int			workers;

	/* Is it worth a look? */
	if (rte->rtekind != RTE_RELATION || !tb_planning_may_win(root, rel, rel->pathlist) ||
		!tb_rivals_leave_room(root, rel, rel))
		return;
	part = tb_planning_part("scan of", rte->relid);
	if (!may_offer(root, rel, rte, part))
		return;
	/* Are its rows known? */
	if (!tb_guc_debug_force_offload && tb_rivals_gamble_of_scan(root, rel, rte->relid))
	{
		tb_planning_note(part, "most of the table is newer than its statistics");
		return;
	}
	/* What the device computes. */
	plan = analyze(root, rel, rte, part);
	if (plan == NULL || !tb_offer_finds_device(&plan->work, part))
		return;
	/* A path, and a partial one. */
	workers = workers_of(rel, plan);
	tb_offer_path(rel, &make_path(root, rel, plan, 0)->path, part, TB_GPU_SCAN_NAME,
				  list_make1_oid(rte->relid));
	if (workers > 0)
		offer_partial_path(root, rel, plan, workers);
}

/*
 * What the node evaluates of a row that the device did not filter: all clauses up to the
 * last that the device took, in PostgreSQL's order, since one that it took may raise where
 * an earlier one that it did not take has dropped the row. Those run again as the plan's
 * qual, in which volatile ones must be alone: what the device took behind such a one never
 * raises.
 */
static List *
evaluated_clauses(const ScanPlan *plan, const List *clauses)
{
	List	 *result = NIL;
	int		  last = 0;
	ListCell *lc;

	foreach(lc, clauses)
		if (list_member_ptr(plan->device_clauses, lfirst(lc)))
			last = foreach_current_index(lc);
	foreach(lc, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (foreach_current_index(lc) <= last && !rinfo->pseudoconstant &&
			(list_member_ptr(plan->device_clauses, rinfo) ||
			 !contain_volatile_functions((Node *) rinfo->clause)))
			result = lappend(result, copyObject(rinfo->clause));
	}
	return result;
}

static Plan *
plan_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		  List *custom_plans)
{
	ScanPlan   *plan = linitial(path->custom_private);
	CustomScan *scan = makeNode(CustomScan);
	List	   *others = list_difference_ptr(clauses, plan->device_clauses);
	List	   *index_condition = NIL;

	/* Else the executor does not enter it, and there are no feeders. */
	if (tb_cost_feeders(&plan->work) > 0)
		root->glob->parallelModeNeeded = true;
	if (plan->block_index != NULL)
		scan->custom_plans = list_make1(
			tb_block_index_plan(linitial(custom_plans), &index_condition));
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = extract_actual_clauses(others, false);
	scan->scan.scanrelid = rel->relid;
	scan->flags = path->flags;
	scan->custom_exprs = list_make4(extract_actual_clauses(plan->device_clauses, false),
									plan->params, evaluated_clauses(plan, clauses),
									index_condition);
	scan->custom_private = tb_private_make(tb_stages_of_program(plan->relid, plan->program,
																&plan->work,
																plan->block_index != NULL ?
																	0 :
																	-1),
										   0, NULL, 0);
	scan->methods = &scan_methods;
	return &scan->scan.plan;
}
