/*
 * explain.c - GpuSort: what EXPLAIN shows, before what the node below shows.
 *
 * Called by PostgreSQL's EXPLAIN through the node's methods. Sort keys and windows are
 * shown in PostgreSQL's words; it must run nothing.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pg/compat/pg18.h"
#include "pg/nodes/join/gpu_join.h"
#include "pg/stage/plan_private.h"
#include "pg/stage/explain.h"
#include "pg/nodes/sort/gpu_sort.h"

typedef struct Shower
{
	CustomScan		   *plan;
	PlanState		   *node;
	const TbResultPlan *result;
	TbOutput		   *outputs;
	int					noutputs;
	List			   *ancestors;
	ExplainState	   *es;
} Shower;

/* What the column is in the scan tuple; NULL: nothing. */
static Node *
find_expr(const Shower *shower, uint32 column)
{
	for (int i = 0; i < shower->noutputs; i++)
		if (shower->outputs[i].first == column && tb_output_is_ordered(&shower->outputs[i]))
			return (Node *) list_nth_node(TargetEntry, shower->plan->custom_scan_tlist, i)
				->expr;
	return NULL;
}

/* Whether the pass folds groups with DISTINCT, whose condition is on no function of the
 * query's. */
static bool
shows_folded_distinct(const Shower *shower)
{
	const TbResultPlan *result = shower->result;

	return result->conditions.count == 1 &&
		find_expr(shower, tb_result_conditions(result)[0].column) == NULL;
}

static Node *
expr_of(const Shower *shower, uint32 column)
{
	Node *expr = find_expr(shower, column);

	if (expr != NULL)
		return expr;
	elog(ERROR, "no output is sorted by column %u", column);
}

/* "x COLLATE c DESC NULLS LAST", as EXPLAIN's own sorts show it. */
static char *
describe_key(const Shower *shower, const TbSortKey *key)
{
	Node *expr = expr_of(shower, key->column);
	Oid	  collation = exprCollation(expr);
	bool  descending = (key->flags & TB_SORT_DESCENDING) != 0;
	bool  nulls_first = (key->flags & TB_SORT_NULLS_FIRST) != 0;
	char *text = tb_explain_expr(expr, shower->node, shower->ancestors, shower->es);

	if (OidIsValid(collation) && collation != DEFAULT_COLLATION_OID)
		text = psprintf("%s COLLATE %s", text,
						quote_identifier(get_collation_name(collation)));
	if (descending)
		text = psprintf("%s DESC", text);
	if (nulls_first != descending)
		text = psprintf("%s NULLS %s", text, nulls_first ? "FIRST" : "LAST");
	return text;
}

static List *
describe_keys(const Shower *shower, uint32 first, uint32 count)
{
	const TbSortKey *keys = tb_result_keys(shower->result);
	List			*texts = NIL;

	for (uint32 i = first; i < first + count; i++)
		texts = lappend(texts, describe_key(shower, &keys[i]));
	return texts;
}

static void
show_keys(const Shower *shower, const char *label, uint32 first, uint32 count)
{
	List *texts = describe_keys(shower, first, count);

	if (texts != NIL)
		ExplainPropertyList(label, texts, shower->es);
}

static char *
joined(const List *texts)
{
	StringInfoData line;
	ListCell	  *lc;

	initStringInfo(&line);
	foreach(lc, texts)
		appendStringInfo(&line, "%s%s", line.len > 0 ? ", " : "", (char *) lfirst(lc));
	return line.data;
}

/* One pass: in text format a line. */
static void
show_pass(const Shower *shower, const TbWindowPass *pass)
{
	ExplainState  *es = shower->es;
	uint32		   order = pass->first_key + pass->npartition;
	uint32		   norder = pass->nkeys - pass->npartition;
	StringInfoData line;

	if (es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainOpenGroup("Window", NULL, true, es);
		show_keys(shower, "Partition Key", pass->first_key, pass->npartition);
		show_keys(shower, "Order Key", order, norder);
		ExplainPropertyUInteger("Functions", NULL, pass->nfunctions, es);
		ExplainCloseGroup("Window", NULL, true, es);
		return;
	}
	initStringInfo(&line);
	if (pass->npartition > 0)
		appendStringInfo(&line, "PARTITION BY %s",
						 joined(describe_keys(shower, pass->first_key, pass->npartition)));
	if (norder > 0)
		appendStringInfo(&line, "%sORDER BY %s", line.len > 0 ? " " : "",
						 joined(describe_keys(shower, order, norder)));
	ExplainPropertyText("Window", line.len > 0 ? line.data : "all rows", es);
}

