/*
 * plan_private.c - packs and unpacks custom_private.
 *
 * Bytes travel as bytea constants, which PostgreSQL copies and prints like any
 * other.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "utils/builtins.h"

#include "pg/compat/pg16.h"
#include "pg/stage/plan_private.h"
#include "pg/planner/program/layout_program.h"

/* A stage's list. */
typedef enum TbPrivateStage
{
	TB_STAGE_INFO,		   /* Const, bytea: TbStageInfo */
	TB_STAGE_PROGRAM,	   /* Const, bytea */
	TB_STAGE_SOURCE,	   /* Const, bytea: int32[], the source's columns */
	TB_STAGE_LEAVES,	   /* Const, bytea: int32[], the leaves' layouts */
	TB_STAGE_LAYOUTS,	   /* a list a layout: Const, bytea, then Consts: its
							* program and parameters */
	TB_STAGE_LEAF_INDEXES, /* Const, bytea: int32[], the leaves' index scans */
	TB_STAGE_PRUNING_KEYS, /* a list a key: Const, bytea: TbPruningKey; Const,
							* bytea: AttrNumber[], the leaves' attnums */
	TB_STAGE_COUNT
} TbPrivateStage;

/* No expression of a query has this as the name of a field of a ROW(). */
#define NOTES_MARK "pg_turbine stages"

Const *
tb_bytes_node(const void *bytes, Size size)
{
	bytea *value = palloc(VARHDRSZ + size);

	SET_VARSIZE(value, VARHDRSZ + size);
	if (size > 0)
		memcpy(VARDATA(value), bytes, size);
	return makeConst(BYTEAOID, -1, InvalidOid, -1, PointerGetDatum(value), false, false);
}

void *
tb_node_bytes(const List *list, int index, Size *size)
{
	Const *node = list_nth_node(Const, list, index);
	bytea *value = DatumGetByteaPP(node->constvalue);
	void  *copy;

	*size = VARSIZE_ANY_EXHDR(value);
	copy = palloc(Max(*size, 1));
	memcpy(copy, VARDATA_ANY(value), *size);
	return copy;
}

List *
tb_stage_relids(List *stages)
{
	List	 *result = NIL;
	ListCell *lc;

	foreach(lc, stages)
		result = lappend_oid(result, ((TbStage *) lfirst(lc))->info.relid);
	return result;
}

static Const *
numbers_node(const List *list)
{
	int	   count = list_length(list);
	int32 *numbers = palloc(sizeof(int32) * Max(count, 1));

	for (int i = 0; i < count; i++)
		numbers[i] = list_nth_int(list, i);
	return tb_bytes_node(numbers, sizeof(int32) * count);
}

static List *
pack_layouts(const TbStage *stage)
{
	List	 *result = NIL;
	ListCell *lc;

	foreach(lc, stage->layouts)
	{
		const TbLayoutProgram *layout = lfirst(lc);

		result = lappend(result,
						 lcons(tb_bytes_node(layout->program, layout->program->total_size),
							   list_copy(layout->params)));
	}
	return result;
}

static Const *
leaf_attnums_node(const TbPartitions *partitions, AttrNumber attnum)
{
	int			nleaves = list_length(partitions->leaves);
	AttrNumber *attnums = palloc(sizeof(AttrNumber) * Max(nleaves, 1));

	for (int i = 0; i < nleaves; i++)
	{
		const TbLeaf *leaf = list_nth(partitions->leaves, i);

		Assert(attnum > 0 && attnum <= leaf->nattnums);
		attnums[i] = leaf->attnums[attnum - 1];
	}
	return tb_bytes_node(attnums, sizeof(AttrNumber) * nleaves);
}

static List *
pack_pruning_keys(const TbStage *stage)
{
	List	 *result = NIL;
	ListCell *lc;

	foreach(lc, stage->pruning_keys)
	{
		const TbPruningKey *key = lfirst(lc);

		result = lappend(result,
						 list_make2(tb_bytes_node(key, sizeof(*key)),
									leaf_attnums_node(stage->partitions, key->attnum)));
	}
	return result;
}

static List *
pack_stage(const TbStage *stage)
{
	List *result = list_make5(tb_bytes_node(&stage->info, sizeof(stage->info)),
							  tb_bytes_node(stage->program, stage->program->total_size),
							  numbers_node(stage->source_columns),
							  numbers_node(stage->leaf_layouts), pack_layouts(stage));

	result = lappend(result, numbers_node(stage->leaf_index_plans));
	result = lappend(result, pack_pruning_keys(stage));
	Assert(list_length(result) == TB_STAGE_COUNT);
	return result;
}

