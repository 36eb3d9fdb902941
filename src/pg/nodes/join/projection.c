/*
 * projection.c - see projection.h. Called by the planning of GpuJoin, GpuFileScan and
 * GpuSort.
 *
 * Translates what is returned of a join into outputs of its programs, or says why that
 * can not be. It must never change PostgreSQL's expressions.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"

#include "pg/nodes/join/projection.h"
#include "pg/planner/program/output_column.h"
#include "pg/planner/join/join_program.h"
#include "pg/stage/plan_private.h"

/* The value, and how it prints. */
static bool
add_output(TbTranslator *t, Expr *expr, const TbValue *value, TbOutput *out,
		   const char **reason)
{
	if (!tb_output_column(out, expr, value, reason))
		return false;
	out->first = tb_builder_add_output(t->builder, value->expr);
	if (value->display_scale != TB_NONE)
		out->display = tb_builder_add_output(t->builder, value->display_scale);
	return true;
}

/* ---- Rows that are undecided ---- */

/* Whether one of the flags holds. */
static TbValue
any_flag(TbTranslator *t, List *flags)
{
	TbTypeInfo boolean = {TB_TYPE_BOOL, 0, 0};
	TbValue	  *args = palloc(sizeof(TbValue) * list_length(flags));
	int		   count = 0;
	ListCell  *lc;

	foreach(lc, flags)
		args[count++] = *(TbValue *) lfirst(lc);
	return count == 1 ?
		args[0] :
		tb_builder_expr(t->builder, TB_EXPR_OR, boolean, 0, count, args, false);
}

/* The column's value in a row that is undecided. */
static bool
undecided_value(TbTranslator *t, const TbUndecided *undecided, Var *var, TbValue *value)
{
	ListCell *lc;

	foreach(lc, undecided->shapes)
	{
		const TbUndecidedShape *shape = lfirst(lc);

		if (equal(shape->var, var))
		{
			*value = shape->value;
			return true;
		}
	}
	return tb_translate(t, (Expr *) var, value);
}

/* CASE WHEN flag THEN value END, so that no other row brings its bytes. */
static void
only_if(TbTranslator *t, const TbValue *flag, const Var *var, TbValue *value)
{
	TbValue args[3] = {*flag, *value};

	if (tb_translate(t,
					 (Expr *) makeNullConst(var->vartype, var->vartypmod, var->varcollid),
					 &args[2]) &&
		args[2].info.type == value->info.type && args[2].info.scale == value->info.scale &&
		value->display_scale == TB_NONE)
		*value = tb_builder_expr(t->builder, TB_EXPR_CASE, value->info, 0, lengthof(args),
								 args, true);
}

/*
 * The mark and the filter: CASE WHEN (condition IS UNKNOWN) THEN condition ELSE true END.
 * The mark is never evaluated, since it is a column of the scan tuple: true where a device
 * does not know the condition. Rows of the kept plan have NULL there (exec.c).
 */
static void
make_filter(TbProjection *projection, List *conditions)
{
	Expr		*condition = make_ands_explicit(conditions);
	BooleanTest *mark = makeNode(BooleanTest);
	CaseWhen	*when = makeNode(CaseWhen);
	CaseExpr	*filter = makeNode(CaseExpr);

	mark->arg = condition;
	mark->booltesttype = IS_UNKNOWN;
	mark->location = -1;
	when->expr = (Expr *) mark;
	when->result = condition;
	when->location = -1;
	filter->casetype = BOOLOID;
	filter->args = list_make1(when);
	filter->defresult = (Expr *) makeBoolConst(true, false);
	filter->location = -1;
	projection->mark = (Expr *) mark;
	projection->filter = (Expr *) filter;
}

/* Adds the mark, and the columns of the conditions that are not returned anyway, behind the
 * first `count` outputs. */
