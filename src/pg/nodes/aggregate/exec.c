/*
 * exec.c - GpuPreAgg: returns the groups of an aggregation.
 *
 * Phases:
 *   begin         expressions are prepared; nothing is sent
 *   first fetch   all stages run, the last one's whole input too
 *   fetches       groups come in batches. Each becomes a tuple of the scan slot
 *                 (custom_scan_tlist), on which ExecScan evaluates HAVING and the target
 *                 list
 *
 * If the run gives up before its first group, PostgreSQL's kept plan is initialized. Its
 * tuples are returned as they are, since it computes the same target list and HAVING.
 *
 * In two cases all groups are looked at, and kept, before the first is returned. In the
 * first, a group may hold equal numerics that print differently; if it matters which of
 * them PostgreSQL would show, PostgreSQL is asked. In the second, groups are folded here:
 * to grouping sets, or by keys that PostgreSQL computes of them.
 *
 * What is computed (TbComputedColumns) lies in custom_scan_tlist, where the planner leaves
 * expressions as they are, and gets its columns here. It is evaluated once a group and not
 * once a row, of the columns that the device groups by.
 *
 * Owns the cursor over the run, the kept groups, and states of computed expressions. Values
 * live in the per-tuple memory
 * context. Called by the executor. Must never fall back after it has returned a group.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "turbine/mutant.h"

#include "pg/bridge/failure.h"
#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/results/estimate.h"
#include "pg/shmem/query_counters.h"
#include "pg/stage/plan_private.h"

typedef struct Resolver
{
	const List *tlist;
	int			nkeys;
} Resolver;

static bool
is_key(Node *node, const Expr *key)
{
	return equal(node, key) ||
		(IsA(key, RelabelType) && equal(node, ((const RelabelType *) key)->arg));
}

/* Parts that are keys of the device become columns of the scan tuple. */
static Node *
resolve(Node *node, Resolver *resolver)
{
	if (node == NULL)
		return NULL;
	for (int i = 0; i < resolver->nkeys && !IsA(node, List); i++)
	{
		const TargetEntry *entry = list_nth_node(TargetEntry, resolver->tlist, i);

		if (is_key(node, entry->expr))
			return (Node *) makeVar(INDEX_VAR, i + 1, exprType(node), exprTypmod(node),
									exprCollation(node), 0);
	}
	if (IsA(node, Var))
		elog(ERROR, "a computed column reads what no group has");
	return expression_tree_mutator(node, resolve, resolver);
}

/* The expression of a column of the scan tuple, of which filters are wrapped like hidden
 * keys. */
static Expr *
expression_of(const CustomScan *plan, int column, int nkeys, bool wrapped)
{
	Resolver resolver = {.tlist = plan->custom_scan_tlist, .nkeys = nkeys};
	Expr	*expr = list_nth_node(TargetEntry, plan->custom_scan_tlist, column)->expr;

	if (wrapped)
		expr = castNode(RelabelType, expr)->arg;
	return (Expr *) resolve((Node *) expr, &resolver);
}

/* NULL if there are none. `outputs`: of the scan tuple, whose first `nkeys` are a device's
 * keys. */
static TbComputedColumns *
begin_computed(CustomScanState *css, const TbOutput *outputs, int noutputs, int nkeys)
{
	const CustomScan  *plan = (CustomScan *) css->ss.ps.plan;
	TbComputedColumns *columns = palloc0(sizeof(TbComputedColumns));
	List			  *filters = NIL;

	/* Prepare the expressions. */
	columns->computed = palloc0(sizeof(ExprState *) * Max(noutputs, 1));
	for (int i = nkeys; i < noutputs; i++)
	{
		/* A key that no row gives a value is wrapped as well. */
		bool wrapped = outputs[i].kind == TB_OUT_GROUP_FILTER || outputs[i].second != 0;

		if (outputs[i].kind == TB_OUT_COMPUTED_KEY)
			columns->computed[columns->ncomputed++] = ExecInitExpr(expression_of(plan, i,
																				 nkeys,
																				 wrapped),
																   &css->ss.ps);
		else if (outputs[i].kind == TB_OUT_GROUP_FILTER)
			filters = lappend(filters, expression_of(plan, i, nkeys, wrapped));
	}
	/* Is there any? */
	if (columns->ncomputed == 0 && filters == NIL)
		return NULL;
	columns->econtext = css->ss.ps.ps_ExprContext;
	columns->nkeys = nkeys;
	columns->noutputs = noutputs;
	if (filters != NIL)
		columns->filter = ExecInitQual(filters, &css->ss.ps);
	return columns;
}