List *
tb_private_make(List *stages, double groups, const void *outputs, Size outputs_size)
{
	List	 *result = list_make1(tb_stage_relids(stages));
	List	 *packed = NIL;
	ListCell *lc;

	foreach(lc, stages)
		packed = lappend(packed, pack_stage(lfirst(lc)));
	result = lappend(result, packed);
	result = lappend(result, tb_bytes_node(&groups, sizeof(groups)));
	result = lappend(result, tb_bytes_node(outputs, outputs_size));
	result = lappend(result, NIL);
	result = lappend(result, tb_bytes_node(NULL, 0));
	result = lappend(result, NIL);
	Assert(list_length(result) == TB_PRIVATE_COUNT);
	return result;
}

void
tb_private_set_result(List *custom_private, const TbResultPlan *result)
{
	Assert(list_length(custom_private) == TB_PRIVATE_COUNT);
	lfirst(list_nth_cell(custom_private,
						 TB_PRIVATE_RESULT)) = tb_bytes_node(result, result->total_size);
}

void
tb_private_set_continuation(List *custom_private, const TbContinuationProgram *continuation)
{
	lfirst(list_nth_cell(custom_private, TB_PRIVATE_CONTINUATION)) =
		list_make5(tb_bytes_node(continuation->program, continuation->program->total_size),
				   tb_bytes_node(continuation->columns,
								 sizeof(uint32) * continuation->ncolumns),
				   tb_bytes_node(&continuation->groups, sizeof(double)),
				   tb_bytes_node(continuation->sets, sizeof(uint64) * continuation->nsets),
				   tb_bytes_node(continuation->result,
								 continuation->result != NULL ?
									 continuation->result->total_size :
									 0));
}

List *
tb_stages_of_program(Oid relid, const TbProgram *program, const TbWork *work,
					 int index_plan)
{
	TbStage *stage = palloc0(sizeof(TbStage));

	stage->info.relid = relid;
	stage->info.source_plan = -1;
	stage->info.index_plan = index_plan;
	stage->info.pruner = -1;
	stage->info.needed = true;
	stage->info.work = *work;
	stage->program = unconstify(TbProgram *, program);
	return list_make1(stage);
}

/* Below what PostgreSQL puts around a subquery. */
static CustomScan *
node_below(Plan *plan)
{
	while (!IsA(plan, CustomScan))
		plan = IsA(plan, SubqueryScan) ? ((SubqueryScan *) plan)->subplan : plan->lefttree;
	return (CustomScan *) plan;
}

CustomScan *
tb_stages_plan(const CustomScan *plan)
{
	if (list_nth(plan->custom_private, TB_PRIVATE_STAGES) != NIL)
		return unconstify(CustomScan *, plan);
	return node_below(lsecond(plan->custom_plans));
}

List *
tb_private_relids(const CustomScan *plan)
{
	if (list_length(plan->custom_private) != TB_PRIVATE_COUNT)
		return NIL;
	plan = tb_stages_plan(plan);
	return IsA(linitial(plan->custom_private), OidList) ? linitial(plan->custom_private) :
														  NIL;
}

static List *
stage_list(const CustomScan *plan, int stage)
{
	Assert(stage >= 0 && stage < tb_private_nstages(plan));
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
	Size	   size;
	TbProgram *program = tb_node_bytes(stage_list(plan, stage), TB_STAGE_PROGRAM, &size);

	Assert(size == program->total_size);
	return program;
}

TbStageInfo
tb_private_stage(const CustomScan *plan, int stage)
{
	Size		 size;
	TbStageInfo *info = tb_node_bytes(stage_list(plan, stage), TB_STAGE_INFO, &size);

	Assert(size == sizeof(TbStageInfo));
	return *info;
}

int32 *
tb_private_source_columns(const CustomScan *plan, int stage)
{
	Size size;

	return tb_node_bytes(stage_list(plan, stage), TB_STAGE_SOURCE, &size);
}

int32 *
tb_private_leaf_layouts(const CustomScan *plan, int stage)
{
	Size size;

	return tb_node_bytes(stage_list(plan, stage), TB_STAGE_LEAVES, &size);
}

int32 *
tb_private_leaf_indexes(const CustomScan *plan, int stage)
{
	Size   size;
	int32 *plans = tb_node_bytes(stage_list(plan, stage), TB_STAGE_LEAF_INDEXES, &size);

	return size > 0 ? plans : NULL;
}

