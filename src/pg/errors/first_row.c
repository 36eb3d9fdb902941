/*
 * first_row.c - whether PostgreSQL would evaluate what a run evaluates ahead, see
 * first_row.h.
 *
 * Walks the kept plan in the order in which its nodes fetch their first rows, and asks it
 * for those rows. A table is looked at through its own scan node, whose scan is limited to
 * some blocks: filters, visibility and InitPlans are the executor's. One thing is not
 * proved: a join that would be expensive to ask is taken to have a row if its sides have
 * one each.
 *
 * Owns nothing: plan states it makes it ends; what they leave in the query's memory is why
 * it looks only once. Must not change the plan, and must evaluate nothing that PostgreSQL
 * would not evaluate by then. Called by stage_run.c and by GpuScan, once in a node's life.
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

#include "pg/compat/pg18.h"
#include "pg/errors/first_row.h"
#include "pg/errors/may_raise.h"
#include "pg/plans/plan_walk.h"
#include "pg/source/input.h"

/* ---- A quick look for a first row ---- */

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

/* Whether a plan may run a second time beside itself, and change nothing. */
static bool
is_repeatable(Plan *plan)
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
		if (!is_repeatable(lfirst(lc)))
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

/* Whether it may besides run to its first row: a millisecond or so. */
static bool
is_cheap(Plan *plan)
{
	return plan->startup_cost +
			(plan->total_cost - plan->startup_cost) / Max(plan->plan_rows, 1) <=
		CHEAP &&
		is_repeatable(plan) && !has_custom_scan(plan);
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

/* Whether a sequential scan finds a row where it is looked for: in the table's first
 * blocks and, where its filter raises nothing, in some spread over it. InitPlans
 * that rows reach have run then. */
static bool
finds_row_of_table(EState *estate, Plan *plan)
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

/* Whether the plan has a first row. */
static bool
finds_row_of_plan(EState *estate, Plan *plan)
{
	PlanState *state = begin_plan(estate, plan);
	bool	   found = has_row(state);

	ExecEndNode(state);
	return found;
}

/* ---- The order of first rows ---- */

typedef struct Asker
{
	const TbAhead *ahead;
	EState		  *estate;
	TbRisk		   risk;
	bool		   sources;	 /* rows that are sent may raise */
	Bitmapset	  *known;	 /* plan_node_ids of which it is known whether */
	Bitmapset	  *yielding; /* they have a row, and those that have */
} Asker;

static bool reaches(Asker *a, Plan *plan, bool drained);
static bool yields(Asker *a, Plan *plan);

static bool
node_is_at_risk(Asker *a, Plan *plan)
{
	return tb_risk_is_in(&a->risk, (Node *) tb_plan_clauses(plan), a->estate);
}

static bool
is_stage_table(const Asker *a, Plan *plan)
{
	Index	  rti;
	ListCell *lc;

	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
			rti = ((Scan *) plan)->scanrelid;
			break;
		default:
			return false;
	}
	foreach(lc, a->ahead->inputs)
		if (tb_input_reads(lfirst(lc), rti))
			return true;
	return false;
}

static bool
has_stage_table(const Asker *a, Plan *plan)
{
	ListCell *lc;

	if (is_stage_table(a, plan))
		return true;
	foreach(lc, tb_plan_children(plan))
		if (has_stage_table(a, lfirst(lc)))
			return true;
	return false;
}

static bool
is_at_risk(Asker *a, Plan *plan)
{
	ListCell *lc;

	if (node_is_at_risk(a, plan))
		return true;
	/* Nothing but rows that are sent. */
	if (!has_stage_table(a, plan))
		return a->sources && tb_plan_may_raise(plan, a->estate);
	foreach(lc, tb_plan_children(plan))
		if (is_at_risk(a, lfirst(lc)))
			return true;
	return false;
}

static bool
join_yields(Asker *a, Plan *plan)
{
	Plan *outer = tb_plan_outer(plan);
	Plan *inner = tb_plan_inner(plan);
	bool  by_parameter = IsA(plan, NestLoop) && ((NestLoop *) plan)->nestParams != NIL;

	switch (((Join *) plan)->jointype)
	{
		case JOIN_INNER:
		case JOIN_SEMI:
			return yields(a, outer) && (by_parameter || yields(a, inner));
		case JOIN_LEFT:
		case JOIN_ANTI:
			return yields(a, outer);
		case JOIN_RIGHT:
			return yields(a, inner);
		default:
			return false;
	}
}

static bool
append_yields(Asker *a, Append *plan)
{
	ListCell *lc;

	/* Partitions might be pruned. */
	if (tb_append_prunes(plan))
		return false;
	foreach(lc, tb_plans_as_postgres(plan->appendplans))
		if (yields(a, lfirst(lc)))
			return true;
	return false;
}

