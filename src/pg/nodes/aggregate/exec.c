/*
 * exec.c - GpuPreAgg: returns the groups of an aggregation.
 *
 * Phases: BeginCustomScan prepares expressions only. The first fetch evaluates
 * the parameters and runs the whole input through the query; then groups come
 * in batches, each turned into a tuple of the scan slot (custom_scan_tlist), on
 * which ExecScan evaluates HAVING and the target list. If the query gives up
 * before its first group, PostgreSQL's kept plan is initialized and its tuples
 * are returned as they are: it computes the same target list and HAVING.
 *
 * Where equal numerics that print differently may be in one group, all groups are
 * looked at, and kept, before the first is returned: if it matters which of
 * them PostgreSQL would show, it is asked.
 *
 * Owns: the heap query, and the kept plan's state once it exists. Values live
 * in the per-tuple memory context. Called by the executor. Must never fall back
 * after a group has been returned.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/bridge/failure.h"
#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/param_block.h"
#include "pg/nodes/plan_private.h"
#include "pg/nodes/table_statistics.h"
#include "pg/planner/relation_check.h"
#include "pg/supervisor/stat_queries.h"

Scan *
tb_preagg_kept_scan(const CustomScan *plan)
{
	Plan	   *kept = linitial(plan->custom_plans);

	while (!IsA(kept, SeqScan))
	{
		kept = kept->lefttree;
		Assert(kept != NULL);
	}
	return (Scan *) kept;
}

static void
begin_preagg(CustomScanState *css, EState *estate, int eflags)
{
	TbPreAggState *node = (TbPreAggState *) css;
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;
	Size		size;

	node->context = AllocSetContextCreate(estate->es_query_cxt, "GpuPreAgg",
										  ALLOCSET_SMALL_SIZES);
	node->program = tb_private_program(plan);
	node->work = tb_private_work(plan);
	node->groups = tb_private_groups(plan);
	node->outputs = tb_private_outputs(plan, &size);
	node->noutputs = size / sizeof(TbOutput);
	node->param_states = ExecInitExprList(plan->custom_exprs, &css->ss.ps);
	node->scanrelid = tb_preagg_kept_scan(plan)->scanrelid;
}

static void
fall_back(TbPreAggState *node, const char *why)
{
	CustomScanState *css = &node->css;
	EState	   *estate = css->ss.ps.state;
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;
	MemoryContext old;

	node->falling_back = true;
	strlcpy(node->fallback_message, why, sizeof(node->fallback_message));
	if (css->custom_ps != NIL)
		return;
	old = MemoryContextSwitchTo(estate->es_query_cxt);
	css->custom_ps = list_make1(ExecInitNode(linitial(plan->custom_plans), estate, 0));
	MemoryContextSwitchTo(old);
}

static void
end_query(TbPreAggState *node)
{
	if (node->query)
	{
		node->stats = *tb_heap_query_stats(node->query);
		node->have_stats = true;
		tb_count_rows_read(ExecGetRangeTableRelation(node->css.ss.ps.state, node->scanrelid),
						   node->stats.done.rows_in);
		tb_heap_query_end(node->query);
		node->query = NULL;
	}
	node->batch = NULL;
}

/* Starts the query, or falls back. */
static void
start(TbPreAggState *node)
{
	EState	   *estate = node->css.ss.ps.state;
	Relation	rel = ExecGetRangeTableRelation(estate, node->scanrelid);
	TbHeapQuerySpec spec = {0};
	TbFailure	why;
	const char *reason;
	MemoryContext old;

	node->started = true;
	if (!tb_isolation_qualifies())
	{
		fall_back(node, "the isolation level is serializable");
		return;
	}
	/* No row, no evaluation of parameters: they might raise. */
	if (RelationGetNumberOfBlocks(rel) == 0)
	{
		node->finished = true;
		return;
	}
	old = MemoryContextSwitchTo(node->context);
	spec.program = node->program;
	spec.params = tb_param_block_make(node->program, node->param_states,
									  node->css.ss.ps.ps_ExprContext);
	if (spec.params != NULL)
	{
		(void) tb_choose_device(&node->work, &spec.device, &reason);
		spec.estimated_rows = node->work.rows;
		spec.estimated_groups = node->groups;
		memset(&why, 0, sizeof(why));
		pgstat_count_heap_scan(rel);
		node->query = tb_heap_query_begin(rel, estate->es_snapshot, &spec, &why);
	}
	MemoryContextSwitchTo(old);
	if (spec.params == NULL)
		fall_back(node, "a parameter's value has no form that devices know");
	else if (node->query == NULL)
		fall_back(node, why.message);
}

/* Moves to the next batch; false at the end, or falls back. */
static bool
next_batch(TbPreAggState *node)
{
	TbFailure	why;

	CHECK_FOR_INTERRUPTS();
	memset(&why, 0, sizeof(why));
	switch (tb_heap_query_next_groups(node->query, &node->batch, &why))
	{
		case TB_GROUPS_BATCH:
			node->next_row = 0;
			return true;
		case TB_GROUPS_FALLBACK:
			if (node->returned_row)
				elog(ERROR, "pg_turbine gave up after returning groups: %s", why.message);
			end_query(node);
			fall_back(node, why.message);
			return false;
		default:
			node->batch = NULL;
			node->finished = true;
			return false;
	}
}

