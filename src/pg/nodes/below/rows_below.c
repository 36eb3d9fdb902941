/*
 * rows_below.c - see rows_below.h. Called by the planning of GpuPreAgg.
 *
 * A subquery's columns are expressions over the node's scan tuple. Parts of them that are
 * columns of that tuple become Vars of a table that does not exist (RESULTS_VARNO). The
 * translator finds these Vars in the engine's results. Must decline values that
 * PostgreSQL makes of several columns, such as averages, and values that change on their
 * way out, such as numerics that print with different scales.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "pg/convert/numeric_format.h"
#include "pg/errors/may_raise.h"
#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/below/rows_below.h"
#include "pg/nodes/sort/gpu_sort.h"
#include "pg/planner/cost.h"
#include "pg/plans/our_nodes.h"

/* The table that there is not; no range table is that long. */
#define RESULTS_VARNO 1000000000

static bool
take_groups(TbRowsBelow *below, const TbAggAnalysis *groups)
{
	if (groups->keys == NIL || groups->folds || groups->nsets > 0 || groups->below != NULL)
		return false;
	below->having = tb_preagg_quals(groups);
	below->stages = groups->stages;
	below->scan_tlist = groups->scan_tlist;
	below->outputs = groups->outputs;
	return true;
}

static bool
take_sorted(TbRowsBelow *below, const TbSortPlan *plan)
{
	const TbSortInput *input = plan->input;
	TbOutput		  *outputs;
	ListCell		  *lc;

	if (plan->likely || (input->groups != NULL && input->groups->distincts != NIL))
		return false;
	if (input->groups != NULL)
		below->having = tb_preagg_quals(input->groups);
	outputs = palloc(sizeof(TbOutput) * Max(list_length(input->columns.outputs), 1));
	foreach(lc, input->columns.outputs)
		outputs[foreach_current_index(lc)] = *(TbOutput *) lfirst(lc);
	below->stages = input->stages;
	below->scan_tlist = input->columns.scan_tlist;
	below->outputs = outputs;
	return true;
}

/* Whether the value that PostgreSQL returns is just that of the column. */
static bool
comes_as_it_is(const TbOutput *output)
{
	switch (output->kind)
	{
		case TB_OUT_KEY:
		case TB_OUT_VALUE:
		case TB_OUT_SUM_NUMERIC:
		case TB_OUT_SUM_FLOAT8:
			return output->display == TB_NONE;
		default:
			return false;
	}
}

/* A key that is shown as one of several equal ones: PostgreSQL's plan may have to run. */
static bool
some_row_is_ambiguous(const TbRowsBelow *below)
{
	return tb_final_may_be_ambiguous(below->outputs, list_length(below->scan_tlist));
}

static Node *
columns_mutator(Node *node, TbRowsBelow *below)
{
	ListCell *lc;

	if (node == NULL)
		return NULL;
	foreach(lc, below->scan_tlist)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, lc);

		if (!entry->resjunk && equal(entry->expr, node))
			return (Node *) makeVar(RESULTS_VARNO, foreach_current_index(lc) + 1,
									exprType(node), exprTypmod(node), exprCollation(node),
									0);
	}
	return expression_tree_mutator(node, columns_mutator, below);
}

/* The path below what only projects: a grouping expression, say. */
static Path *
below_projections(Path *path)
{
	while (IsA(path, ProjectionPath))
		path = ((ProjectionPath *) path)->subpath;
	return path;
}

static bool
take_path(TbRowsBelow *below, Path *path)
{
	const Path *node;
	TbNodeKind	kind;

	path = below_projections(path);
	if (!IsA(path, SubqueryScanPath) || path->param_info != NULL)
		return false;
	node = below_projections(((SubqueryScanPath *) path)->subpath);
	kind = tb_node_kind_of_path(node);
	if (kind != TB_NODE_SORT && kind != TB_NODE_PREAGG)
		return false;
	below->path = path;
	below->node = (const CustomPath *) node;
	return kind == TB_NODE_SORT ?
		take_sorted(below, linitial(below->node->custom_private)) :
		take_groups(below, linitial(below->node->custom_private));
}

TbRowsBelow *
tb_rows_below(RelOptInfo *rel, const char **reason)
{
	TbRowsBelow *below = palloc0(sizeof(TbRowsBelow));
	ListCell	*lc;

	*reason = "the input is a subquery, which is a plan of its own";
	if (rel->subroot == NULL || rel->subroot->init_plans != NIL ||
		rel->subroot->parse->hasSubLinks || rel->lateral_relids != NULL)
		return NULL;
	below->rel = rel;
	foreach(lc, rel->pathlist)
		if (take_path(below, lfirst(lc)))
			break;
	if (lc == NULL || some_row_is_ambiguous(below))
		return NULL;
	foreach(lc, rel->subroot->processed_tlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);
		Node		*column = columns_mutator((Node *) entry->expr, below);

		if (!entry->resjunk)
			below->columns = lappend(below->columns, column);
		if (tb_expression_may_raise(column))
			below->raising = lappend(below->raising, column);
	}
	below->having = (List *) columns_mutator((Node *) below->having, below);
	return below;
}

static TbTypeInfo
form_of(const TbOutput *output)
{
	TbTypeInfo info = {output->type, 0, 0};

	if (tb_type_is_numeric(output->type))
	{
		info.scale = output->scale;
		info.precision = output->type == TB_TYPE_NUM64 ? TB_NUM64_DIGITS : TB_NUM128_DIGITS;
	}
	return info;
}

static bool
resolve(TbTranslator *t, Var *var, TbValue *value)
{
	TbRowsBelow	   *below = t->resolver;
	const TbOutput *output;

	if (var->varno == (int) below->rel->relid)
	{
		if (var->varattno > list_length(below->columns))
			return tb_refuse(t, "a column that the subquery does not have");
		return tb_translate(t, list_nth(below->columns, var->varattno - 1), value);
	}
	if (var->varno != RESULTS_VARNO)
		return tb_refuse(t, "a column of another table");
	output = &below->outputs[var->varattno - 1];
	if (!comes_as_it_is(output))
		return tb_refuse(t, "a value that PostgreSQL makes of the rows of a subquery");
	*value = tb_builder_result_column(t->builder, output->first, form_of(output), true);
	return true;
}

void
tb_rows_below_translator(TbRowsBelow *below, PlannerInfo *root, TbTranslator *t)
{
	tb_translator_init(t, root, 0, NULL);
	t->resolve = resolve;
	t->resolver = below;
}

Cost
tb_rows_below_cost(const TbRowsBelow *below)
{
	const Path *path = &below->node->path;
	Cost		returning = path->rows *
		(cpu_tuple_cost + tb_cost_returned_row() + path->pathtarget->cost.per_tuple);

	return Max(path->total_cost - returning, 0);
}