static bool
find_row(Asker *a, Plan *plan)
{
	if (IsA(plan, SeqScan))
		return is_repeatable(plan) && finds_row_of_table(a->estate, plan);
	/* It returns no tuples by itself. */
	if (IsA(plan, Hash))
		return yields(a, tb_plan_outer(plan));
	if (is_cheap(plan))
		return finds_row_of_plan(a->estate, plan);
	switch (nodeTag(plan))
	{
		case T_NestLoop:
		case T_MergeJoin:
		case T_HashJoin:
			return join_yields(a, plan);
		case T_Append:
			return append_yields(a, (Append *) plan);
		case T_Material:
		case T_Sort:
		case T_IncrementalSort:
		case T_Unique:
		case T_Memoize:
			return yields(a, tb_plan_outer(plan));
		case T_SubqueryScan:
			return plan->qual == NIL &&
				yields(a, tb_plan_as_postgres(((SubqueryScan *) plan)->subplan));
		case T_Result:
			return plan->lefttree != NULL && ((Result *) plan)->resconstantqual == NULL &&
				plan->qual == NIL && yields(a, tb_plan_outer(plan));
		case T_Agg:
			return plan->qual == NIL && yields(a, tb_plan_outer(plan));
		default:
			return false;
	}
}

/* Whether the plan has a row; what is at risk in it must have been reached. */
static bool
yields(Asker *a, Plan *plan)
{
	check_stack_depth();
	if (!bms_is_member(plan->plan_node_id, a->known))
	{
		if (find_row(a, plan))
			a->yielding = bms_add_member(a->yielding, plan->plan_node_id);
		a->known = bms_add_member(a->known, plan->plan_node_id);
	}
	return bms_is_member(plan->plan_node_id, a->yielding);
}

/* What the node computes itself of its input's rows. */
static bool
reaches_own(Asker *a, Plan *plan, Plan *input)
{
	return !node_is_at_risk(a, plan) ||
		((plan->qual == NIL || IsA(plan, Agg)) && yields(a, input));
}

/* A row that is returned has passed all filters; others may have got far enough. */
static bool
table_is_reached(Asker *a, Plan *plan)
{
	return (IsA(plan, SeqScan) || is_cheap(plan)) &&
		(yields(a, plan) || !node_is_at_risk(a, plan));
}

/* Parameters by which partitions are pruned are evaluated before any row. */
static void
prunes_by(Asker *a, const PartitionPruneInfo *info)
{
	ListCell *hierarchy;
	ListCell *lc;

	foreach(hierarchy, info->prune_infos)
		foreach(lc, lfirst(hierarchy))
			a->risk.initplans = bms_del_members(a->risk.initplans,
												lfirst_node(PartitionedRelPruneInfo, lc)
													->execparamids);
}

static bool
append_is_reached(Asker *a, Append *plan, bool drained)
{
	ListCell *lc;

	if (tb_append_prunes(plan))
		prunes_by(a, tb_append_prune_info(plan, a->estate));
	else
		foreach(lc, tb_plans_as_postgres(plan->appendplans))
		{
			/* All have the same filters. */
			if (is_at_risk(a, lfirst(lc)) && reaches(a, lfirst(lc), drained))
				return true;
		}
	return !is_at_risk(a, &plan->plan);
}

/* A hash join may look for a row of its outer side first, as nodeHashjoin.c does. */
static bool
outer_is_first(Plan *plan)
{
	JoinType jointype = ((Join *) plan)->jointype;

	if (!IsA(plan, HashJoin))
		return true;
	if (tb_join_returns_unmatched_inner(jointype))
		return false;
	return jointype == JOIN_LEFT || jointype == JOIN_ANTI ||
		plan->lefttree->startup_cost < plan->righttree->total_cost;
}

