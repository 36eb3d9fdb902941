/*
 * exec.c - GpuDistinct: runs the parts of each set and returns their joined groups.
 *
 * Phases:
 *   begin        the child plans, one a part and set, are initialized
 *   first fetch  the parts of the first set run, each to its end; their groups are joined
 *   fetches      a joined group becomes a tuple of the scan slot, on which ExecScan
 *                evaluates HAVING and the target list. After the last one the next set
 *                begins
 *
 * Each part has PostgreSQL's plan for the same as its own child. So a part that a device
 * cannot finish is computed by PostgreSQL, and the others are not: this node never falls
 * back.
 *
 * All parts group the same rows by the same keys under one snapshot, so they return the
 * same groups. That is why plan.c must not offer the node over what differs from one scan
 * to the next.
 *
 * Owns the children's states and the joined groups of one set. Called by the executor.
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"

#include "pg/nodes/distinct/gpu_distinct.h"
#include "pg/plans/our_nodes.h"
#include "pg/stage/explain.h"

/* ---- The plan ---- */

static TbGroupKeys
unpack_keys(const List *keys, const List *private)
{
	const List *equal = list_nth(private, TB_DISTINCT_EQUAL);
	const List *less = list_nth(private, TB_DISTINCT_LESS);
	TbGroupKeys result = {.count = list_length(keys)};
	ListCell   *lc;

	result.hashable = linitial_int((const List *) list_nth(private, TB_DISTINCT_HASHABLE));
	result.columns = palloc(sizeof(AttrNumber) * Max(result.count, 1));
	result.equal = palloc(sizeof(Oid) * Max(result.count, 1));
	result.less = palloc(sizeof(Oid) * Max(result.count, 1));
	foreach(lc, keys)
	{
		int number = foreach_current_index(lc);

		result.columns[number] = lfirst_int(lc) + 1;
		result.equal[number] = list_nth_oid(equal, lfirst_int(lc));
		result.less[number] = list_nth_oid(less, lfirst_int(lc));
	}
	return result;
}

static AttrNumber *
unpack_columns(const List *columns)
{
	AttrNumber *result = palloc(sizeof(AttrNumber) * Max(list_length(columns), 1));
	ListCell   *lc;

	foreach(lc, columns)
		result[foreach_current_index(lc)] = lfirst_int(lc);
	return result;
}

static void
begin_distinct(CustomScanState *css, EState *estate, int eflags)
{
	TbDistinctState	 *node = (TbDistinctState *) css;
	const CustomScan *plan = (const CustomScan *) css->ss.ps.plan;
	const List		 *columns = list_nth(plan->custom_private, TB_DISTINCT_COLUMNS);
	const List		 *sets = list_nth(plan->custom_private, TB_DISTINCT_SETS);
	ListCell		 *lc;

	/* What is joined, and by what. */
	node->nsets = list_length(sets);
	node->nparts = list_length(plan->custom_plans) / node->nsets;
	node->keys = palloc(sizeof(TbGroupKeys) * node->nsets);
	foreach(lc, sets)
		node->keys[foreach_current_index(lc)] = unpack_keys(lfirst(lc),
															plan->custom_private);
	node->columns = palloc(sizeof(AttrNumber *) * list_length(columns));
	foreach(lc, columns)
		node->columns[foreach_current_index(lc)] = unpack_columns(lfirst(lc));
	node->functions = list_nth(plan->custom_private, TB_DISTINCT_FUNCTIONS);
	node->set = -1;
	node->row = ExecInitExtraTupleSlot(estate,
									   css->ss.ss_ScanTupleSlot->tts_tupleDescriptor,
									   &TTSOpsVirtual);
	/* The parts. */
	foreach(lc, plan->custom_plans)
		css->custom_ps = lappend(css->custom_ps, ExecInitNode(lfirst(lc), estate, eflags));
}

/* ---- The run ---- */

/* The part's row as one of the scan tuple: what it does not have is NULL. */
static TupleTableSlot *
row_of_part(TbDistinctState *node, int child, TupleTableSlot *from)
{
	TupleTableSlot *row = node->row;

	ExecClearTuple(row);
	memset(row->tts_isnull, true, sizeof(bool) * row->tts_tupleDescriptor->natts);
	slot_getallattrs(from);
	for (int i = 0; i < from->tts_tupleDescriptor->natts; i++)
	{
		int column = node->columns[child][i] - 1;

		row->tts_values[column] = from->tts_values[i];
		row->tts_isnull[column] = from->tts_isnull[i];
	}
	return ExecStoreVirtualTuple(row);
}

/* Runs the parts of the next set, and joins their groups. */
static void
join_next_set(TbDistinctState *node)
{
	TupleDesc	  desc = node->row->tts_tupleDescriptor;
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);

	node->set++;
	node->groups = tb_joined_groups_begin(&node->css.ss.ps, desc, &node->keys[node->set]);
	MemoryContextSwitchTo(old);
	for (int part = 0; part < node->nparts; part++)
	{
		int				child = node->set * node->nparts + part;
		PlanState	   *plan = list_nth(node->css.custom_ps, child);
		TupleTableSlot *slot = ExecProcNode(plan);

		while (!TupIsNull(slot))
		{
			CHECK_FOR_INTERRUPTS();
			tb_joined_groups_add(node->groups, row_of_part(node, child, slot));
			slot = ExecProcNode(plan);
		}
	}
	node->sorted = node->sorted || tb_joined_groups_are_sorted(node->groups);
	ExecClearTuple(node->row);
}

