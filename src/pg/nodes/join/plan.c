/*
 * plan.c - GpuJoin: the path for the whole join of a query level, and the plan.
 *
 * The join hook runs once for each pair of relations that may be joined. The best of
 * PostgreSQL's paths may come last, so the hook only notes paths. Our path is offered
 * when the search for joins has ended: add_path would drop a path of PostgreSQL's that
 * costs more than ours, although it may be faster.
 *
 * The cheapest path that was noted is read as a tree. It is also the kept plan: the
 * node's first child plan, which runs only if the device gives up.
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "pg/compat/pg16.h"
#include "pg/nodes/join/gpu_join.h"
#include "pg/nodes/join/projection.h"
#include "pg/nodes/offer/offer.h"
#include "pg/planner/join/join_read.h"
#include "pg/planner/postgres/postgres_time.h"
#include "pg/planner/postgres/rivals.h"
#include "pg/planner/join/serial_paths.h"
#include "pg/planner/planning.h"
#include "pg/settings/guc.h"
#include "pg/source/heap/feeders/feeder_count.h"
#include "pg/stage/plan_private.h"

static Plan *plan_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
					   List *clauses, List *custom_plans);

static const CustomPathMethods path_methods = {
	.CustomName = TB_GPU_JOIN_NAME,
	.PlanCustomPath = plan_join,
};

static const CustomScanMethods scan_methods = {
	.CustomName = TB_GPU_JOIN_NAME,
	.CreateCustomScanState = tb_join_create_state,
};

void
tb_join_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
}

static TbProjection *
analyze(PlannerInfo *root, RelOptInfo *rel, const char **reason)
{
	TbJoinTree *tree = tb_join_tree_noted(root, rel, reason);

	if (tree == NULL)
		return NULL;
	/* Whoever takes columns evaluates nothing. */
	return tb_projection_make(root, tree, rel->reltarget->exprs, NIL,
							  !tb_planning()->wants_columns, reason);
}

void
tb_join_cost(List *stages, Path *path)
{
	const TbStage *last = llast(stages);

	path->startup_cost = tb_cost_startup(&last->info.work) + tb_cost_stages(stages) +
		tb_cost_disabled(stages) + path->pathtarget->cost.startup;
	path->total_cost = path->startup_cost +
		path->rows *
			((tb_planning()->wants_columns ? 0 : cpu_tuple_cost) + tb_cost_returned_row() +
			 path->pathtarget->cost.per_tuple);
}

static CustomPath *
make_path(PlannerInfo *root, RelOptInfo *rel, TbProjection *plan)
{
	CustomPath *path = tb_offer_make_path(rel, rel->reltarget, rel->rows,
										  CUSTOMPATH_SUPPORT_PROJECTION,
										  lcons(tb_serial_path_of(rel),
												tb_stage_sources(plan->stages)),
										  plan, &path_methods);

	tb_join_cost(plan->stages, &path->path);
	if (plan->filter != NULL)
		path->path.total_cost += rel->rows * plan->marked *
			tb_postgres_expression_us(root, (Node *) plan->filter) / TB_US_PER_UNIT;
	return path;
}

/* NULL, with the reason noted, if PostgreSQL must do it. */
static CustomPath *
consider(PlannerInfo *root, RelOptInfo *rel, const char *part)
{
	const char	 *reason = "";
	TbProjection *plan = analyze(root, rel, &reason);

	if (plan == NULL)
	{
		tb_planning_note(part, "%s", reason);
		return NULL;
	}
	if (!tb_offer_finds_device(&((TbStage *) llast(plan->stages))->info.work, part))
		return NULL;
	return make_path(root, rel, plan);
}

void
tb_join_note_path(PlannerInfo *root, RelOptInfo *joinrel)
{
	if (joinrel->reloptkind != RELOPT_JOINREL)
		return;
	/* What costs so little is not gathered from workers either: a larger join's
	 * plan keeps it as it is, and needs no note of it. */
	if (tb_planning_may_win(root, joinrel, joinrel->pathlist))
		tb_serial_paths_note(root, joinrel);
}

void
tb_join_add_path(PlannerInfo *root, RelOptInfo *joinrel)
{
	const char *part;
	CustomPath *path;
	List	   *stages;

	if (joinrel->reloptkind != RELOPT_JOINREL || IS_DUMMY_REL(joinrel) ||
		!bms_equal(joinrel->relids, TB_ALL_QUERY_RELS(root)) ||
		tb_serial_path_of(joinrel) == NULL ||
		!tb_planning_may_win(root, joinrel, joinrel->pathlist) ||
		!tb_rivals_leave_room(root, joinrel, joinrel))
		return;
	part = tb_join_part(root, "join of", joinrel->relids);
	path = consider(root, joinrel, part);
	if (path == NULL)
		return;
	stages = ((TbProjection *) linitial(path->custom_private))->stages;
	tb_rivals_bound(root, joinrel, stages, &path->path);
	tb_offer_path(joinrel, &path->path, part, TB_GPU_JOIN_NAME, tb_stage_relids(stages));
	set_cheapest(joinrel);
}

static Plan *
plan_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		  List *custom_plans)
{
	return tb_projection_plan(path, rel->rows, tlist, custom_plans, &scan_methods);
}