/*
 * Of a group whose keys are in the scan slot, in the per-tuple memory: adds the computed
 * keys there. False if a filter drops it. Raises what PostgreSQL's functions raise.
 */
static bool
evaluate_computed(TbComputedColumns *columns, TupleTableSlot *slot)
{
	ExprContext *econtext = columns->econtext;

	/* The columns behind are not known yet; nothing reads them. */
	memset(slot->tts_isnull + columns->nkeys, true,
		   sizeof(bool) * (columns->noutputs + 1 - columns->nkeys));
	ExecClearTuple(slot);
	econtext->ecxt_scantuple = ExecStoreVirtualTuple(slot);
	if (!TB_MUTANT(no_group_filter) && !ExecQual(columns->filter, econtext))
	{
		columns->dropped++;
		return false;
	}
	for (int i = 0; i < columns->ncomputed; i++)
	{
		int column = columns->nkeys + i;

		slot->tts_values[column] = ExecEvalExprSwitchContext(columns->computed[i], econtext,
															 &slot->tts_isnull[column]);
	}
	return true;
}

static void
begin_preagg(CustomScanState *css, EState *estate, int eflags)
{
	TbPreAggState *node = (TbPreAggState *) css;
	TbRunCursor	  *cursor = &node->cursor;

	/* The run, and its last program. */
	tb_run_cursor_open(cursor, css, eflags);
	node->program = cursor->run->stages[cursor->run->nstages - 1].program;
	/* Each run binds parameters in a copy. */
	if (tb_estimate_has_params(cursor->run->result))
	{
		node->planned = cursor->run->result;
		cursor->run->result = palloc(node->planned->total_size);
		memcpy(cursor->run->result, node->planned, node->planned->total_size);
	}
	/* Whose groups come back. */
	node->returned = cursor->run->continuation != NULL ?
		cursor->run->continuation->program :
		node->program;
	/* Are they folded here? */
	node->sets = tb_grouping_sets_unpack((CustomScan *) css->ss.ps.plan);
	node->folds = node->sets != NULL && cursor->run->continuation == NULL;
	if (!node->folds)
		tb_run_cursor_leave_unread(cursor);
	else
		node->computed = begin_computed(css, cursor->outputs, cursor->noutputs,
										node->sets->nkeys);
	/* The kept plan's tuples are returned in its own kind of slot. */
	css->ss.ps.resultopsfixed = false;
}

/* What a device has computed is not what PostgreSQL would show, or not all of it. */
static void
give_up_on_value(TbPreAggState *node, const char *message)
{
	TbFailure why;

	tb_failure_set(&why, TB_FALLBACK_VALUE, "%s", message);
	tb_stat_fallback(&why, tb_stage_run_table_name(node->cursor.run));
	tb_run_cursor_fall_back(&node->cursor, message);
}

/* The next group that has come back, in the slot. */
static TupleTableSlot *
store_group(TbPreAggState *node, TupleTableSlot *slot)
{
	TbRunCursor *cursor = &node->cursor;

	(void) tb_run_cursor_store(cursor, slot);
	if (node->sets != NULL && node->sets->nfunctions > 0)
		for (int i = 0; i < cursor->noutputs; i++)
			if (cursor->outputs[i].kind == TB_OUT_GROUPING)
			{
				/* Of all of them the value is the number of the set. */
				tb_grouping_values(node->sets, DatumGetInt32(slot->tts_values[i]),
								   cursor->outputs, cursor->noutputs, slot->tts_values,
								   slot->tts_isnull);
				break;
			}
	return slot;
}

/* Keeps the row in the slot. */
static void
keep_row(TbPreAggState *node, TupleTableSlot *slot)
{
	CHECK_FOR_INTERRUPTS();
	tuplestore_puttupleslot(node->checked, slot);
	ExecClearTuple(slot);
	ResetExprContext(node->css.ss.ps.ps_ExprContext);
}

/* The keys of the group in the slot, with those that are computed. False if a filter drops
 * it. */
