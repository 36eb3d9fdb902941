/*
 * addition.c - see addition.h.
 *
 * Owns this transaction's writer processes, in its memory. A process serves one file's
 * folder and makes additions, one statement after the other, and at the end the new file; a
 * second one is started if two statements, one inside the other, write to one file.
 */
#include "postgres.h"

#include <signal.h>

#include "access/xact.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/export/file_writer.h"
#include "pg/fdw/addition.h"
#include "pg/files/file_options.h"
#include "pg/files/pending_file.h"
#include "pg/settings/guc.h"

struct TbAddition
{
	TbPendingFile	*file;
	TbFileWriter	*writer;
	const char		*name;	/* of the addition that it makes; NULL: it is idle */
	SubTransactionId subid; /* of that addition */
};

static List *writes = NIL; /* of TbAddition */

/* For tests: a backend may be killed at each step. */
static void
commit_step(int step)
{
	if (tb_guc_debug_stop_commit == step)
		(void) raise(SIGSTOP);
}

/* A process with nothing to do. */
static TbAddition *
idle_write(TbPendingFile *file)
{
	MemoryContext saved;
	TbAddition	 *write;
	ListCell	 *cell;

	foreach(cell, writes)
	{
		write = lfirst(cell);
		if (write->file == file && write->name == NULL)
			return write;
	}
	saved = MemoryContextSwitchTo(TopTransactionContext);
	write = palloc0(sizeof(TbAddition));
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
end_process(TbAddition *write)
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
		TbAddition *write = lfirst(cell);

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
	TbAddition *write = idle_write(file);
	TbFileMerge merge = {.name = tb_pending_file_new_name(file),
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

TbAddition *
tb_addition_begin(Relation relation)
{
	TbPendingFile *file = begin_file(relation);
	TbAddition	  *write = idle_write(file);
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

void
tb_addition_add(TbAddition *write, TupleTableSlot *slot)
{
	tb_file_writer_add(write->writer, slot);
}

void
tb_addition_end(TbAddition *write)
{
	(void) tb_file_writer_finish(write->writer);
	tb_pending_file_add(write->file, write->name);
	write->name = NULL;
}

void
tb_addition_truncate(Relation relation)
{
	tb_pending_file_empty(begin_file(relation));
}
