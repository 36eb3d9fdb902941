/*
 * block_index_scan.c - see block_index_scan.h.
 *
 * The index scan is a bitmap plan of PostgreSQL's without the heap scan above it. It
 * runs when a query over the table starts, not before: it evaluates parameters, which
 * might raise where nothing is read. The bitmap becomes a set of blocks, what it
 * says of rows is dropped. Owns nothing: plan states belong to the executor, sets to
 * the caller's context. Called by table_input.c and GpuScan's exec.c.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "nodes/tidbitmap.h"
#include "storage/bufmgr.h"
#include "utils/syscache.h"

#include "pg/source/heap/block_index_scan.h"

static Oid
access_method_of(Oid index)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(index));
	Oid		  result = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		result = ((Form_pg_class) GETSTRUCT(tuple))->relam;
		ReleaseSysCache(tuple);
	}
	return result;
}

/* Whether all indexes that the plan scans are BRIN. */
static bool
is_of_brin(const Plan *plan)
{
	const List *parts;
	ListCell   *lc;

	if (IsA(plan, BitmapIndexScan))
		return access_method_of(((const BitmapIndexScan *) plan)->indexid) == BRIN_AM_OID;
	parts = IsA(plan, BitmapAnd) ?
		((const BitmapAnd *) plan)->bitmapplans :
		castNode(BitmapOr, unconstify(Plan *, plan))->bitmapplans;
	foreach(lc, parts)
		if (!is_of_brin(lfirst(lc)))
			return false;
	return true;
}

void
tb_block_index_scan_init(TbBlockIndexScan *scan, CustomScanState *css, Plan *plan,
						 int eflags)
{
	if (plan == NULL)
		return;
	scan->index_scan = ExecInitNode(plan, css->ss.ps.state,
									eflags & ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));
	css->custom_ps = lappend(css->custom_ps, scan->index_scan);
	scan->use.used = true;
	scan->use.of_brin = is_of_brin(plan);
}

TbBlockSet *
tb_block_index_scan_run(TbBlockIndexScan *scan, Relation rel)
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
	if (scan->use.ran && scan->index_scan->chgParam == NULL)
		ExecReScan(scan->index_scan);
	bitmap = (TIDBitmap *) MultiExecProcNode(scan->index_scan);
	MemoryContextSwitchTo(old);
	if (bitmap == NULL || !IsA(bitmap, TIDBitmap))
		elog(ERROR, "unrecognized result from subplan");

	scan->use.ran = true;
	nblocks = RelationGetNumberOfBlocks(rel);
	set = tb_block_set_of_bitmap(bitmap, nblocks);
	scan->use.blocks = nblocks;
	scan->use.skipped = nblocks - tb_block_set_count(set);
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
tb_block_index_scan_rescan(PlanState *index_scan, Bitmapset *changed)
{
	if (changed != NULL)
		UpdateChangedParamSet(index_scan, changed);
}
