/*
 * arrow_fdw.c - the foreign data wrapper arrow_fdw: its SQL functions, and its scans.
 *
 * arrow_fdw reads Arrow and Parquet files and adds rows to Arrow files. It needs no
 * service: a backend has them read by turbine-file-reader (pg/files) and written by
 * turbine-file-writer (pg/export). Called by PostgreSQL for foreign tables of arrow_fdw.
 *
 * Planning. The files are listed and described when a query is planned, for their rows and
 * bytes, and again when it runs. Selectivities are PostgreSQL's, from the statistics of
 * ANALYZE.
 *
 * Running. Owns, for one node, the file table, the scan over it (file_scan.h) and the
 * states of the bounds' expressions. Filters stay with PostgreSQL's node.
 */
#include "postgres.h"

#include <math.h>

#include "access/reloptions.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/compat/pg18.h"
#include "pg/fdw/arrow_fdw.h"
#include "pg/fdw/file_scan.h"
#include "pg/fdw/scan_bounds.h"
#include "pg/fdw/virtual_value.h"
#include "pg/files/file_options.h"
#include "pg/files/file_table.h"

extern PGDLLEXPORT Datum turbine_arrow_fdw_handler(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_arrow_fdw_validator(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(turbine_arrow_fdw_handler);
PG_FUNCTION_INFO_V1(turbine_arrow_fdw_validator);

/* Starting a reader, in units of seq_page_cost: it loads libraries of 60 MB. */
#define START_COST 100.0

/* Decoding and forming one value, in units of cpu_operator_cost. */
#define VALUE_COST 4.0

/* attnums of columns that the query refers to; 0 for whole rows. */
static Bitmapset *
referenced_columns(RelOptInfo *baserel)
{
	Bitmapset *offset = NULL;
	Bitmapset *attnums = NULL;
	ListCell  *cell;
	int		   member = -1;

	pull_varattnos((Node *) baserel->reltarget->exprs, baserel->relid, &offset);
	foreach(cell, baserel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, cell)->clause, baserel->relid,
					   &offset);
	while ((member = bms_next_member(offset, member)) >= 0)
	{
		int attnum = member + FirstLowInvalidHeapAttributeNumber;

		if (attnum >= 0)
			attnums = bms_add_member(attnums, attnum);
	}
	return attnums;
}

/* Bytes in files of the columns that are read. */
static double
column_bytes(const TbFileTable *table, const Bitmapset *attnums)
{
	bool   all = bms_is_member(0, attnums);
	double bytes = 0;

	for (int i = 0; i < table->nfiles; i++)
	{
		const TbTableFile *file = &table->files[i];

		for (int column = 0; column < table->ncolumns; column++)
		{
			if (file->file_columns[column] >= 0 &&
				(all || bms_is_member(column + 1, attnums)))
				bytes += file->description->column_bytes[file->file_columns[column]];
		}
	}
	return bytes;
}

static void
set_rel_size(PlannerInfo *root, RelOptInfo *baserel, Oid relid)
{
	TbFileTable *table = tb_file_table(relid);

	baserel->fdw_private = table;
	baserel->tuples = table->nrows;
	baserel->pages = ceil(column_bytes(table, referenced_columns(baserel)) / BLCKSZ);
	set_baserel_size_estimates(root, baserel);
}

static void
add_paths(PlannerInfo *root, RelOptInfo *baserel, Oid relid)
{
	const TbFileTable *table = baserel->fdw_private;
	Bitmapset		  *attnums = referenced_columns(baserel);
	int	 ncolumns = bms_is_member(0, attnums) ? table->ncolumns : bms_num_members(attnums);
	Cost startup = START_COST * seq_page_cost + baserel->baserestrictcost.startup;
	Cost run = column_bytes(table, attnums) / BLCKSZ * seq_page_cost;

	run += table->nrows *
		(cpu_tuple_cost + VALUE_COST * cpu_operator_cost * ncolumns +
		 baserel->baserestrictcost.per_tuple);
	startup += baserel->reltarget->cost.startup;
	run += baserel->reltarget->cost.per_tuple * baserel->rows;
	add_path(baserel,
			 (Path *) TB_CREATE_FOREIGNSCAN_PATH(root, baserel, startup, startup + run));
}

static ForeignScan *
plan_scan(PlannerInfo *root, RelOptInfo *baserel, Oid relid, ForeignPath *best_path,
		  List *tlist, List *scan_clauses, Plan *outer_plan)
{
	List		  *clauses = extract_actual_clauses(scan_clauses, false);
	TbBoundClauses bounds = tb_bound_clauses(clauses, baserel->relid);
	Bitmapset	  *attnums = referenced_columns(baserel);
	List		  *columns = NIL;
	int			   attnum = -1;

	while ((attnum = bms_next_member(attnums, attnum)) >= 0)
		columns = lappend_int(columns, attnum);
	return make_foreignscan(tlist, clauses, baserel->relid,
							list_make2(bounds.values,
									   tb_file_filters(clauses, baserel->relid,
													   baserel->fdw_private)),
							list_make3(columns, bounds.attnums, bounds.compares), NIL, NIL,
							outer_plan);
}

/* ForeignScan.fdw_private; fdw_exprs are two lists: the values of bounds, and filters of
 * files. */
typedef enum PrivateItem
{
	ARROW_ATTNUMS,		  /* int: columns that the query refers to; 0: all */
	ARROW_BOUND_ATTNUMS,  /* int */
	ARROW_BOUND_COMPARES, /* int */
	ARROW_PRIVATE_ITEMS
} PrivateItem;

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

static void
begin_scan(ForeignScanState *node, int eflags)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	ArrowScan	*state = palloc0(sizeof(ArrowScan));

	Assert(list_length(plan->fdw_private) == ARROW_PRIVATE_ITEMS);
	node->fdw_state = state;
	state->table = tb_file_table_to_read(RelationGetRelid(node->ss.ss_currentRelation));
	state->attnums = bitmapset_of(list_nth(plan->fdw_private, ARROW_ATTNUMS));
	state->clauses.attnums = list_nth(plan->fdw_private, ARROW_BOUND_ATTNUMS);
	state->clauses.compares = list_nth(plan->fdw_private, ARROW_BOUND_COMPARES);
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

static TupleTableSlot *
next_row(ForeignScanState *node)
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

static void
rescan(ForeignScanState *node)
{
	ArrowScan *state = node->fdw_state;

	if (state->scan != NULL)
		tb_file_scan_restart(state->scan, current_bounds(node));
}

static void
end_scan(ForeignScanState *node)
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

static void
explain_scan(ForeignScanState *node, ExplainState *es)
{
	const ArrowScan *state = node->fdw_state;
	int64			 batches = 0;
	uint64			 bytes = 0;

	/* Totals of all files. */
	for (int i = 0; i < state->table->nfiles; i++)
	{
		batches += state->table->files[i].description->nbatches;
		bytes += state->table->files[i].identity.size;
	}
	ExplainPropertyInteger("Files", NULL, state->table->nfiles, es);
	/* Files that the filters excluded. */
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
	/* Batches: counted, or known beforehand. */
	if (es->analyze && state->scan != NULL)
	{
		TbFileScanCounters counters = tb_file_scan_counters(state->scan);

		ExplainPropertyInteger("Batches Read", NULL, counters.batches_read, es);
		ExplainPropertyInteger("Batches Skipped", NULL, counters.batches_skipped, es);
	}
	else
		ExplainPropertyInteger("Batches", NULL, batches, es);
}

Datum
turbine_arrow_fdw_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	routine->GetForeignRelSize = set_rel_size;
	routine->GetForeignPaths = add_paths;
	routine->GetForeignPlan = plan_scan;
	routine->BeginForeignScan = begin_scan;
	routine->IterateForeignScan = next_row;
	routine->ReScanForeignScan = rescan;
	routine->EndForeignScan = end_scan;
	routine->ExplainForeignScan = explain_scan;
	routine->AnalyzeForeignTable = tb_arrow_analyze;
	routine->ImportForeignSchema = tb_arrow_import;
	tb_arrow_add_modify(routine);
	PG_RETURN_POINTER(routine);
}

Datum
turbine_arrow_fdw_validator(PG_FUNCTION_ARGS)
{
	tb_file_options_validate(untransformRelOptions(PG_GETARG_DATUM(0)), PG_GETARG_OID(1));
	PG_RETURN_VOID();
}
