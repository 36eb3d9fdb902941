/*
 * explain.c - GpuPreAgg: what EXPLAIN shows.
 *
 * Called by PostgreSQL's EXPLAIN through the node's methods. It must show the same with
 * and without ANALYZE, apart from figures, and run nothing.
 */
#include "postgres.h"

#include "nodes/execnodes.h"
#include "utils/lsyscache.h"

#include "pg/compat/pg18.h"
#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/stage/plan_private.h"
#include "pg/stage/explain.h"

/* Keys come first in the scan tuple. */
static List *
key_exprs(const CustomScan *plan, int begin, int end)
{
	List *keys = NIL;

	for (int i = begin; i < end; i++)
		keys = lappend(keys, list_nth_node(TargetEntry, plan->custom_scan_tlist, i)->expr);
	return keys;
}

/* A list of keys for each set, as PostgreSQL shows them. */
static void
explain_sets(const TbGroupingSets *sets, List *keys, ExplainState *es)
{
	ExplainOpenGroup("Grouping Sets", "Grouping Sets", false, es);
	for (int set = 0; set < sets->nsets; set++)
	{
		List	 *texts = NIL;
		ListCell *lc;

		foreach(lc, keys)
			if (sets->sets[set] & (UINT64CONST(1) << foreach_current_index(lc)))
				texts = lappend(texts, lfirst(lc));
		if (texts == NIL && es->format == EXPLAIN_FORMAT_TEXT)
			ExplainPropertyText("Group Key", "()", es);
		else
			ExplainPropertyListNested("Group Key", texts, es);
	}
	ExplainCloseGroup("Grouping Sets", "Grouping Sets", false, es);
}

/* The filters among the columns of the scan tuple. */
static List *
group_filters(const TbPreAggState *node, const CustomScan *plan)
{
	List *filters = NIL;

	for (int i = 0; i < node->cursor.noutputs; i++)
	{
		const TargetEntry *entry = list_nth_node(TargetEntry, plan->custom_scan_tlist, i);

		if (node->cursor.outputs[i].kind == TB_OUT_GROUP_FILTER)
			filters = lappend(filters, castNode(RelabelType, entry->expr)->arg);
	}
	return filters;
}

/* The keys of the only set, and what the device groups by to compute some of them. */
static void
explain_computed(const TbPreAggState *node, List *keys, ExplainState *es)
{
	List	 *visible = NIL;
	ListCell *lc;

	foreach(lc, keys)
		if (node->sets->sets[0] & (UINT64CONST(1) << foreach_current_index(lc)))
			visible = lappend(visible, lfirst(lc));
	if (visible != NIL)
		ExplainPropertyList("Group Key", visible, es);
}

/* What the service said of the last stage's run; NULL: it has not run. */
static const TbQueryDone *
query_done(const TbPreAggState *node)
{
	TbStageRun		 *run = node->cursor.run;
	const TbRunStats *stats = tb_stage_run_stats(run, run->nstages - 1);

	return stats != NULL ? &stats->service.done : NULL;
}

/* Where groups that differ only in the key of DISTINCT become one. */
static void
explain_continuation(const TbPreAggState *node, ExplainState *es)
{
	const TbQueryDone *done = query_done(node);

	ExplainPropertyText("Distinct Values Combined",
						node->folds ? "by PostgreSQL" : "by the engine", es);
	if (!node->folds && es->analyze && !node->cursor.falling_back && done != NULL)
		ExplainPropertyUInteger("Distinct Groups", NULL, done->rows_continued, es);
}

static void
explain_keys(const TbPreAggState *node, List *ancestors, ExplainState *es)
{
	PlanState			 *ps = unconstify(PlanState *, &node->css.ss.ps);
	const CustomScan	 *plan = (CustomScan *) ps->plan;
	const TbGroupingSets *sets = node->sets;
	int	  nkeys = (sets == NULL ? node->returned : node->program)->keys.count;
	List *texts;

	/* Plain groups; those of DISTINCT that a GpuSort has folded by a continuation. */
	if (sets == NULL)
	{
		tb_explain_list("Group Key", key_exprs(plan, 0, nkeys), ps, ancestors, es);
		if (node->cursor.run->continuation == NULL || tb_stages_plan(plan) != plan)
			return;
		tb_explain_list("Distinct Key", key_exprs(plan, nkeys, nkeys + 1), ps, ancestors,
						es);
		explain_continuation(node, es);
		return;
	}
	/* The key of DISTINCT besides. */
	if (sets->ndistincts > 0)
	{
		tb_explain_list("Group Key", key_exprs(plan, 0, nkeys - 1), ps, ancestors, es);
		tb_explain_list("Distinct Key", key_exprs(plan, nkeys - 1, nkeys), ps, ancestors,
						es);
		explain_continuation(node, es);
		return;
	}
	/* Grouping sets, or computed keys. */
	texts = tb_explain_texts(key_exprs(plan, 0, nkeys + sets->ncomputed), ps, ancestors,
							 es);
	if (node->computed == NULL || sets->nsets > 1)
	{
		explain_sets(sets, texts, es);
		ExplainPropertyText("Grouping Sets Combined",
							node->folds ? "by PostgreSQL" : "by the engine", es);
	}
	else
		explain_computed(node, texts, es);
	if (node->computed == NULL)
		return;
	/* What the device groups by. */
	tb_explain_list("GPU Group Key", key_exprs(plan, 0, nkeys), ps, ancestors, es);
	tb_explain_filter("Filter of GPU Groups", group_filters(node, plan), ps, ancestors, es);
	if (es->analyze && group_filters(node, plan) != NIL && !node->cursor.falling_back)
		ExplainPropertyUInteger("GPU Groups Removed by Filter", NULL,
								node->computed->dropped, es);
}

/* Groups that the engine has dropped because of HAVING. */
static void
explain_dropped(const TbPreAggState *node, ExplainState *es)
{
	const TbResultPlan *result = node->cursor.run->result;
	const TbQueryDone  *done = query_done(node);

	if (!es->analyze || result == NULL || result->estimates.count == 0 ||
		result->limit != TB_NO_LIMIT || node->cursor.falling_back || done == NULL)
		return;
	ExplainPropertyUInteger("Groups Removed by GPU Filter", NULL,
							done->rows_sorted - done->groups, es);
}

/* What makes the rows that are aggregated, where these are no table's. */
static void
explain_below(const TbPreAggState *node, ExplainState *es)
{
	const CustomScan  *plan = (const CustomScan *) node->css.ss.ps.plan;
	const CustomScan  *below = tb_stages_plan(plan);
	const TbQueryDone *done = query_done(node);

	if (below == plan)
		return;
	ExplainPropertyText("Rows Of", below->methods->CustomName, es);
	if (es->analyze && !node->cursor.falling_back && done != NULL)
		ExplainPropertyUInteger("Rows Below", NULL, done->rows_continued, es);
}

void
tb_preagg_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	TbPreAggState *node = (TbPreAggState *) css;
	uint32		   nkeys = node->returned->keys.count;

	ExplainPropertyText("Reduction", nkeys == 0 ? "NoGroup" : "Local", es);
	if (node->cursor.run->nstages > 1)
		ExplainPropertyText("Combined GpuJoin", "enabled", es);
	else
		ExplainPropertyText("Scan On", tb_stage_run_table_name(node->cursor.run), es);
	explain_keys(node, ancestors, es);
	explain_below(node, es);
	explain_dropped(node, es);
	tb_explain_run(&node->cursor, ancestors, es);
}
