/*
 * input.c - see input.h. Called by GpuSort's planning.
 *
 * Owns the description of the input, which points to its plan. It must never make a
 * path.
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"

#include "pg/nodes/join/projection.h"
#include "pg/nodes/sort/input.h"
#include "pg/planner/postgres/postgres_scan.h"
#include "pg/planner/partitions.h"
#include "pg/planner/join/serial_paths.h"

static uint32
count_columns(const TbStage *last)
{
	const TbProgram *program = last->program;

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

/* An expression with several references stands there once more for each, behind all
 * others. */
PathTarget *
tb_target_of(PlannerInfo *root, List *scan_tlist)
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
	PathTarget *target = tb_target_of(root, input->columns.scan_tlist);
	Path	   *path;

	if (rel->reloptkind == RELOPT_BASEREL && tree->partitions != NULL)
		return tb_partitions_append_target(root, rel, tree->partitions, target);
	path = rel->reloptkind == RELOPT_BASEREL ? tb_postgres_scan(root, rel) :
											   tb_serial_path_of(rel);
	return (Path *) create_projection_path(root, rel, path, target);
}

TbSortInput *
tb_sort_input_of_rows(PlannerInfo *root, RelOptInfo *rel, List *exprs, const char **reason)
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
	if (tree != NULL)
		projection = tb_projection_make(root, tree, exprs, reason);
	if (projection == NULL)
		return NULL;
	input = palloc0(sizeof(TbSortInput));
	input->rel = rel;
	input->stages = projection->stages;
	foreach(lc, exprs)
		tb_result_columns_add(&input->columns, lfirst(lc),
							  &projection->outputs[foreach_current_index(lc)]);
	input->ncolumns = count_columns(llast(input->stages));
	input->rows = rel->rows;
	input->kept = kept_rows(root, input, tree);
	return input;
}

TbSortInput *
tb_sort_input_of_groups(PlannerInfo *root, const CustomPath *preagg)
{
	const TbAggAnalysis *analysis = linitial(preagg->custom_private);
	TbSortInput			*input = palloc0(sizeof(TbSortInput));
	ListCell			*lc;

	input->rel = analysis->request.rel;
	input->groups = analysis;
	input->stages = analysis->stages;
	foreach(lc, analysis->scan_tlist)
		tb_result_columns_add(&input->columns, lfirst_node(TargetEntry, lc)->expr,
							  &analysis->outputs[foreach_current_index(lc)]);
	input->ncolumns = count_columns(llast(input->stages));
	input->rows = analysis->groups;
	input->kept = linitial(preagg->custom_paths);
	return input;
}
