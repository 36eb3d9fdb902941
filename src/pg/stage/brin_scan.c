/*
 * brin_scan.c - see brin_scan.h.
 *
 * The index scan is a bitmap plan of PostgreSQL's without the heap scan above it. It
 * runs when a query over the table starts, not before: it evaluates parameters, which
 * might raise where nothing is read. The bitmap becomes a set of blocks, what it
 * says of rows is dropped. Owns nothing: plan states belong to the executor, sets to
 * the caller's context. Called by the nodes' exec.c and explain.c.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/tidbitmap.h"
#include "storage/bufmgr.h"

#include "pg/stage/brin_scan.h"
#include "pg/stage/plan_private.h"
#include "pg/stage/node_explain.h"

void
tb_brin_scan_init(TbBrinScan *scan, CustomScanState *css, int child, int eflags)
{
	CustomScan *plan = tb_stages_plan((CustomScan *) css->ss.ps.plan);

	if (child < 0)
		return;
	scan->index_scan = ExecInitNode(list_nth(plan->custom_plans, child), css->ss.ps.state,
									eflags & ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));
	css->custom_ps = lappend(css->custom_ps, scan->index_scan);
}

TbBlockSet *
tb_brin_scan_run(TbBrinScan *scan, Relation rel)
{
	MemoryContext old;
	BlockNumber	  nblocks;
	TIDBitmap	 *bitmap;
	TbBlockSet	 *set;

	if (scan->index_scan == NULL)
		return NULL;
	Assert(tb_is_index_scan(scan->index_scan));
	/* What plan nodes allocate when they first run must outlive our query. */
	old = MemoryContextSwitchTo(scan->index_scan->state->es_query_cxt);
	/* With other parameters it rescans itself. */
	if (scan->ran && scan->index_scan->chgParam == NULL)
		ExecReScan(scan->index_scan);
	bitmap = (TIDBitmap *) MultiExecProcNode(scan->index_scan);
	MemoryContextSwitchTo(old);
	if (bitmap == NULL || !IsA(bitmap, TIDBitmap))
		elog(ERROR, "unrecognized result from subplan");

	scan->ran = true;
	nblocks = RelationGetNumberOfBlocks(rel);
	set = tb_block_set_of_bitmap(bitmap, nblocks);
	scan->blocks = nblocks;
	scan->skipped = nblocks - tb_block_set_count(set);
	tbm_free(bitmap);
	return set;
}

bool
tb_is_index_scan(const PlanState *child)
{
	return IsA(child, BitmapIndexScanState) || IsA(child, BitmapAndState) ||
		IsA(child, BitmapOrState);
}

void
tb_brin_scan_rescan(PlanState *index_scan, Bitmapset *changed)
{
	if (changed != NULL)
		UpdateChangedParamSet(index_scan, changed);
}

void
tb_brin_scan_explain(const TbBrinScan *scan, const char *prefix, List *condition,
					 PlanState *node, List *ancestors, ExplainState *es)
{
	const char *skipped = psprintf("%sBRIN skipped", prefix);

	if (scan->index_scan == NULL)
		return;
	tb_explain_filter(psprintf("%sBRIN cond", prefix), condition, node, ancestors, es);
	if (!es->analyze || !scan->ran)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText(skipped,
							psprintf(UINT64_FORMAT " blocks (of " UINT64_FORMAT ")",
									 scan->skipped, scan->blocks),
							es);
		return;
	}
	ExplainPropertyUInteger(skipped, NULL, scan->skipped, es);
	ExplainPropertyUInteger(psprintf("%sBRIN blocks", prefix), NULL, scan->blocks, es);
}
