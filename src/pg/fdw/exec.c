/*
 * exec.c - runs and explains scans of arrow_fdw's foreign tables.
 *
 * Owns, for one node, the file table, the scan over it (file_scan.h) and the states of the
 * bounds' expressions. Filters stay with PostgreSQL's node.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/fdw/arrow_fdw.h"
#include "pg/fdw/file_scan.h"
#include "pg/fdw/virtual_value.h"

typedef struct ArrowScan
{
	TbFileTable	  *table;
	Bitmapset	  *attnums;
	TbBoundClauses clauses;
	List		  *expressions; /* states of clauses.values */
	List		  *filters;		/* of files */
	ExprState	  *filters_state;
	bool		  *wanted;		/* by file; NULL: not known yet */
	TbFileScan	  *scan;		/* NULL: no row was asked for yet */
	MemoryContext  bounds_context;
} ArrowScan;

static Bitmapset *
bitmapset_of(const List *numbers)
{
	Bitmapset	   *set = NULL;
	const ListCell *cell;

	foreach(cell, numbers)
		set = bms_add_member(set, lfirst_int(cell));
	return set;
}

void
tb_arrow_begin(ForeignScanState *node, int eflags)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	ArrowScan	*state = palloc0(sizeof(ArrowScan));

	Assert(list_length(plan->fdw_private) == TB_ARROW_PRIVATE_ITEMS);
	node->fdw_state = state;
	state->table = tb_file_table_to_read(RelationGetRelid(node->ss.ss_currentRelation));
	state->attnums = bitmapset_of(list_nth(plan->fdw_private, TB_ARROW_ATTNUMS));
	state->clauses.attnums = list_nth(plan->fdw_private, TB_ARROW_BOUND_ATTNUMS);
	state->clauses.compares = list_nth(plan->fdw_private, TB_ARROW_BOUND_COMPARES);
	state->clauses.values = linitial(plan->fdw_exprs);
	state->expressions = ExecInitExprList(state->clauses.values, (PlanState *) node);
	state->filters = lsecond(plan->fdw_exprs);
	state->filters_state = ExecInitQual(state->filters, (PlanState *) node);
	state->bounds_context = AllocSetContextCreate(CurrentMemoryContext, "bounds of a scan",
												  ALLOCSET_SMALL_SIZES);
}

/* The bounds as they are now. */
static List *
current_bounds(ForeignScanState *node)
{
	ArrowScan	 *state = node->fdw_state;
	MemoryContext saved;
	List		 *bounds;

	MemoryContextReset(state->bounds_context);
	saved = MemoryContextSwitchTo(state->bounds_context);
	bounds = tb_scan_bounds(&state->clauses, state->expressions, node->ss.ps.ps_ExprContext,
							RelationGetDescr(node->ss.ss_currentRelation));
	MemoryContextSwitchTo(saved);
	return bounds;
}

TupleTableSlot *
tb_arrow_next(ForeignScanState *node)
{
	ArrowScan	   *state = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	if (state->scan == NULL)
	{
		MemoryContext saved = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);

		state->wanted = tb_wanted_files(state->table, state->filters, state->filters_state,
										&node->ss);
		state->scan = tb_file_scan_begin(state->table, state->wanted,
										 RelationGetDescr(node->ss.ss_currentRelation),
										 state->attnums, current_bounds(node));
		MemoryContextSwitchTo(saved);
	}
	/* PostgreSQL's node has made the context of one tuple the current one. */
	if (tb_file_scan_next(state->scan, slot->tts_values, slot->tts_isnull))
		ExecStoreVirtualTuple(slot);
	return slot;
}

void
tb_arrow_rescan(ForeignScanState *node)
{
	ArrowScan *state = node->fdw_state;

	if (state->scan != NULL)
		tb_file_scan_restart(state->scan, current_bounds(node));
}

void
tb_arrow_end(ForeignScanState *node)
{
	ArrowScan *state = node->fdw_state;

	if (state != NULL && state->scan != NULL)
		tb_file_scan_end(state->scan);
}

static void
explain_columns(const ArrowScan *state, ExplainState *es)
{
	List *names = NIL;
	bool  all = bms_is_member(0, state->attnums);

	for (int i = 0; i < state->table->ncolumns; i++)
	{
		if (state->table->columns[i].name != NULL && !state->table->columns[i].is_virtual &&
			(all || bms_is_member(i + 1, state->attnums)))
			names = lappend(names, get_attname(state->table->relid, i + 1, false));
	}
	ExplainPropertyList("Columns", names, es);
}

void
tb_arrow_explain(ForeignScanState *node, ExplainState *es)
{
	const ArrowScan *state = node->fdw_state;
	int64			 batches = 0;
	uint64			 bytes = 0;

	for (int i = 0; i < state->table->nfiles; i++)
	{
		batches += state->table->files[i].description->nbatches;
		bytes += state->table->files[i].identity.size;
	}
	ExplainPropertyInteger("Files", NULL, state->table->nfiles, es);
	if (es->analyze && state->wanted != NULL && state->filters != NIL)
	{
		int skipped = 0;

		for (int i = 0; i < state->table->nfiles; i++)
			skipped += !state->wanted[i];
		ExplainPropertyInteger("Files Skipped", NULL, skipped, es);
	}
	if (state->table->nfiles == 1)
		ExplainPropertyText("File", state->table->files[0].path, es);
	ExplainPropertyInteger("Size", "kB", (bytes + 1023) / 1024, es);
	explain_columns(state, es);
	if (es->analyze && state->scan != NULL)
	{
		TbFileScanCounters counters = tb_file_scan_counters(state->scan);

		ExplainPropertyInteger("Batches Read", NULL, counters.batches_read, es);
		ExplainPropertyInteger("Batches Skipped", NULL, counters.batches_skipped, es);
	}
	else
		ExplainPropertyInteger("Batches", NULL, batches, es);
}
