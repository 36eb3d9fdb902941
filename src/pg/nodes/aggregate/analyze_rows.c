/*
 * analyze_rows.c - GpuPreAgg over the rows of a node below: what of the query is the second
 * program.
 *
 * Keys and aggregates are those of analyze.c, translated to the columns of the engine's
 * rows (nodes/below/rows_below.h). What the backend would have to fold is left to
 * PostgreSQL. Called by plan.c.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "optimizer/restrictinfo.h"

#include "pg/nodes/aggregate/analyzer.h"
#include "pg/nodes/aggregate/second_program.h"
#include "pg/nodes/below/rows_below.h"

/* Literals and parameters of prepared statements: the others are known when the node below
 * has begun. */
static bool
params_are_known(List *params)
{
	ListCell *lc;

	foreach(lc, params)
		if (!IsA(lfirst(lc), Const) &&
			!(IsA(lfirst(lc), Param) && lfirst_node(Param, lc)->paramkind == PARAM_EXTERN))
			return false;
	return true;
}

static Expr *
null_test(Expr *arg, NullTestType type)
{
	NullTest *test = makeNode(NullTest);

	test->arg = arg;
	test->nulltesttype = type;
	test->location = -1;
	return (Expr *) test;
}

/* True of every row that raises nothing: where no one else would evaluate the expression,
 * PostgreSQL does, also what only a window that is not used was ordered by. */
static Expr *
evaluated(Expr *expr)
{
	return makeBoolExpr(OR_EXPR,
						list_make2(null_test(expr, IS_NOT_NULL), null_test(expr, IS_NULL)),
						-1);
}

/* What PostgreSQL evaluates of the rows that come out of the node below: its HAVING, the
 * subquery's columns, then filters that are not in there already. */
static bool
add_row_filters(TbAnalyzer *a, const TbRowsBelow *below)
{
	List	 *filters = list_copy(below->having);
	ListCell *lc;

	foreach(lc, below->raising)
		filters = lappend(filters, evaluated(lfirst(lc)));
	filters = list_concat(filters,
						  extract_actual_clauses(below->rel->baserestrictinfo, false));

	if (extract_actual_clauses(below->rel->baserestrictinfo, true) != NIL)
		return tb_analyzer_refuse(a, "a filter without columns over a subquery");
	foreach(lc, filters)
	{
		TbValue value;

		if (!tb_translate(a->t, lfirst(lc), &value))
			return tb_analyzer_refuse(a, a->t->reason);
		tb_builder_add_filter(a->t->builder, &value);
	}
	return true;
}

/* The second program. */
static bool
finish_rows(TbAnalyzer *a)
{
	TbAggAnalysis *result = a->result;
	ListCell	  *lc;

	if (result->distincts != NIL || result->folds || result->nsets > 0 ||
		result->computed != NIL || result->computed_states != NIL || result->hidden != 0 ||
		result->group_filters != NIL)
		return tb_analyzer_refuse(
			a, "groups of a subquery's rows that PostgreSQL would have to combine");
	tb_analyzer_estimate_groups(a->root, result);
	result->second = tb_second_program_finish(a->t->builder, result->below->node->path.rows,
											  result->groups);
	if (result->second == NULL)
		return tb_analyzer_refuse(a, "keys, aggregates or expressions are too many");
	if (!params_are_known(result->second->params))
		return tb_analyzer_refuse(a, "a parameter that is computed beside a subquery");
	result->outputs = palloc(sizeof(TbOutput) * list_length(a->outputs));
	foreach(lc, a->outputs)
		result->outputs[foreach_current_index(lc)] = *(TbOutput *) lfirst(lc);
	result->second->outputs = result->outputs;
	return true;
}

TbAggAnalysis *
tb_preagg_analyze_rows(PlannerInfo *root, const TbAggRequest *request, TbRowsBelow *below,
					   const char **reason)
{
	TbAnalyzer	 a = {0};
	TbTranslator t;

	tb_rows_below_translator(below, root, &t);
	a.root = root;
	a.t = &t;
	a.result = palloc0(sizeof(TbAggAnalysis));
	a.result->request = *request;
	a.result->late_factor = 1;
	a.result->below = below;
	a.result->stages = below->stages;
	a.result->work = ((TbStage *) llast(below->stages))->info.work;
	if (add_row_filters(&a, below) && tb_analyzer_build(&a, request) && finish_rows(&a))
		return a.result;
	*reason = a.reason;
	return NULL;
}
