/*
 * column_scan.c - see column_scan.h.
 *
 * The kept plan is PostgreSQL's scan, or the wrapper's. State and rows are GpuJoin's, but
 * for the name. Must not add a path where the device can not run all filters. Where tuples
 * are wanted it must have something to filter, too: else every row would only take a longer
 * way.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/extensible.h"
#include "optimizer/paths.h"

#include "pg/files/file_relation.h"
#include "pg/nodes/join/gpu_join.h"
#include "pg/nodes/join/projection.h"
#include "pg/nodes/offer/offer.h"
#include "pg/planner/join/join_read.h"
#include "pg/planner/postgres/rivals.h"
#include "pg/nodes/scan/column_scan.h"
#include "pg/planner/postgres/postgres_scan.h"
#include "pg/planner/planning.h"
#include "pg/settings/guc.h"
#include "pg/stage/plan_private.h"

static Plan *plan_column_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
							  List *tlist, List *clauses, List *custom_plans);
static Node *create_column_state(CustomScan *plan);

/* The two nodes, which differ in their names alone. */
static const CustomPathMethods column_path_methods[] =
	{{.CustomName = TB_GPU_FILE_SCAN_NAME, .PlanCustomPath = plan_column_scan},
	 {.CustomName = TB_GPU_COLUMN_SCAN_NAME, .PlanCustomPath = plan_column_scan}};
static const CustomScanMethods column_scan_methods[] =
	{{.CustomName = TB_GPU_FILE_SCAN_NAME, .CreateCustomScanState = create_column_state},
	 {.CustomName = TB_GPU_COLUMN_SCAN_NAME, .CreateCustomScanState = create_column_state}};

void
tb_column_scan_init(void)
{
	for (Size i = 0; i < lengthof(column_scan_methods); i++)
		RegisterCustomScanMethods(&column_scan_methods[i]);
}

static const char *
why_not(const RelOptInfo *rel)
{
	if (!tb_guc_enable_scan)
		return "pg_turbine.enable_scan is off";
	if (rel->reloptkind == RELOPT_OTHER_MEMBER_REL && !tb_guc_enable_partitionwise)
		return "pg_turbine.enable_partitionwise is off";
	if (tb_planning_may_run_backward())
		return "a cursor without NO SCROLL may run backward";
	return NULL;
}

/* NULL, with the reason noted, if PostgreSQL must do it. */
static CustomPath *
consider(PlannerInfo *root, RelOptInfo *rel, int kind, const char *part)
{
	const char	 *reason = why_not(rel);
	TbJoinTree	 *tree;
	TbProjection *plan = NULL;
	CustomPath	 *path;

	/* What the device computes. */
	if (reason == NULL)
	{
		tree = tb_join_tree_of_table(root, rel, &reason);
		if (tree != NULL)
			plan = tb_projection_make(root, tree, rel->reltarget->exprs, NIL, false,
									  &reason);
	}
	if (plan == NULL)
	{
		tb_planning_note(part, "%s", reason);
		return NULL;
	}
	/* A path over PostgreSQL's scan. */
	if (!tb_offer_finds_device(&((TbStage *) llast(plan->stages))->info.work, part))
		return NULL;
	path = tb_offer_make_path(rel, rel->reltarget, rel->rows, CUSTOMPATH_SUPPORT_PROJECTION,
							  lcons(tb_postgres_scan(root, rel),
									tb_stage_sources(plan->stages)),
							  plan, &column_path_methods[kind]);
	tb_join_cost(plan->stages, &path->path);
	return path;
}

/* Whether the table's rows are the query's, and whoever runs it takes columns. */
static bool
rows_are_taken_as_columns(const PlannerInfo *root, const RelOptInfo *rel)
{
	const Query *query = root->parse;

	return tb_planning()->wants_columns && root->query_level == 1 &&
		bms_equal(rel->relids, root->all_baserels) && !query->hasAggs &&
		!query->hasWindowFuncs && !query->hasTargetSRFs && query->groupClause == NIL &&
		query->groupingSets == NIL && query->distinctClause == NIL &&
		query->sortClause == NIL && query->limitCount == NULL &&
		query->limitOffset == NULL && query->setOperations == NULL &&
		query->rowMarks == NIL;
}

void
tb_column_scan_add_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	const char *part;
	CustomPath *path;
	List	   *stages;
	bool		as_columns;
	int			kind;

	if (rte->rtekind != RTE_RELATION || rte->inh || IS_DUMMY_REL(rel))
		return;
	as_columns = rows_are_taken_as_columns(root, rel);
	kind = tb_is_file_table(rte->relid, rte->relkind) ? 0 : 1;
	if ((kind == 0 && rel->baserestrictinfo == NIL && !as_columns) ||
		(kind == 1 &&
		 (!as_columns ||
		  (rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW))) ||
		!tb_planning_may_win(root, rel, rel->pathlist) ||
		!tb_rivals_leave_room(root, rel, rel))
		return;
	part = tb_planning_part("scan of", rte->relid);
	path = consider(root, rel, kind, part);
	if (path == NULL)
		return;
	stages = ((TbProjection *) linitial(path->custom_private))->stages;
	tb_rivals_bound(root, rel, stages, &path->path);
	tb_offer_path(rel, &path->path, part, path->methods->CustomName,
				  list_make1_oid(rte->relid));
}

static Plan *
plan_column_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
				 List *clauses, List *custom_plans)
{
	return tb_projection_plan(path, rel->rows, tlist, custom_plans,
							  &column_scan_methods[path->methods - column_path_methods]);
}

static Node *
create_column_state(CustomScan *plan)
{
	static CustomExecMethods exec_methods[lengthof(column_scan_methods)];
	Node					*state = tb_join_create_state(plan);
	CustomScanState			*css = (CustomScanState *) state;
	int						 kind = plan->methods - column_scan_methods;

	/* A join's, but for the name. */
	exec_methods[kind] = *css->methods;
	exec_methods[kind].CustomName = column_scan_methods[kind].CustomName;
	css->methods = &exec_methods[kind];
	return state;
}
