/*
 * explain.c - GpuPreAgg: what EXPLAIN shows.
 */
#include "postgres.h"

#include "commands/explain.h"
#include "nodes/execnodes.h"
#include "utils/lsyscache.h"

#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/plan_private.h"
#include "pg/nodes/query_explain.h"

/* The grouping keys come first in the scan tuple. */
static List *
key_exprs(const CustomScan *plan, int nkeys)
{
	List	   *keys = NIL;

	for (int i = 0; i < nkeys; i++)
		keys = lappend(keys, list_nth_node(TargetEntry, plan->custom_scan_tlist, i)->expr);
	return keys;
}

void
tb_preagg_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	TbPreAggState *node = (TbPreAggState *) css;
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;
	uint32		nkeys = node->program->keys.count;
	const TbHeapQueryStats *stats = NULL;

	ExplainPropertyText("Reduction", nkeys == 0 ? "NoGroup" : "Local", es);
	ExplainPropertyText("Scan On", get_rel_name(tb_private_relid(plan)), es);
	tb_explain_list("Group Key", key_exprs(plan, nkeys), &css->ss.ps, ancestors, es);
	tb_explain_filter("GPU Filter", tb_preagg_kept_scan(plan)->plan.qual,
					  &css->ss.ps, ancestors, es);
	if (!es->analyze)
	{
		tb_explain_device_choice(&node->work, es);
		return;
	}
	if (node->query)
		stats = tb_heap_query_stats(node->query);
	else if (node->have_stats)
		stats = &node->stats;
	if (stats == NULL)
		ExplainPropertyText("Device", "none", es);
	else
	{
		if (tb_preagg_kept_scan(plan)->plan.qual != NIL && !node->falling_back)
			ExplainPropertyUInteger("Rows Removed by GPU Filter", NULL,
									stats->done.rows_in - stats->done.rows_passed, es);
		tb_explain_stats(stats, es);
	}
	if (node->falling_back)
		ExplainPropertyText("Fallback To PostgreSQL", node->fallback_message, es);
}
