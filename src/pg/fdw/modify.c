/*
 * modify.c - INSERT, COPY and TRUNCATE of writable foreign tables; why there is no UPDATE
 * and DELETE.
 *
 * PostgreSQL checks the constraints of its own tables only, and here nobody else does: so
 * NOT NULL, CHECK and a partition's bounds are checked before a row is sent. Rows gather in
 * blocks on their way to the writer, which makes record batches of them; a batch of the
 * executor's would only be one more copy.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "foreign/foreign.h"
#include "utils/rel.h"

#include "pg/fdw/arrow_fdw.h"
#include "pg/fdw/addition.h"
#include "pg/files/file_options.h"

typedef struct ArrowInsert
{
	TbAddition *write;	  /* NULL: no row yet */
	bool check_partition; /* whoever has routed the row has not looked at the bounds */
} ArrowInsert;

int
tb_arrow_updatable(Relation relation)
{
	TbFileOptions *options = tb_file_options_read(
		GetForeignTable(RelationGetRelid(relation))->options);

	return options->writable ? 1 << CMD_INSERT : 0;
}

static void
refuse_conflict_clause(OnConflictAction action)
{
	if (action != ONCONFLICT_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ON CONFLICT is not supported for foreign tables of arrow_fdw"),
				 errdetail("Files have no unique indexes, so no row is in conflict with "
						   "another.")));
}

List *
tb_arrow_plan_modify(PlannerInfo *root, ModifyTable *plan, Index resultRelation,
					 int subplan_index)
{
	if (plan->operation != CMD_INSERT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s is not supported for foreign tables of arrow_fdw",
						plan->operation == CMD_UPDATE ? "UPDATE" : "DELETE"),
				 errdetail("Record batches of Arrow files do not change once they are "
						   "written."),
				 errhint(
					 "INSERT adds rows to a writable table, and TRUNCATE removes all.")));
	refuse_conflict_clause(plan->onConflictAction);
	return NIL;
}

/* An Arrow file's rows are its columns'. */
static void
check_columns(Relation relation)
{
	TupleDesc desc = RelationGetDescr(relation);

	for (int i = 0; i < desc->natts; i++)
	{
		if (!TupleDescAttr(desc, i)->attisdropped)
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("foreign table \"%s\" has no columns to write",
					RelationGetRelationName(relation))));
}

static void
begin(ResultRelInfo *rinfo, bool is_routed)
{
	ArrowInsert *insert = palloc0(sizeof(ArrowInsert));
	Relation	 relation = rinfo->ri_RelationDesc;

	(void) tb_file_options_of_writable(RelationGetRelid(relation),
									   relation->rd_rel->relowner);
	check_columns(relation);
	insert->check_partition = relation->rd_rel->relispartition && !is_routed;
	rinfo->ri_FdwState = insert;
}

void
tb_arrow_begin_modify(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private,
					  int subplan_index, int eflags)
{
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		begin(rinfo, false);
}

/* COPY, and rows that a partitioned table gives to its partition. */
void
tb_arrow_begin_insert(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	const ModifyTable *plan = mtstate != NULL ? (ModifyTable *) mtstate->ps.plan : NULL;

	if (plan != NULL)
		refuse_conflict_clause(plan->onConflictAction);
	begin(rinfo, rinfo->ri_RootResultRelInfo != NULL);
}

TupleTableSlot *
tb_arrow_insert(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot,
				TupleTableSlot *planSlot)
{
	ArrowInsert *insert = rinfo->ri_FdwState;

	if (rinfo->ri_RelationDesc->rd_att->constr != NULL)
		ExecConstraints(rinfo, slot, estate);
	if (insert->check_partition)
		ExecPartitionCheck(rinfo, slot, estate, true);
	if (insert->write == NULL)
		insert->write = tb_addition_begin(rinfo->ri_RelationDesc);
	tb_addition_add(insert->write, slot);
	return slot;
}

void
tb_arrow_end_insert(EState *estate, ResultRelInfo *rinfo)
{
	ArrowInsert *insert = rinfo->ri_FdwState;

	if (insert == NULL || insert->write == NULL)
		return;
	tb_addition_end(insert->write);
	insert->write = NULL;
}

void
tb_arrow_truncate(List *relations, DropBehavior behavior, bool restart_sequences)
{
	ListCell *cell;

	foreach(cell, relations)
		tb_addition_truncate(lfirst(cell));
}
