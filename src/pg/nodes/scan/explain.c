/*
 * explain.c - GpuScan: what EXPLAIN shows.
 *
 * Called by PostgreSQL's EXPLAIN through the node's methods: filters, skipped blocks,
 * the device and, after ANALYZE, what it did. It must run nothing.
 */
#include "postgres.h"

#include "commands/explain.h"

#include "pg/stage/explain.h"
#include "pg/nodes/scan/gpu_scan.h"

void
tb_scan_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	TbScanState *node = (TbScanState *) css;
	CustomScan	*plan = (CustomScan *) css->ss.ps.plan;
	double		 removed = node->rows_removed;
	TbRunStats	 stats;
	double		 loops = css->ss.ps.instrument ? css->ss.ps.instrument->nloops : 0;

	tb_explain_filter("GPU Filter", list_nth(plan->custom_exprs, TB_SCAN_EXPRS_FILTERS),
					  &css->ss.ps, ancestors, es);
	tb_explain_index(&node->brin.use, "", list_nth(plan->custom_exprs, TB_SCAN_EXPRS_BRIN),
					 &css->ss.ps, ancestors, es);
	if (!es->analyze)
	{
		tb_explain_device_choice(&node->work, es);
		return;
	}
	if (node->query)
	{
		tb_heap_scan_stats(node->query, &stats);
		removed += stats.rows_excluded;
	}
	if (node->have_shared)
	{
		stats = node->stats;
		stats.blocks = node->shared_stats;
		removed = node->shared_rows_removed;
	}
	if (loops > 0)
		ExplainPropertyFloat("Rows Removed by GPU Filter", NULL, removed / loops, 0, es);
	if (node->query || node->have_shared)
		tb_explain_stats(&stats, es);
	else if (node->have_stats)
		tb_explain_stats(&node->stats, es);
	else if (node->plain)
		ExplainPropertyText("Device", "none", es);
	tb_explain_times(node->profile, es);
}