static bool
join_is_reached(Asker *a, Plan *plan, bool drained)
{
	Plan	*outer = tb_plan_outer(plan);
	Plan	*inner = tb_plan_inner(plan);
	JoinType jointype = ((Join *) plan)->jointype;
	bool	 drained_inner = drained && IsA(plan, NestLoop) &&
		(jointype == JOIN_INNER || jointype == JOIN_LEFT) && !((Join *) plan)->inner_unique;
	bool drained_outer = drained && !IsA(plan, MergeJoin);
	bool by_parameter = IsA(plan, NestLoop) && ((NestLoop *) plan)->nestParams != NIL;
	bool outer_at_risk = is_at_risk(a, outer);
	bool inner_at_risk = is_at_risk(a, inner);

	if (jointype == JOIN_FULL || (by_parameter && inner_at_risk))
		return false;
	if (outer_is_first(plan))
	{
		if (outer_at_risk && !reaches(a, outer, drained_outer))
			return false;
		if (inner_at_risk && !(yields(a, outer) && reaches(a, inner, drained_inner)))
			return false;
		/* With an inner side without rows only the first row is fetched. */
		if (outer_at_risk && a->sources && !by_parameter && jointype != JOIN_LEFT &&
			jointype != JOIN_ANTI && !yields(a, inner))
			return false;
	}
	else
	{
		if (inner_at_risk && !reaches(a, inner, drained_inner))
			return false;
		if (outer_at_risk &&
			!((jointype == JOIN_RIGHT || yields(a, inner)) &&
			  reaches(a, outer, drained_outer)))
			return false;
	}
	if (!node_is_at_risk(a, plan))
		return true;
	/* Conditions, and what is computed of joined rows. */
	return is_cheap(plan) &&
		(finds_row_of_plan(a->estate, plan) || !node_is_at_risk(a, plan));
}

/*
 * Whether all that is at risk in the plan is evaluated once its first row is asked for;
 * if `drained`, all of its rows are.
 */
static bool
reaches(Asker *a, Plan *plan, bool drained)
{
	check_stack_depth();
	if (!is_at_risk(a, plan))
		return true;
	if (!has_stage_table(a, plan))
		return (drained || IsA(plan, Hash) || IsA(plan, Sort)) && !node_is_at_risk(a, plan);
	if (is_stage_table(a, plan))
		return table_is_reached(a, plan);
	switch (nodeTag(plan))
	{
		case T_NestLoop:
		case T_MergeJoin:
		case T_HashJoin:
			return join_is_reached(a, plan, drained);
		case T_Append:
			return append_is_reached(a, (Append *) plan, drained);
		case T_Agg:
			drained = drained || ((Agg *) plan)->aggstrategy == AGG_PLAIN ||
				((Agg *) plan)->aggstrategy == AGG_HASHED;
			break;
		case T_Hash:
		case T_Sort:
			drained = true;
			break;
		case T_Limit:
		{
			Const *count = (Const *) ((Limit *) plan)->limitCount;

			if (count != NULL &&
				(!IsA(count, Const) ||
				 (!count->constisnull && DatumGetInt64(count->constvalue) <= 0)))
				return false;
			drained = false;
			break;
		}
		case T_Result:
			if (plan->lefttree == NULL || ((Result *) plan)->resconstantqual != NULL)
				return false;
			break;
		case T_Material:
		case T_Memoize:
		case T_IncrementalSort:
		case T_Unique:
		case T_Group:
		case T_WindowAgg:
			break;
		default:
			return false;
	}
	return reaches(a, tb_plan_outer(plan), drained) &&
		reaches_own(a, plan, tb_plan_outer(plan));
}

bool
tb_postgres_reaches(const TbAhead *ahead)
{
	Asker		  a = {.ahead = ahead, .estate = ahead->node->state};
	MemoryContext old;
	ListCell	 *lc;
	bool		  result;

	/* What may raise at all? */
	foreach(lc, ahead->params)
		tb_risk_add_params(&a.risk, lfirst(lc), ahead->node);
	foreach(lc, ahead->fetched)
		if (tb_plan_may_raise(lfirst(lc), a.estate))
			a.sources = true;
	if (!a.sources && tb_risk_is_empty(&a.risk))
		return true;
	/* A rescan that has something left to prove is refused. */
	if (*ahead->asked)
		return false;
	*ahead->asked = true;
	/* Would PostgreSQL's plan get there for its first row? */
	old = MemoryContextSwitchTo(a.estate->es_query_cxt);
	result = reaches(&a, tb_plan_as_postgres(ahead->kept), false);
	MemoryContextSwitchTo(old);
	return result;
}

bool
tb_postgres_reaches_filters(Relation rel, List *filters, ExprState *qual, List *params,
							PlanState *node)
{
	ExprContext	   *econtext = node->ps_ExprContext;
	EState		   *estate = node->state;
	TupleTableSlot *slot;
	BlockNumber		nblocks = RelationGetNumberOfBlocks(rel);
	bool			ordered = tb_expr_may_raise((Node *) filters, estate);
	BlockNumber		start;
	BlockNumber		count;
	bool			done = false;
	TbRisk			risk = {0};

	tb_risk_add_params(&risk, params, node);
	if (tb_risk_is_empty(&risk))
		return true;
	slot = table_slot_create(rel, NULL);

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
				(!risk.others && !tb_risk_is_in(&risk, (Node *) filters, estate));
		}
		table_endscan(scan);
	}
	ExecDropSingleTupleTableSlot(slot);
	return done;
}
