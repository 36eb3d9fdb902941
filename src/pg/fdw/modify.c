/*
 * modify.c - INSERT, COPY and TRUNCATE of writable foreign tables; why there is no UPDATE
 * and DELETE.
 *
 * A statement's rows go into an addition of the file. The transaction's commit makes the
 * files of their additions (pending_file.h); an abort of the statement's (sub)transaction
 * ends the writer and forgets the addition.
 *
 * PostgreSQL checks the constraints of its own tables only, and here nobody else does: so
 * NOT NULL, CHECK and a partition's bounds are checked before a row is sent. Rows gather in
 * blocks on their way to the writer, which makes record batches of them; a batch of the
 * executor's would only be one more copy.
 *
 * Owns this transaction's writer processes, in its memory. A process serves one file's
 * folder and makes additions, one statement after the other, and at the end the new file; a
 * second one is started if two statements, one inside the other, write to one file. Called
 * by PostgreSQL through the callbacks of arrow_fdw, and at the transaction's end. Must
 * never change a file in place.
 */
#include "postgres.h"

#include <signal.h>

#include "access/xact.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "pg/export/file_writer.h"
#include "pg/fdw/arrow_fdw.h"
#include "pg/files/file_options.h"
#include "pg/files/pending_file.h"
#include "pg/settings/guc.h"

typedef struct FileAddition
{
	TbPendingFile	*file;
	TbFileWriter	*writer;
	const char		*name;	/* of the addition that it makes; NULL: it is idle */
	SubTransactionId subid; /* of that addition */
} FileAddition;

static List *writes = NIL; /* of FileAddition */

/* For tests: a backend may be killed at each step. */
static void
commit_step(int step)
{
	if (tb_guc_debug_stop_commit == step)
		(void) raise(SIGSTOP);
}

/* A process with nothing to do. */
static FileAddition *
idle_write(TbPendingFile *file)
{
	MemoryContext saved;
	FileAddition *write;
	ListCell	 *cell;

	foreach(cell, writes)
	{
		write = lfirst(cell);
		if (write->file == file && write->name == NULL)
			return write;
	}
	saved = MemoryContextSwitchTo(TopTransactionContext);
	write = palloc0(sizeof(FileAddition));
	write->file = file;
	writes = lappend(writes, write);
	/* An error takes it from the list. */
	write->subid = GetCurrentSubTransactionId();
	write->name = "";
	write->writer = tb_file_writer_open(tb_pending_file_place(file)->folder);
	write->name = NULL;
	MemoryContextSwitchTo(saved);
	return write;
}

static void
end_process(FileAddition *write)
{
	if (write->writer != NULL)
		tb_file_writer_end(write->writer);
	write->writer = NULL;
}

static void
stop(SubTransactionId subid)
{
	ListCell *cell;

	foreach(cell, writes)
	{
		FileAddition *write = lfirst(cell);

		if (subid != InvalidSubTransactionId &&
			(write->name == NULL || write->subid != subid))
			continue;
		end_process(write);
		writes = foreach_delete_current(writes, cell);
	}
}

/* The file as it will be; its name meanwhile. */
static char *
merge(TbPendingFile *file)
{
	FileAddition *write = idle_write(file);
	TbFileMerge	  merge = {.name = tb_pending_file_new_name(file),
						   .additions = tb_pending_file_additions(file),
						   .is_emptied = !tb_pending_file_has_old(file),
						   .stop = tb_guc_debug_stop_writer};

	if (!merge.is_emptied || merge.additions == NIL)
		merge.old = tb_pending_file_like(file);
	else if (tb_pending_file_place(file)->exists && !tb_pending_file_place(file)->is_empty)
		merge.old = tb_pending_file_place(file)->name;
	write->subid = GetCurrentSubTransactionId();
	write->name = merge.name;
	tb_file_writer_merge(write->writer, &merge);
	write->name = NULL;
	return unconstify(char *, merge.name);
}

/* All new files are complete before the first one takes its place. */
static void
commit(void)
{
	List	 *names = NIL;
	ListCell *cell;
	ListCell *name;

	commit_step(1);
	foreach(cell, tb_pending_files())
	{
		TbPendingFile *file = lfirst(cell);

		names = lappend(names, tb_pending_file_is_changed(file) ? merge(file) : NULL);
		commit_step(2);
	}
	forboth(cell, tb_pending_files(), name, names)
	{
		if (lfirst(name) != NULL)
			tb_pending_file_replace(lfirst(cell), lfirst(name));
		commit_step(3);
	}
}