static bool
add_undecided(TbTranslator *t, TbProjection *projection, const TbUndecided *undecided,
			  int count, const char **reason)
{
	List *vars = pull_var_clause((Node *) undecided->conditions, PVC_INCLUDE_PLACEHOLDERS);
	TbValue	  flag = any_flag(t, undecided->flags);
	TbValue	  value;
	ListCell *lc;

	make_filter(projection, undecided->conditions);
	projection->marked = undecided->share;
	projection->outputs = repalloc(projection->outputs,
								   sizeof(TbOutput) * (count + list_length(vars) + 1));
	projection->exprs = lappend(list_copy(projection->exprs), projection->mark);
	if (!add_output(t, projection->mark, &flag, &projection->outputs[count++], reason))
		return false;
	foreach(lc, vars)
	{
		Var *var = lfirst(lc);

		if (list_member(projection->exprs, var))
			continue;
		if (!IsA(var, Var) || !undecided_value(t, undecided, var, &value))
		{
			*reason = "a condition of undecided rows reads what they do not bring";
			return false;
		}
		only_if(t, &flag, var, &value);
		if (!add_output(t, (Expr *) var, &value, &projection->outputs[count++], reason))
			return false;
		projection->exprs = lappend(projection->exprs, var);
	}
	return true;
}

/* ---- All that is returned ---- */

static bool
add_outputs(TbTranslator *t, TbProjection *projection, List *late,
			const TbUndecided *undecided, const char **reason)
{
	int		  count = 0;
	TbValue	  value;
	ListCell *lc;

	/* Room for all. */
	projection->outputs = palloc0(
		sizeof(TbOutput) * Max(list_length(projection->exprs) + list_length(late), 1));
	foreach(lc, projection->exprs)
	{
		if (!tb_translate(t, lfirst(lc), &value))
		{
			*reason = t->reason;
			return false;
		}
		if (!add_output(t, lfirst(lc), &value, &projection->outputs[count++], reason))
			return false;
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
	if (undecided->conditions != NIL)
		return add_undecided(t, projection, undecided, count, reason);
	/* Rows without columns are counted by one that nobody looks at. */
	if (count == 0 && tb_translate(t, (Expr *) makeBoolConst(true, false), &value))
		(void) tb_builder_add_output(t->builder, value.expr);
	return true;
}

static TbProjection *
make_projection(PlannerInfo *root, TbJoinTree *tree, List *exprs, List *late,
				bool has_filter, const char **reason)
{
	TbUndecided	   undecided = {0};
	TbJoinProgram *program = tb_join_program_begin(root, tree, NULL,
												   has_filter ? &undecided : NULL, reason);
	TbProjection  *projection;

	if (program == NULL)
		return NULL;
	projection = palloc0(sizeof(TbProjection));
	projection->exprs = exprs;
	if (add_outputs(tb_join_program_translator(program), projection, late, &undecided,
					reason))
		projection->stages = tb_join_program_finish(program, TB_SINK_PROJECT, reason);
	tb_join_program_end(program);
	return projection->stages != NIL ? projection : NULL;
}

TbProjection *
tb_projection_make(PlannerInfo *root, TbJoinTree *tree, List *exprs, List *late,
				   bool has_filter, const char **reason)
{
	TbProjection *projection = make_projection(root, tree, exprs, late, has_filter, reason);

	/* What undecided rows would need may be more than devices return. */
	if (projection == NULL && has_filter)
		projection = make_projection(root, tree, exprs, late, false, reason);
	return projection;
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
	{
		char *name = lfirst(lc) == plan->mark ? TB_UNDECIDED_COLUMN : NULL;

		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist,
										  makeTargetEntry(copyObject(lfirst(lc)), ++columns,
														  name, false));
	}
	scan->custom_scan_tlist = lappend(scan->custom_scan_tlist,
									  tb_stage_notes(plan->stages, columns + 1));
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = plan->filter != NULL ? list_make1(copyObject(plan->filter)) :
												  NIL;
	scan->scan.scanrelid = 0;
	scan->flags = path->flags;
	scan->custom_plans = tb_stage_plans(plan->stages, custom_plans);
	scan->custom_exprs = tb_stage_params(plan->stages);
	scan->custom_private = tb_private_make(plan->stages, rows, plan->outputs,
										   sizeof(TbOutput) * columns);
	scan->methods = methods;
	return &scan->scan.plan;
}
