/*
 * plan_private.c - packs and unpacks custom_private.
 *
 * Bytes travel as bytea constants, which PostgreSQL copies and prints like any
 * other.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "utils/builtins.h"

#include "pg/nodes/plan_private.h"

/* A stage's list. */
typedef enum TbPrivateStage
{
	TB_STAGE_INFO,					/* Const, bytea: TbStageInfo */
	TB_STAGE_PROGRAM,				/* Const, bytea */
	TB_STAGE_SOURCE,				/* Const, bytea: int32[], the source's columns */
	TB_STAGE_COUNT
} TbPrivateStage;

/* No expression of a query has this as the name of a field of a ROW(). */
#define NOTES_MARK "pg_turbine stages"

static Const *
bytes_node(const void *bytes, Size size)
{
	bytea	   *value = palloc(VARHDRSZ + size);

	SET_VARSIZE(value, VARHDRSZ + size);
	if (size > 0)
		memcpy(VARDATA(value), bytes, size);
	return makeConst(BYTEAOID, -1, InvalidOid, -1, PointerGetDatum(value),
					 false, false);
}

static void *
node_bytes(const List *list, int index, Size *size)
{
	Const	   *node = list_nth_node(Const, list, index);
	bytea	   *value = DatumGetByteaPP(node->constvalue);
	void	   *copy;

	*size = VARSIZE_ANY_EXHDR(value);
	copy = palloc(Max(*size, 1));
	memcpy(copy, VARDATA_ANY(value), *size);
	return copy;
}

List *
tb_stage_relids(List *stages)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, stages)
		result = lappend_oid(result, ((TbStage *) lfirst(lc))->info.relid);
	return result;
}

static Const *
source_columns_node(const TbStage *stage)
{
	int			count = list_length(stage->source_columns);
	int32	   *columns = palloc(sizeof(int32) * Max(count, 1));

	for (int i = 0; i < count; i++)
		columns[i] = list_nth_int(stage->source_columns, i);
	return bytes_node(columns, sizeof(int32) * count);
}

List *
tb_private_make(List *stages, double groups, const void *outputs, Size outputs_size)
{
	List	   *result = list_make1(tb_stage_relids(stages));
	List	   *packed = NIL;
	ListCell   *lc;

	foreach(lc, stages)
	{
		TbStage    *stage = lfirst(lc);

		packed = lappend(packed, list_make3(bytes_node(&stage->info, sizeof(stage->info)),
											bytes_node(stage->program,
													   stage->program->total_size),
											source_columns_node(stage)));
	}
	result = lappend(result, packed);
	result = lappend(result, bytes_node(&groups, sizeof(groups)));
	result = lappend(result, bytes_node(outputs, outputs_size));
	result = lappend(result, bytes_node(NULL, 0));
	return result;
}

void
tb_private_set_result(List *custom_private, const TbResultPlan *result)
{
	lfirst(list_nth_cell(custom_private, TB_PRIVATE_RESULT)) =
		bytes_node(result, result->total_size);
}

List *
tb_stages_of_program(Oid relid, const TbProgram *program, const TbWork *work)
{
	TbStage    *stage = palloc0(sizeof(TbStage));

	stage->info.relid = relid;
	stage->info.source_plan = -1;
	stage->info.needed = true;
	stage->info.work = *work;
	stage->program = unconstify(TbProgram *, program);
	return list_make1(stage);
}

List *
tb_private_relids(const CustomScan *plan)
{
	if (list_length(plan->custom_private) != TB_PRIVATE_COUNT ||
		!IsA(linitial(plan->custom_private), OidList))
		return NIL;
	return linitial(plan->custom_private);
}

static List *
stage_list(const CustomScan *plan, int stage)
{
	return list_nth(list_nth(plan->custom_private, TB_PRIVATE_STAGES), stage);
}

int
tb_private_nstages(const CustomScan *plan)
{
	return list_length(list_nth(plan->custom_private, TB_PRIVATE_STAGES));
}

TbProgram *
tb_private_program(const CustomScan *plan, int stage)
{
	Size		size;

	return node_bytes(stage_list(plan, stage), TB_STAGE_PROGRAM, &size);
}

TbStageInfo
tb_private_stage(const CustomScan *plan, int stage)
{
	Size		size;

	return *(TbStageInfo *) node_bytes(stage_list(plan, stage), TB_STAGE_INFO, &size);
}

int32 *
tb_private_source_columns(const CustomScan *plan, int stage)
{
	Size		size;

	return node_bytes(stage_list(plan, stage), TB_STAGE_SOURCE, &size);
}

double
tb_private_groups(const CustomScan *plan)
{
	Size		size;

	return *(double *) node_bytes(plan->custom_private, TB_PRIVATE_GROUPS, &size);
}

void *
tb_private_outputs(const CustomScan *plan, Size *size)
{
	return node_bytes(plan->custom_private, TB_PRIVATE_OUTPUTS, size);
}

TbResultPlan *
tb_private_result(const CustomScan *plan)
{
	Size		size;
	void	   *bytes = node_bytes(plan->custom_private, TB_PRIVATE_RESULT, &size);

	return size > 0 ? bytes : NULL;
}

List *
tb_stage_params(List *stages)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, stages)
		result = lappend(result, ((TbStage *) lfirst(lc))->params);
	return result;
}

/* A stage: the reference, the filters, then keys and others of each join. */
static List *
stage_notes(const TbStage *stage)
{
	List	   *result = list_make2(stage->reference, stage->filters);
	ListCell   *lc;

	foreach(lc, stage->joins)
	{
		TbStageJoin *join = lfirst(lc);

		result = lappend(result, join->keys);
		result = lappend(result, join->others);
	}
	return result;
}

TargetEntry *
tb_stage_notes(List *stages, AttrNumber resno)
{
	RowExpr    *row = makeNode(RowExpr);
	ListCell   *lc;

	row->row_typeid = RECORDOID;
	row->row_format = COERCE_EXPLICIT_CALL;
	row->colnames = list_make1(makeString(NOTES_MARK));
	row->location = -1;
	foreach(lc, stages)
		row->args = lappend(row->args, stage_notes(lfirst(lc)));
	return makeTargetEntry((Expr *) row, resno, NULL, true);
}

TbStageNotes
tb_private_notes(const CustomScan *plan, int stage)
{
	TargetEntry *entry = llast_node(TargetEntry, plan->custom_scan_tlist);
	List	   *packed = list_nth(castNode(RowExpr, entry->expr)->args, stage);
	TbStageNotes notes = {0};

	notes.rti = linitial_node(Var, packed)->varno;
	notes.filters = lsecond(packed);
	for (int i = 2; i + 1 < list_length(packed); i += 2)
	{
		TbStageJoin *join = palloc(sizeof(TbStageJoin));

		join->keys = list_nth(packed, i);
		join->others = list_nth(packed, i + 1);
		notes.joins = lappend(notes.joins, join);
	}
	return notes;
}