int
tb_private_npruning_keys(const CustomScan *plan, int stage)
{
	return list_length(list_nth(stage_list(plan, stage), TB_STAGE_PRUNING_KEYS));
}

TbPruningKey
tb_private_pruning_key(const CustomScan *plan, int stage, int key,
					   AttrNumber **leaf_attnums)
{
	List *packed = list_nth(list_nth(stage_list(plan, stage), TB_STAGE_PRUNING_KEYS), key);
	Size  size;

	Assert(list_length(packed) == 2);
	*leaf_attnums = tb_node_bytes(packed, 1, &size);
	return *(TbPruningKey *) tb_node_bytes(packed, 0, &size);
}

int
tb_private_nlayouts(const CustomScan *plan, int stage)
{
	return list_length(list_nth(stage_list(plan, stage), TB_STAGE_LAYOUTS));
}

TbProgram *
tb_private_layout(const CustomScan *plan, int stage, int layout, List **params)
{
	List *packed = list_nth(list_nth(stage_list(plan, stage), TB_STAGE_LAYOUTS), layout);
	Size  size;

	*params = list_copy_tail(packed, 1);
	return tb_node_bytes(packed, 0, &size);
}

double
tb_private_groups(const CustomScan *plan)
{
	Size size;

	return *(double *) tb_node_bytes(plan->custom_private, TB_PRIVATE_GROUPS, &size);
}

void *
tb_private_outputs(const CustomScan *plan, Size *size)
{
	return tb_node_bytes(plan->custom_private, TB_PRIVATE_OUTPUTS, size);
}

TbResultPlan *
tb_private_result(const CustomScan *plan)
{
	Size  size;
	void *bytes = tb_node_bytes(plan->custom_private, TB_PRIVATE_RESULT, &size);

	return size > 0 ? bytes : NULL;
}

TbContinuationProgram *
tb_private_continuation(const CustomScan *plan)
{
	List				  *packed = list_nth(plan->custom_private, TB_PRIVATE_CONTINUATION);
	TbContinuationProgram *result;
	Size				   size;

	if (packed == NIL)
		return NULL;
	result = palloc0(sizeof(TbContinuationProgram));
	result->program = tb_node_bytes(packed, 0, &size);
	result->columns = tb_node_bytes(packed, 1, &size);
	result->ncolumns = size / sizeof(uint32);
	result->groups = *(double *) tb_node_bytes(packed, 2, &size);
	result->sets = tb_node_bytes(packed, 3, &size);
	result->nsets = size / sizeof(uint64);
	result->result = tb_node_bytes(packed, 4, &size);
	if (size == 0)
		result->result = NULL;
	return result;
}

List *
tb_stage_params(List *stages)
{
	List	 *result = NIL;
	ListCell *lc;

	foreach(lc, stages)
		result = lappend(result, ((TbStage *) lfirst(lc))->params);
	return result;
}

/* Any column will do: it tells which table it is after the planner has renumbered
 * them. */
static List *
leaf_references(const TbPartitions *partitions)
{
	List	 *result = NIL;
	ListCell *lc;

	if (partitions == NULL)
		return NIL;
	foreach(lc, partitions->leaves)
		result = lappend(result,
						 makeVar(((TbLeaf *) lfirst(lc))->rel->relid,
								 TableOidAttributeNumber, OIDOID, -1, InvalidOid, 0));
	return result;
}

/* A stage: the reference, the filters, the condition of its index scan, the leaves,
 * then keys and others of each join. */
static List *
stage_notes(const TbStage *stage)
{
	List	 *result = list_make4(stage->reference, stage->filters, stage->index_condition,
								  leaf_references(stage->partitions));
	ListCell *lc;

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
	RowExpr	 *row = makeNode(RowExpr);
	ListCell *lc;

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
	List		*packed = list_nth(castNode(RowExpr, entry->expr)->args, stage);
	TbStageNotes notes = {0};
	ListCell	*lc;

	Assert(list_length(packed) >= 4 && list_length(packed) % 2 == 0);
	notes.rti = linitial_node(Var, packed)->varno;
	notes.filters = lsecond(packed);
	notes.index_condition = lthird(packed);
	foreach(lc, (List *) lfourth(packed))
		notes.leaves = lappend_int(notes.leaves, lfirst_node(Var, lc)->varno);
	for (int i = 4; i + 1 < list_length(packed); i += 2)
	{
		TbStageJoin *join = palloc(sizeof(TbStageJoin));

		join->keys = list_nth(packed, i);
		join->others = list_nth(packed, i + 1);
		notes.joins = lappend(notes.joins, join);
	}
	return notes;
}
