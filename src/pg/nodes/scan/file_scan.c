/*
 * file_scan.c - see file_scan.h.
 *
 * The kept plan is the wrapper's own scan. State and rows are GpuJoin's, but for the name.
 * Must not add a path where the device can not run all filters, or has nothing to filter:
 * then every row would only take a longer way.
 */
#include "postgres.h"

#include "nodes/extensible.h"
#include "optimizer/paths.h"

#include "pg/files/file_relation.h"
#include "pg/nodes/join/gpu_join.h"
#include "pg/nodes/join/projection.h"
#include "pg/nodes/offer/offer.h"
#include "pg/planner/join/join_read.h"
#include "pg/planner/postgres/rivals.h"
#include "pg/nodes/scan/file_scan.h"
#include "pg/planner/postgres/postgres_scan.h"
#include "pg/planner/planning.h"
#include "pg/settings/guc.h"
#include "pg/stage/plan_private.h"

static Plan *plan_file_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
							List *tlist, List *clauses, List *custom_plans);
static Node *create_state(CustomScan *plan);

static const CustomPathMethods file_path_methods = {
	.CustomName = TB_GPU_FILE_SCAN_NAME,
	.PlanCustomPath = plan_file_scan,
};

static const CustomScanMethods file_scan_methods = {
	.CustomName = TB_GPU_FILE_SCAN_NAME,
	.CreateCustomScanState = create_state,
};

void
tb_file_scan_init(void)
{
	RegisterCustomScanMethods(&file_scan_methods);
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
consider(PlannerInfo *root, RelOptInfo *rel, const char *part)
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
			plan = tb_projection_make(root, tree, rel->reltarget->exprs, &reason);
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
							  plan, &file_path_methods);
	tb_join_cost(plan->stages, &path->path);
	return path;
}

void
tb_file_scan_add_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	const char *part;
	CustomPath *path;
	List	   *stages;

	if (rte->rtekind != RTE_RELATION || rte->inh ||
		!tb_is_file_table(rte->relid, rte->relkind) || rel->baserestrictinfo == NIL ||
		IS_DUMMY_REL(rel) || !tb_planning_may_win(root, rel, rel->pathlist) ||
		!tb_rivals_leave_room(root, rel, rel))
		return;
	part = tb_planning_part("scan of", rte->relid);
	path = consider(root, rel, part);
	if (path == NULL)
		return;
	stages = ((TbProjection *) linitial(path->custom_private))->stages;
	tb_rivals_bound(root, rel, stages, &path->path);
	tb_offer_path(rel, &path->path, part, TB_GPU_FILE_SCAN_NAME,
				  list_make1_oid(rte->relid));
}

static Plan *
plan_file_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
			   List *clauses, List *custom_plans)
{
	return tb_projection_plan(path, rel->rows, tlist, custom_plans, &file_scan_methods);
}

/* That of a join, but for the name. */
static Node *
create_state(CustomScan *plan)
{
	static CustomExecMethods exec_methods;
	Node					*state = tb_join_create_state(plan);
	CustomScanState			*css = (CustomScanState *) state;

	exec_methods = *css->methods;
	exec_methods.CustomName = TB_GPU_FILE_SCAN_NAME;
	css->methods = &exec_methods;
	return state;
}