static bool
complete_keys(TbPreAggState *node, TupleTableSlot *slot, uint32 row)
{
	ExprContext	 *econtext = node->css.ss.ps.ps_ExprContext;
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	int			  nkeys = node->sets->nkeys;

	/* Nobody sees the key of DISTINCT. */
	if (node->sets->ndistincts > 0)
		slot->tts_isnull[--nkeys] = true;
	tb_final_row(node->cursor.outputs, nkeys, node->cursor.batch, row, slot->tts_values,
				 slot->tts_isnull);
	MemoryContextSwitchTo(old);
	return node->computed == NULL || evaluate_computed(node->computed, slot);
}

/* The group as rows of the sets that have all keys, and into those of the others. */
static bool
fold_group(TbPreAggState *node, TbSetFold *fold, TupleTableSlot *slot)
{
	ExprContext *econtext = node->css.ss.ps.ps_ExprContext;
	uint32		 row = node->cursor.next_row++;
	const char	*why;

	/* Its keys, unless a filter drops it. */
	ResetExprContext(econtext);
	if (!complete_keys(node, slot, row))
		return true;
	/* Into the sets that lack a key. */
	if (!tb_set_fold_add(fold, node->cursor.batch, row, slot->tts_values, slot->tts_isnull,
						 &why))
	{
		give_up_on_value(node, why);
		return false;
	}
	/* A row of each set that has all. */
	for (int number = 0;; number++)
	{
		MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
		bool		  more = tb_set_fold_whole_row(fold, number, node->cursor.batch, row,
												   slot->tts_values, slot->tts_isnull);

		MemoryContextSwitchTo(old);
		if (!more)
			return true;
		slot->tts_isnull[node->cursor.noutputs] = true; /* the notes of the plan */
		keep_row(node, ExecStoreVirtualTuple(slot));
	}
}

/* Rows of the other sets, after the last group. */
static bool
keep_folded(TbPreAggState *node, TbSetFold *fold, TupleTableSlot *slot)
{
	ExprContext *econtext = node->css.ss.ps.ps_ExprContext;

	for (;;)
	{
		MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
		const char	 *why;
		bool more = tb_set_fold_next(fold, slot->tts_values, slot->tts_isnull, &why);

		MemoryContextSwitchTo(old);
		if (why != NULL)
			give_up_on_value(node, why);
		if (!more)
			return why == NULL;
		slot->tts_isnull[node->cursor.noutputs] = true;
		keep_row(node, ExecStoreVirtualTuple(slot));
	}
}

/* All groups into node->checked; false, having fallen back, if PostgreSQL must
 * say how one prints, or fold grouping sets. */
static bool
check_groups(TbPreAggState *node, TupleTableSlot *slot)
{
	TbRunCursor	 *cursor = &node->cursor;
	TbSetFold	 *fold = NULL;
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);

	/* Nothing has been returned: PostgreSQL's plan may still begin. */
	Assert(node->checked == NULL && !cursor->returned_row);
	node->checked = tuplestore_begin_heap(false, false, work_mem);
	if (node->checked_slot == NULL)
		node->checked_slot = ExecInitExtraTupleSlot(node->css.ss.ps.state,
													slot->tts_tupleDescriptor,
													&TTSOpsMinimalTuple);
	if (node->folds)
		fold = tb_set_fold_begin(&node->css.ss.ps, node->sets, node->program,
								 cursor->outputs, cursor->noutputs,
								 slot->tts_tupleDescriptor);
	MemoryContextSwitchTo(old);
	/* Look at each group. */
	while (tb_run_cursor_advance(cursor))
	{
		CHECK_FOR_INTERRUPTS();
		if (!tb_final_is_unambiguous(cursor->outputs, cursor->noutputs, cursor->batch,
									 cursor->next_row))
		{
			give_up_on_value(node, TB_SCALES_DIFFER);
			break;
		}
		if (fold == NULL)
			keep_row(node, store_group(node, slot));
		else if (!fold_group(node, fold, slot))
			break;
	}
	cursor->finished = true;
	/* A filter may have dropped the last group. */
	ExecClearTuple(slot);
	/* The other sets. */
	if (fold != NULL)
	{
		if (!cursor->falling_back)
			(void) keep_folded(node, fold, slot);
		tb_set_fold_end(fold);
	}
	return !cursor->falling_back;
}