static const char *
comparison_name(uint32 flags)
{
	bool strict = (flags & TB_CONDITION_STRICT) != 0;

	if (flags & TB_CONDITION_EQUAL)
		return "=";
	if (flags & TB_CONDITION_AT_LEAST)
		return strict ? ">" : ">=";
	return strict ? "<" : "<=";
}

static void
show_conditions(const Shower *shower)
{
	const TbResultCondition *conditions = tb_result_conditions(shower->result);
	List					*texts = NIL;

	for (uint32 i = 0; i < shower->result->conditions.count; i++)
		texts = lappend(texts,
						psprintf("%s %s " INT64_FORMAT,
								 tb_explain_expr(expr_of(shower, conditions[i].column),
												 shower->node, shower->ancestors,
												 shower->es),
								 comparison_name(conditions[i].flags),
								 conditions[i].bound));
	if (texts != NIL)
		ExplainPropertyList("Run Condition", texts, shower->es);
}

static void
show_figures(const Shower *shower, const TbRunStats *stats)
{
	ExplainState	  *es = shower->es;
	const TbQueryDone *done = &stats->service.done;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText("Sort",
							psprintf("rows=" UINT64_FORMAT "%s%s", done->rows_sorted,
									 done->rows_sorted_on_gpu > 0 ? " on the GPU" : "",
									 !es->timing ?
										 "" :
										 psprintf(" in %.1f ms", done->sort_us / 1000.0)),
							es);
		if (done->windows_on_gpu > 0)
			ExplainPropertyUInteger("Window Functions On GPU", NULL, done->windows_on_gpu,
									es);
		return;
	}
	ExplainPropertyUInteger("Sorted Rows", NULL, done->rows_sorted, es);
	ExplainPropertyBool("Sorted On GPU", done->rows_sorted_on_gpu > 0, es);
	ExplainPropertyUInteger("Window Functions On GPU", NULL, done->windows_on_gpu, es);
	if (es->timing)
		ExplainPropertyFloat("Sort Time", "ms", done->sort_us / 1000.0, 3, es);
}

static void
show_result(const Shower *shower)
{
	const TbResultPlan *result = shower->result;
	const TbWindowPass *passes = tb_result_passes(result);

	if (shows_folded_distinct(shower))
		show_keys(shower, "Folded Group Key", passes[0].first_key, passes[0].nkeys);
	else if (result->passes.count > 0)
	{
		ExplainOpenGroup("Windows", "Windows", false, shower->es);
		for (uint32 i = 0; i < result->passes.count; i++)
			show_pass(shower, &passes[i]);
		ExplainCloseGroup("Windows", "Windows", false, shower->es);
	}
	if (!shows_folded_distinct(shower))
		show_conditions(shower);
	show_keys(shower, "Sort Key", result->first_key, result->nkeys);
	show_keys(shower, "Unique Key", result->first_key, result->ndistinct);
	if (result->estimates.count > 0 && result->limit != TB_NO_LIMIT)
		ExplainPropertyUInteger("Likely Groups", NULL, result->limit, shower->es);
	else if (result->limit != TB_NO_LIMIT)
		ExplainPropertyUInteger((result->flags & TB_RESULT_WITH_TIES) ? "Limit With Ties" :
																		"Limit",
								NULL, result->limit, shower->es);
}

/* How many columns come from the heap once the rows are known. */
static void
show_fetched(const Shower *shower)
{
	int fetched = 0;

	for (int i = 0; i < shower->noutputs; i++)
		fetched += shower->outputs[i].kind == TB_OUT_FETCHED;
	if (fetched > 0)
		ExplainPropertyInteger("Fetched Columns", NULL, fetched, shower->es);
}

void
tb_sort_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	CustomScan		 *plan = (CustomScan *) css->ss.ps.plan;
	int				  last = tb_private_nstages(plan) - 1;
	bool			  rows = tb_private_program(plan, last)->sink == TB_SINK_PROJECT;
	TbStageRun		 *run = rows ? ((TbJoinState *) css)->cursor.run :
								   ((TbPreAggState *) css)->cursor.run;
	const TbRunStats *stats = es->analyze ? tb_stage_run_stats(run, last) : NULL;
	Size			  size;
	Shower shower = {.plan = plan, .node = &css->ss.ps, .ancestors = ancestors, .es = es};

	shower.result = run->continuation != NULL ? run->continuation->result : run->result;
	shower.outputs = tb_private_outputs(plan, &size);
	shower.noutputs = size / sizeof(TbOutput);
	show_result(&shower);
	if (stats != NULL && stats->service.fallback == TB_FALLBACK_NONE)
		show_figures(&shower, stats);
	show_fetched(&shower);
	if (rows && run->nstages == 1)
		ExplainPropertyText("Scan On", tb_stage_run_table_name(run), es);
	if (rows)
		tb_join_explain(css, ancestors, es);
	else
		tb_preagg_explain(css, ancestors, es);
}