static TbPendingFile *
begin_file(Relation relation)
{
	static const TbPendingHooks hooks = {.commit = commit, .stop = stop};
	TbFileOptions *options = tb_file_options_of_writable(RelationGetRelid(relation),
														 relation->rd_rel->relowner);

	tb_pending_set_hooks(&hooks);
	return tb_pending_file_begin(linitial(options->paths));
}

/* What columns are called in the file. */
static const char *const *
file_names(Relation relation)
{
	TupleDesc	 desc = RelationGetDescr(relation);
	const char **names = palloc0(sizeof(char *) * Max(desc->natts, 1));

	for (int i = 0; i < desc->natts; i++)
	{
		char *name;

		if (TupleDescAttr(desc, i)->attisdropped)
			continue;
		name = tb_file_options_column_name(RelationGetRelid(relation), i + 1);
		names[i] = pg_server_to_any(name, strlen(name), PG_UTF8);
	}
	return names;
}

/* Waits for other writers of the table's file. Raises an error if the table or the file
 * can not be written to. */
static FileAddition *
begin_addition(Relation relation)
{
	TbPendingFile *file = begin_file(relation);
	FileAddition  *write = idle_write(file);
	TbFileTarget   target = {.compression = "none",
							 .is_addition = true,
							 .like = tb_pending_file_like(file),
							 .names = file_names(relation),
							 .stop = tb_guc_debug_stop_writer};

	write->subid = GetCurrentSubTransactionId();
	write->name = target.path = tb_pending_file_new_name(file);
	tb_file_writer_begin(write->writer, &target, RelationGetDescr(relation));
	return write;
}

static void
add_row(FileAddition *write, TupleTableSlot *slot)
{
	tb_file_writer_add(write->writer, slot);
}

/* The transaction's next statement sees the rows. Raises an error if the file does not
 * take them. */
static void
end_addition(FileAddition *write)
{
	(void) tb_file_writer_finish(write->writer);
	tb_pending_file_add(write->file, write->name);
	write->name = NULL;
}

/* All rows of the table's file go. */
static void
truncate_file(Relation relation)
{
	tb_pending_file_empty(begin_file(relation));
}

typedef struct ArrowInsert
{
	FileAddition *write;  /* NULL: no row yet */
	bool check_partition; /* whoever has routed the row has not looked at the bounds */
} ArrowInsert;

static int
is_updatable(Relation relation)
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

static List *
plan_modify(PlannerInfo *root, ModifyTable *plan, Index resultRelation, int subplan_index)
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

static void
begin_modify(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private,
			 int subplan_index, int eflags)
{
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		begin(rinfo, false);
}

/* COPY, and rows that a partitioned table gives to its partition. */
static void
begin_insert(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	const ModifyTable *plan = mtstate != NULL ? (ModifyTable *) mtstate->ps.plan : NULL;

	if (plan != NULL)
		refuse_conflict_clause(plan->onConflictAction);
	begin(rinfo, rinfo->ri_RootResultRelInfo != NULL);
}

static TupleTableSlot *
insert_row(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot,
		   TupleTableSlot *planSlot)
{
	ArrowInsert *insert = rinfo->ri_FdwState;

	if (rinfo->ri_RelationDesc->rd_att->constr != NULL)
		ExecConstraints(rinfo, slot, estate);
	if (insert->check_partition)
		ExecPartitionCheck(rinfo, slot, estate, true);
	if (insert->write == NULL)
		insert->write = begin_addition(rinfo->ri_RelationDesc);
	add_row(insert->write, slot);
	return slot;
}

static void
end_insert(EState *estate, ResultRelInfo *rinfo)
{
	ArrowInsert *insert = rinfo->ri_FdwState;

	if (insert == NULL || insert->write == NULL)
		return;
	end_addition(insert->write);
	insert->write = NULL;
}

static void
truncate_tables(List *relations, DropBehavior behavior, bool restart_sequences)
{
	ListCell *cell;

	foreach(cell, relations)
		truncate_file(lfirst(cell));
}

void
tb_arrow_add_modify(FdwRoutine *routine)
{
	routine->IsForeignRelUpdatable = is_updatable;
	routine->PlanForeignModify = plan_modify;
	routine->BeginForeignModify = begin_modify;
	routine->ExecForeignInsert = insert_row;
	routine->EndForeignModify = end_insert;
	routine->BeginForeignInsert = begin_insert;
	routine->EndForeignInsert = end_insert;
	routine->ExecForeignTruncate = truncate_tables;
}