static bool
next_checked(TbPreAggState *node, TupleTableSlot *slot)
{
	if (!tuplestore_gettupleslot(node->checked, true, false, node->checked_slot))
		return false;
	ExecCopySlot(slot, node->checked_slot);
	node->cursor.returned_row = true;
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

/* Without keys there is a row even of no input. `set`: which of them; -1: of none. */
static TupleTableSlot *
store_empty(TbPreAggState *node, int set, TupleTableSlot *slot)
{
	TbRunCursor *cursor = &node->cursor;

	Assert(!cursor->falling_back);
	tb_final_empty(cursor->outputs, cursor->noutputs, node->returned, slot->tts_values,
				   slot->tts_isnull);
	if (set >= 0)
		tb_grouping_values(node->sets, set, cursor->outputs, cursor->noutputs,
						   slot->tts_values, slot->tts_isnull);
	slot->tts_isnull[cursor->noutputs] = true;
	return ExecStoreVirtualTuple(slot);
}

/* After the last group, if there was none. */
static TupleTableSlot *
next_empty(TbPreAggState *node, TupleTableSlot *slot)
{
	if (node->sets != NULL)
	{
		while (node->next_empty_set < node->sets->nsets)
			if (node->sets->sets[node->next_empty_set++] == 0)
				return store_empty(node, node->next_empty_set - 1, slot);
		return slot;
	}
	if (node->returned->keys.count > 0 || node->next_empty_set++ > 0)
		return slot;
	return store_empty(node, -1, slot);
}

static TupleTableSlot *
next_group(ScanState *ss)
{
	TbPreAggState  *node = (TbPreAggState *) ss;
	TbRunCursor	   *cursor = &node->cursor;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;

	/* Must all be looked at first? */
	ExecClearTuple(slot);
	if (!cursor->falling_back && node->checked == NULL &&
		(node->folds ||
		 (!cursor->finished &&
		  tb_final_may_be_ambiguous(cursor->outputs, cursor->noutputs))))
	{
		if (!check_groups(node, slot))
			return slot;
	}
	/* Kept groups, then those that come. */
	if (node->checked != NULL && !cursor->falling_back && next_checked(node, slot))
		return slot;
	if (tb_run_cursor_advance(cursor))
	{
		cursor->returned_row = true;
		return store_group(node, slot);
	}
	/* There was none. */
	if (cursor->finished && !cursor->returned_row && !node->folds && !cursor->falling_back)
		return next_empty(node, slot);
	return slot;
}

static bool
recheck(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
next_tuple(CustomScanState *css)
{
	TbRunCursor	   *cursor = &((TbPreAggState *) css)->cursor;
	TupleTableSlot *slot;

	if (!cursor->started && ((TbPreAggState *) css)->planned != NULL)
		tb_estimate_bind_params(((TbPreAggState *) css)->planned, cursor->run->result,
								&css->ss.ps);
	tb_run_cursor_start(cursor);
	if (!cursor->falling_back)
	{
		slot = ExecScan(&css->ss, (ExecScanAccessMtd) next_group,
						(ExecScanRecheckMtd) recheck);
		if (!cursor->falling_back)
			return slot;
	}
	return tb_run_cursor_kept_tuple(cursor);
}

static TupleTableSlot *
exec_preagg(CustomScanState *css)
{
	TbRunCursor	   *cursor = &((TbPreAggState *) css)->cursor;
	TupleTableSlot *slot;

	tb_run_cursor_enter(cursor);
	slot = next_tuple(css);
	tb_run_cursor_leave(cursor);
	return slot;
}

static void
end_preagg(CustomScanState *css)
{
	TbPreAggState *node = (TbPreAggState *) css;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	forget_checked(node);
	tb_run_cursor_close(&node->cursor);
}

static void
rescan(CustomScanState *css)
{
	TbPreAggState *node = (TbPreAggState *) css;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	forget_checked(node);
	node->next_empty_set = 0;
	tb_run_cursor_rescan(&node->cursor);
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
	TbPreAggState *node = (TbPreAggState *) newNode(sizeof(TbPreAggState),
													T_CustomScanState);

	node->css.methods = &exec_methods;
	return (Node *) node;
}
