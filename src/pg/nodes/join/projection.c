/*
 * projection.c - see projection.h. Called by the planning of GpuJoin, GpuFileScan and
 * GpuSort.
 *
 * Translates what is returned of a join into outputs of its programs, or says why that
 * can not be. It must never change PostgreSQL's expressions.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"

#include "pg/nodes/join/projection.h"
#include "pg/planner/program/output_column.h"
#include "pg/planner/join/join_program.h"
#include "pg/stage/plan_private.h"

static bool
add_outputs(TbTranslator *t, TbProjection *projection, List *late, const char **reason)
{
	int		  count = 0;
	TbValue	  value;
	ListCell *lc;

	/* Room for all. */
	projection->outputs = palloc0(
		sizeof(TbOutput) * Max(list_length(projection->exprs) + list_length(late), 1));
	foreach(lc, projection->exprs)
	{
		TbOutput *out = &projection->outputs[count++];

		/* The value, and how it prints. */
		if (!tb_translate(t, lfirst(lc), &value))
		{
			*reason = t->reason;
			return false;
		}
		if (!tb_output_column(out, lfirst(lc), &value, reason))
			return false;
		out->first = tb_builder_add_output(t->builder, value.expr);
		if (value.display_scale != TB_NONE)
			out->display = tb_builder_add_output(t->builder, value.display_scale);
	}
	/* Columns to be fetched by the tuple id. */
	if (late != NIL)
		value = tb_builder_tid_column(t->builder);
	foreach(lc, late)
	{
		TbOutput *out = &projection->outputs[count++];

		out->kind = TB_OUT_FETCHED;
		out->first = tb_builder_add_output(t->builder, value.expr);
		out->second = lfirst_node(Var, lc)->varattno;
		out->display = out->least_display = TB_NONE;
	}
	projection->exprs = list_concat_copy(projection->exprs, late);
	/* Rows without columns are counted by one that nobody looks at. */
	if (count == 0 && tb_translate(t, (Expr *) makeBoolConst(true, false), &value))
		(void) tb_builder_add_output(t->builder, value.expr);
	return true;
}

TbProjection *
tb_projection_make(PlannerInfo *root, TbJoinTree *tree, List *exprs, List *late,
				   const char **reason)
{
	TbJoinProgram *program = tb_join_program_begin(root, tree, NULL, reason);
	TbProjection  *projection;

	if (program == NULL)
		return NULL;
	projection = palloc0(sizeof(TbProjection));
	projection->exprs = exprs;
	if (add_outputs(tb_join_program_translator(program), projection, late, reason))
		projection->stages = tb_join_program_finish(program, TB_SINK_PROJECT, reason);
	tb_join_program_end(program);
	return projection->stages != NIL ? projection : NULL;
}

Plan *
tb_projection_plan(const CustomPath *path, double rows, List *tlist, List *custom_plans,
				   const CustomScanMethods *methods)
{
	TbProjection *plan = linitial(path->custom_private);
	CustomScan	 *scan = makeNode(CustomScan);
	int			  columns = 0;
	ListCell	 *lc;

	foreach(lc, plan->exprs)
		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist,
										  makeTargetEntry(copyObject(lfirst(lc)), ++columns,
														  NULL, false));
	scan->custom_scan_tlist = lappend(scan->custom_scan_tlist,
									  tb_stage_notes(plan->stages, columns + 1));
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = NIL;
	scan->scan.scanrelid = 0;
	scan->flags = path->flags;
	scan->custom_plans = tb_stage_plans(plan->stages, custom_plans);
	scan->custom_exprs = tb_stage_params(plan->stages);
	scan->custom_private = tb_private_make(plan->stages, rows, plan->outputs,
										   sizeof(TbOutput) * columns);
	scan->methods = methods;
	return &scan->scan.plan;
}