static void
forget_groups(TbDistinctState *node)
{
	if (node->groups != NULL)
		tb_joined_groups_end(node->groups);
	node->groups = NULL;
}

/* GROUPING() stands at the end of the tuple. */
static void
set_functions(const TbDistinctState *node, TupleTableSlot *slot)
{
	const List *values = list_nth(node->functions, node->set);
	int			first = slot->tts_tupleDescriptor->natts - list_length(values);
	ListCell   *lc;

	foreach(lc, values)
	{
		slot->tts_values[first + foreach_current_index(lc)] = Int32GetDatum(lfirst_int(lc));
		slot->tts_isnull[first + foreach_current_index(lc)] = false;
	}
}

static TupleTableSlot *
next_joined(ScanState *ss)
{
	TbDistinctState *node = (TbDistinctState *) ss;
	TupleTableSlot	*slot = ss->ss_ScanTupleSlot;

	ExecClearTuple(slot);
	for (;;)
	{
		if (node->groups == NULL)
		{
			if (node->set + 1 >= node->nsets)
				return slot;
			join_next_set(node);
		}
		if (tb_joined_groups_next(node->groups, slot))
		{
			node->joined++;
			set_functions(node, slot);
			return ExecStoreVirtualTuple(slot);
		}
		forget_groups(node);
	}
}

static bool
recheck_joined(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
exec_distinct(CustomScanState *css)
{
	return ExecScan(&css->ss, (ExecScanAccessMtd) next_joined,
					(ExecScanRecheckMtd) recheck_joined);
}

static void
end_distinct(CustomScanState *css)
{
	TbDistinctState *node = (TbDistinctState *) css;
	ListCell		*lc;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	forget_groups(node);
	foreach(lc, css->custom_ps)
		ExecEndNode(lfirst(lc));
}

static void
rescan_distinct(CustomScanState *css)
{
	TbDistinctState *node = (TbDistinctState *) css;
	ListCell		*lc;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	forget_groups(node);
	node->set = -1;
	foreach(lc, css->custom_ps)
	{
		PlanState *child = lfirst(lc);

		if (css->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(child, css->ss.ps.chgParam);
		ExecReScan(child);
	}
	ExecScanReScan(&css->ss);
}

/* ---- EXPLAIN ---- */

/* The keys of a set, as the scan tuple has them. */
static List *
key_exprs_of_set(const TbDistinctState *node, int set)
{
	const CustomScan  *plan = (const CustomScan *) node->css.ss.ps.plan;
	const TbGroupKeys *keys = &node->keys[set];
	List			  *exprs = NIL;

	for (int key = 0; key < keys->count; key++)
		exprs = lappend(exprs,
						list_nth_node(TargetEntry, plan->custom_scan_tlist,
									  keys->columns[key] - 1)
							->expr);
	return exprs;
}

/* A list of keys for each set, as PostgreSQL shows them. */
static void
explain_joined_sets(TbDistinctState *node, List *ancestors, ExplainState *es)
{
	ExplainOpenGroup("Grouping Sets", "Grouping Sets", false, es);
	for (int set = 0; set < node->nsets; set++)
	{
		List *texts = tb_explain_texts(key_exprs_of_set(node, set), &node->css.ss.ps,
									   ancestors, es);

		if (texts == NIL && es->format == EXPLAIN_FORMAT_TEXT)
			ExplainPropertyText("Joined By", "()", es);
		else
			ExplainPropertyListNested("Joined By", texts, es);
	}
	ExplainCloseGroup("Grouping Sets", "Grouping Sets", false, es);
}

/* By what groups are joined; the parts below say the rest. */
static void
explain_distinct(CustomScanState *css, List *ancestors, ExplainState *es)
{
	TbDistinctState *node = (TbDistinctState *) css;

	if (node->nsets > 1)
		explain_joined_sets(node, ancestors, es);
	else
		tb_explain_list("Joined By", key_exprs_of_set(node, 0), &css->ss.ps, ancestors, es);
	ExplainPropertyInteger("Parts", NULL, node->nparts, es);
	if (!es->analyze)
		return;
	ExplainPropertyUInteger("Joined Groups", NULL, node->joined, es);
	ExplainPropertyText("Groups Joined", node->sorted ? "by sorting" : "in memory", es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = TB_GPU_DISTINCT_NAME,
	.BeginCustomScan = begin_distinct,
	.ExecCustomScan = exec_distinct,
	.EndCustomScan = end_distinct,
	.ReScanCustomScan = rescan_distinct,
	.ExplainCustomScan = explain_distinct,
};

Node *
tb_gpu_distinct_create_state(CustomScan *plan)
{
	TbDistinctState *node = (TbDistinctState *) newNode(sizeof(TbDistinctState),
														T_CustomScanState);

	node->css.methods = &exec_methods;
	return (Node *) node;
}
