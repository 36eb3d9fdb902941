/*
 * first_row_seek.c - see first_row_seek.h.
 *
 * A table is looked at through its own scan node, whose scan is limited to some blocks:
 * filters, visibility and InitPlans are the executor's. Owns nothing: plan states it
 * makes it ends; what they leave in the query's memory is why callers look only once.
 * Called by first_row.c and GpuScan, in the query's memory.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "pg/stage/plan_parts.h"
#include "pg/stage/first_row_seek.h"

/* Blocks at the start of a table, and those spread over the rest. */
#define FIRST_BLOCKS 16
#define SPREAD_BLOCKS 24

/* What a first row may cost. */
#define CHEAP 100.0

/* The i-th part of a table that is looked at: first the start, then block by block. */
static bool
part_of_table(BlockNumber nblocks, int i, BlockNumber *start, BlockNumber *count)
{
	if (i == 0)
	{
		*start = 0;
		*count = Min(nblocks, FIRST_BLOCKS);
		return nblocks > 0;
	}
	if (i > SPREAD_BLOCKS || nblocks <= FIRST_BLOCKS)
		return false;
	/* The last block is the first of them: new rows are there. */
	*start = FIRST_BLOCKS +
		(uint64) (nblocks - 1 - FIRST_BLOCKS) * (SPREAD_BLOCKS - i) / (SPREAD_BLOCKS - 1);
	*count = 1;
	return true;
}

static TableScanDesc
scan_part(Relation rel, Snapshot snapshot, BlockNumber start, BlockNumber count)
{
	TableScanDesc scan = table_beginscan_strat(rel, snapshot, 0, NULL, true, false);

	heap_setscanlimits(scan, start, count);
	return scan;
}

bool
tb_seek_is_repeatable(Plan *plan)
{
	Node	 *clauses = (Node *) tb_plan_clauses(plan);
	ListCell *lc;

	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_BitmapIndexScan:
		case T_Append:
		case T_Hash:
		case T_HashJoin:
		case T_NestLoop:
		case T_MergeJoin:
		case T_Material:
		case T_Memoize:
		case T_Sort:
		case T_Agg:
		case T_Unique:
		case T_ValuesScan:
		case T_FunctionScan:
		case T_SubqueryScan:
			break;
		default:
			return false;
	}
	if (plan->initPlan != NIL || contain_volatile_functions(clauses) ||
		contain_subplans(clauses))
		return false;
	foreach(lc, tb_plan_children(plan))
		if (!tb_seek_is_repeatable(lfirst(lc)))
			return false;
	return true;
}

static bool
has_custom_scan(Plan *plan)
{
	return plan != NULL &&
		(IsA(plan, CustomScan) || has_custom_scan(plan->lefttree) ||
		 has_custom_scan(plan->righttree));
}

bool
tb_seek_is_cheap(Plan *plan)
{
	return plan->startup_cost +
			(plan->total_cost - plan->startup_cost) / Max(plan->plan_rows, 1) <=
		CHEAP &&
		tb_seek_is_repeatable(plan) && !has_custom_scan(plan);
}

/* A state of the plan's own: without figures for EXPLAIN, without JIT. */
static PlanState *
begin_plan(EState *estate, Plan *plan)
{
	int		   instrument = estate->es_instrument;
	int		   jit_flags = estate->es_jit_flags;
	PlanState *state;

	estate->es_instrument = 0;
	estate->es_jit_flags = 0;
	state = ExecInitNode(plan, estate, 0);
	estate->es_instrument = instrument;
	estate->es_jit_flags = jit_flags;
	return state;
}

static bool
has_row(PlanState *state)
{
	TupleTableSlot *slot = ExecProcNode(state);

	return !TupIsNull(slot);
}

bool
tb_seek_row_of_table(EState *estate, Plan *plan)
{
	SeqScanState *state = (SeqScanState *) begin_plan(estate, plan);
	Relation	  rel = state->ss.ss_currentRelation;
	BlockNumber	  nblocks = RelationGetNumberOfBlocks(rel);
	/* Further rows PostgreSQL might not reach, or not before another error. */
	bool		  ordered = tb_expr_may_raise((Node *) plan->qual, estate) ||
		tb_expr_may_raise((Node *) plan->targetlist, estate);
	BlockNumber start;
	BlockNumber count;
	bool		found = false;

	for (int i = 0;
		 !found && (i == 0 || !ordered) && part_of_table(nblocks, i, &start, &count); i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (state->ss.ss_currentScanDesc != NULL)
			table_endscan(state->ss.ss_currentScanDesc);
		state->ss.ss_currentScanDesc = scan_part(rel, estate->es_snapshot, start, count);
		found = has_row(&state->ss.ps);
		ExecClearTuple(state->ss.ss_ScanTupleSlot);
	}
	ExecEndNode(&state->ss.ps);
	return found;
}

bool
tb_seek_row_of_plan(EState *estate, Plan *plan)
{
	PlanState *state = begin_plan(estate, plan);
	bool	   found = has_row(state);

	ExecEndNode(state);
	return found;
}

bool
tb_seek_row_that_passes(Relation rel, List *filters, ExprState *qual, const TbRisk *risk,
						PlanState *node)
{
	ExprContext	   *econtext = node->ps_ExprContext;
	EState		   *estate = node->state;
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	BlockNumber		nblocks = RelationGetNumberOfBlocks(rel);
	bool			ordered = tb_expr_may_raise((Node *) filters, estate);
	BlockNumber		start;
	BlockNumber		count;
	bool			done = false;

	for (int i = 0;
		 !done && (i == 0 || !ordered) && part_of_table(nblocks, i, &start, &count); i++)
	{
		TableScanDesc scan = scan_part(rel, estate->es_snapshot, start, count);

		while (!done && table_scan_getnextslot(scan, ForwardScanDirection, slot))
		{
			CHECK_FOR_INTERRUPTS();
			ResetExprContext(econtext);
			econtext->ecxt_scantuple = slot;
			done = ExecQual(qual, econtext) ||
				(!risk->others && !tb_risk_is_in(risk, (Node *) filters, estate));
		}
		table_endscan(scan);
	}
	ExecDropSingleTupleTableSlot(slot);
	return done;
}
