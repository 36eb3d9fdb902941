/*
 * kept_plan.c - PostgreSQL's plan for what GpuSort does: WindowAgg, Unique and Sort over
 * the kept plan of its input. Called by plan.c.
 *
 * It must return rows in the very order that the node promises.
 */
#include "postgres.h"

#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include "pg/nodes/sort/gpu_sort.h"

List *
tb_sort_distinct_pathkeys(PlannerInfo *root)
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

List *
tb_sort_window_pathkeys(PlannerInfo *root, const WindowClause *clause)
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
		bool		  top = lnext(clauses, lc) == NULL;
		ListCell	 *function;

		path = sorted(root, rel, path, tb_sort_window_pathkeys(root, clause));
		if (!top)
		{
			target = copy_pathtarget(target);
			foreach(function, own)
				add_column_to_pathtarget(target, lfirst(function), 0);
			top_quals = list_concat(top_quals, clause->runCondition);
		}
		else if (plan->input->groups != NULL)
			target = root->upper_targets[UPPERREL_WINDOW];
		else
			target = tb_target_of(root, plan->input->columns.scan_tlist);
		path = (Path *) create_windowagg_path(root, rel, path, target, own, clause,
											  top ? top_quals : NIL, top);
	}
	return path;
}

Path *
tb_sort_kept_path(PlannerInfo *root, RelOptInfo *output_rel, const TbSortPlan *plan)
{
	Path *path = plan->input->kept;

	if (plan->request.windows != NIL)
		path = windowed(root, output_rel, plan, path);
	if (plan->request.distinct)
	{
		path = sorted(root, output_rel, path, tb_sort_distinct_pathkeys(root));
		path = (Path *) create_upper_unique_path(root, output_rel, path,
												 list_length(root->distinct_pathkeys),
												 path->rows);
	}
	if (plan->request.order)
		path = sorted(root, output_rel, path, root->sort_pathkeys);
	return path;
}
