/*
 * numbers_input.c - the numbers from 1 to n as a foreign table with one column, of type
 * integer: the smallest input whose bytes the service makes, which tests keep as the proof
 * of what a new input needs. Linked into the module of test/new_input.py alone.
 *
 * Owns an input, its source, and a foreign-data wrapper for PostgreSQL's own plan. Called
 * through their methods.
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "executor/executor.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "utils/rel.h"

#include "pg/compat/pg18.h"
#include "pg/planner/foreign_inputs.h"

extern PGDLLEXPORT Datum turbine_numbers_fdw_handler(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(turbine_numbers_fdw_handler);

/* The table's option. */
static int64
count_of(Oid relid)
{
	ListCell *lc;

	foreach(lc, GetForeignTable(relid)->options)
		if (strcmp(lfirst_node(DefElem, lc)->defname, "n") == 0)
			return strtol(defGetString(lfirst(lc)), NULL, 10);
	return 0;
}

/* ---- the input ---- */

typedef struct NumbersInput
{
	TbInput base;
	int64	count;
} NumbersInput;

typedef struct NumbersSource
{
	TbSource base;
	int64	 count;
} NumbersSource;

static bool
numbers_announce(TbSource *source, TbServiceQuery *query, TbInputSize *size)
{
	return true;
}

static bool
numbers_begin(TbSource *source, TbServiceQuery *query, TbSlots *slots)
{
	TbPart		  kind = {.kind = TB_PART_NUMBERS};
	TbNumbersPart part = {.count = ((NumbersSource *) source)->count};
	struct iovec  parts[] = {{.iov_base = &kind, .iov_len = sizeof(kind)},
							 {.iov_base = &part, .iov_len = sizeof(part)}};

	return tb_service_query_send_parts(query, TB_MSG_PART, parts, lengthof(parts), NULL, 0);
}

static TbSourceFill
numbers_fill(TbSource *source, int slot)
{
	return TB_FILL_NOTHING;
}

static const TbSourceMethods numbers_source_methods = {
	.announce = numbers_announce,
	.begin = numbers_begin,
	.fill = numbers_fill,
};

static bool
numbers_is_empty(const TbInput *input)
{
	return ((const NumbersInput *) input)->count == 0;
}

static bool
numbers_choose(TbInput *input)
{
	return !numbers_is_empty(input);
}

static bool
numbers_open(TbInput *input, const TbInputUse *use, List **sources, TbFailure *why)
{
	NumbersSource *source = palloc0(sizeof(NumbersSource));

	source->base.methods = &numbers_source_methods;
	source->count = ((NumbersInput *) input)->count;
	*sources = lappend(*sources, source);
	return true;
}

static const TbInputMethods numbers_input_methods = {
	.is_empty = numbers_is_empty,
	.choose = numbers_choose,
	.open = numbers_open,
};

static TbInput *
make_numbers_input(CustomScanState *css, Index rti, int eflags)
{
	NumbersInput *input = palloc0(sizeof(NumbersInput));

	input->base.methods = &numbers_input_methods;
	input->base.name = "numbers";
	input->base.rti = rti;
	input->count = count_of(exec_rt_fetch(rti, css->ss.ps.state)->relid);
	return &input->base;
}

__attribute__((constructor)) static void
register_numbers_input(void)
{
	tb_foreign_input_add(turbine_numbers_fdw_handler, make_numbers_input);
}

/* ---- PostgreSQL's own scan ---- */

static void
numbers_size(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	rel->tuples = (double) count_of(relid);
	rel->rows = clamp_row_est(
		rel->tuples *
		clauselist_selectivity(root, rel->baserestrictinfo, 0, JOIN_INNER, NULL));
}

static void
numbers_paths(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	add_path(rel, (Path *) TB_CREATE_FOREIGNSCAN_PATH(root, rel, 0, rel->tuples * 0.01));
}

static ForeignScan *
numbers_plan(PlannerInfo *root, RelOptInfo *rel, Oid relid, ForeignPath *path, List *tlist,
			 List *clauses, Plan *outer)
{
	return make_foreignscan(tlist, extract_actual_clauses(clauses, false), rel->relid, NIL,
							NIL, NIL, NIL, outer);
}

static void
numbers_begin_scan(ForeignScanState *node, int eflags)
{
	node->fdw_state = palloc0(sizeof(int64));
}

static TupleTableSlot *
numbers_iterate(ForeignScanState *node)
{
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	int64		   *last = node->fdw_state;

	ExecClearTuple(slot);
	if (*last == count_of(RelationGetRelid(node->ss.ss_currentRelation)))
		return slot;
	(*last)++;
	slot->tts_values[0] = Int32GetDatum((int32) *last);
	slot->tts_isnull[0] = false;
	return ExecStoreVirtualTuple(slot);
}

static void
numbers_rescan(ForeignScanState *node)
{
	*(int64 *) node->fdw_state = 0;
}

static void
numbers_end_scan(ForeignScanState *node)
{
}

Datum
turbine_numbers_fdw_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	routine->GetForeignRelSize = numbers_size;
	routine->GetForeignPaths = numbers_paths;
	routine->GetForeignPlan = numbers_plan;
	routine->BeginForeignScan = numbers_begin_scan;
	routine->IterateForeignScan = numbers_iterate;
	routine->ReScanForeignScan = numbers_rescan;
	routine->EndForeignScan = numbers_end_scan;
	PG_RETURN_POINTER(routine);
}