/* The next group of the batch into the scan slot. */
static TupleTableSlot *
store_row(TbPreAggState *node, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);

	tb_final_row(node->outputs, node->noutputs, node->batch, node->next_row++,
				 slot->tts_values, slot->tts_isnull);
	MemoryContextSwitchTo(old);
	return ExecStoreVirtualTuple(slot);
}

static bool
has_row(const TbPreAggState *node)
{
	return node->batch != NULL && node->next_row < node->batch->nrows;
}

/* What a device has computed is not what PostgreSQL would show. */
static void
give_up_on_value(TbPreAggState *node, const char *message)
{
	Relation	rel = ExecGetRangeTableRelation(node->css.ss.ps.state, node->scanrelid);
	TbFailure	why;

	tb_failure_set(&why, TB_FALLBACK_VALUE, "%s", message);
	tb_stat_fallback(&why, RelationGetRelationName(rel));
	end_query(node);
	fall_back(node, message);
}

/* All groups into node->checked; false, having fallen back, if PostgreSQL must
 * say how one prints. */
static bool
check_groups(TbPreAggState *node, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);

	node->checked = tuplestore_begin_heap(false, false, work_mem);
	if (node->checked_slot == NULL)
		node->checked_slot = ExecInitExtraTupleSlot(node->css.ss.ps.state,
													slot->tts_tupleDescriptor,
													&TTSOpsMinimalTuple);
	MemoryContextSwitchTo(old);
	while (has_row(node) || next_batch(node))
	{
		if (!has_row(node))
			continue;
		if (!tb_final_is_unambiguous(node->outputs, node->noutputs, node->batch, node->next_row))
		{
			give_up_on_value(node, "equal numerics print with different scales");
			return false;
		}
		tuplestore_puttupleslot(node->checked, store_row(node, slot));
		ExecClearTuple(slot);
		ResetExprContext(node->css.ss.ps.ps_ExprContext);
	}
	node->finished = true;
	return !node->falling_back;
}

static bool
next_checked(TbPreAggState *node, TupleTableSlot *slot)
{
	if (!tuplestore_gettupleslot(node->checked, true, false, node->checked_slot))
		return false;
	ExecCopySlot(slot, node->checked_slot);
	node->returned_row = true;
	return true;
}

static void
forget_checked(TbPreAggState *node)
{
	if (node->checked_slot != NULL)
		ExecClearTuple(node->checked_slot);
	if (node->checked != NULL)
		tuplestore_end(node->checked);
	node->checked = NULL;
}

/* Without keys there is a row even of no input. */
static TupleTableSlot *
store_empty(TbPreAggState *node, TupleTableSlot *slot)
{
	tb_final_empty(node->outputs, node->noutputs, node->program,
				   slot->tts_values, slot->tts_isnull);
	node->returned_row = true;
	return ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
next_group(ScanState *ss)
{
	TbPreAggState *node = (TbPreAggState *) ss;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;

	ExecClearTuple(slot);
	if (!node->finished && !node->falling_back && node->checked == NULL &&
		tb_final_may_be_ambiguous(node->outputs, node->noutputs))
	{
		if (!check_groups(node, slot))
			return slot;
	}
	if (node->checked != NULL && !node->falling_back && next_checked(node, slot))
		return slot;
	while (!node->finished && !node->falling_back)
	{
		if (has_row(node))
		{
			node->returned_row = true;
			return store_row(node, slot);
		}
		if (!next_batch(node))
			break;
	}
	if (node->finished && !node->returned_row && node->program->keys.count == 0)
		return store_empty(node, slot);
	return slot;
}

static bool
recheck(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
exec_preagg(CustomScanState *css)
{
	TbPreAggState *node = (TbPreAggState *) css;
	TupleTableSlot *slot;

	if (!node->started)
		start(node);
	if (!node->falling_back)
	{
		slot = ExecScan(&css->ss, (ExecScanAccessMtd) next_group,
						(ExecScanRecheckMtd) recheck);
		if (!node->falling_back)
			return slot;
	}
	return ExecProcNode(linitial(css->custom_ps));
}

static void
end_preagg(CustomScanState *css)
{
	TbPreAggState *node = (TbPreAggState *) css;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	forget_checked(node);
	end_query(node);
	if (css->custom_ps != NIL)
		ExecEndNode(linitial(css->custom_ps));
}

static void
rescan(CustomScanState *css)
{
	TbPreAggState *node = (TbPreAggState *) css;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	forget_checked(node);
	end_query(node);
	MemoryContextReset(node->context);
	node->started = false;
	node->finished = false;
	node->returned_row = false;
	node->falling_back = false;
	/* The kept plan, once made, is used again if it is needed again. */
	if (css->custom_ps != NIL)
	{
		PlanState  *kept = linitial(css->custom_ps);

		if (css->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(kept, css->ss.ps.chgParam);
		ExecReScan(kept);
	}
	ExecScanReScan(&css->ss);
}

static const CustomExecMethods exec_methods = {
	.CustomName = TB_GPU_PREAGG_NAME,
	.BeginCustomScan = begin_preagg,
	.ExecCustomScan = exec_preagg,
	.EndCustomScan = end_preagg,
	.ReScanCustomScan = rescan,
	.ExplainCustomScan = tb_preagg_explain,
};

Node *
tb_preagg_create_state(CustomScan *plan)
{
	TbPreAggState *node = (TbPreAggState *) newNode(sizeof(TbPreAggState), T_CustomScanState);

	node->css.methods = &exec_methods;
	return (Node *) node;
}
