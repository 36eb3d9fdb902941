/*
 * pending_file.c - see pending_file.h.
 *
 * Owns the list of files and all names in their folders, in the transaction's memory, and
 * the lock on each file. Callbacks of transactions and subtransactions keep the list true:
 * what they remove, they remove with warnings at most. PostgreSQL releases the locks after
 * them.
 */
#include "postgres.h"

#include <limits.h>
#include <stdlib.h>

#include "access/xact.h"
#include "common/hashfn.h"
#include "storage/lock.h"
#include "utils/memutils.h"

#include "pg/files/pending_file.h"

/* Tells locks on files from those that SQL functions take; their database is 0 besides. */
#define LOCK_CLASS 0x7762

typedef struct OwnName
{
	SubTransactionId subid;
	char			*name;
} OwnName;

typedef struct Change
{
	SubTransactionId subid;
	char			*addition; /* NULL: the rows before it are gone */
} Change;

struct TbPendingFile
{
	TbWrittenFile *place;
	List		  *names;		/* of OwnName: that may be in the folder */
	List		  *changes;		/* of Change, in their order */
	char		  *replaced_by; /* the name that the new file had; NULL: not replaced */
	bool		   is_restorable;
};

static List					*files = NIL;
static unsigned				 name_counter = 0;
static const TbPendingHooks *hooks = NULL;

static void
lock(const TbWrittenFile *place)
{
	uint64	numbers[2] = {place->device, place->inode};
	uint64	hash = hash_bytes_extended((const unsigned char *) numbers, sizeof(numbers), 0);
	LOCKTAG tag;

	hash = hash_bytes_extended((const unsigned char *) place->name, strlen(place->name),
							   hash);
	SET_LOCKTAG_ADVISORY(tag, InvalidOid, (uint32) (hash >> 32), (uint32) hash, LOCK_CLASS);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

static void
remove_names(TbPendingFile *file, SubTransactionId subid)
{
	ListCell *cell;

	foreach(cell, file->names)
	{
		OwnName *name = lfirst(cell);

		if (subid != InvalidSubTransactionId && name->subid != subid)
			continue;
		tb_written_file_remove(file->place, name->name);
		file->names = foreach_delete_current(file->names, cell);
	}
}

/* The transaction is over. */
static void
end_all(bool is_aborted)
{
	ListCell *cell;

	if (files == NIL)
		return;
	hooks->stop(InvalidSubTransactionId);
	foreach(cell, files)
	{
		TbPendingFile *file = lfirst(cell);

		if (is_aborted && file->replaced_by != NULL && file->is_restorable)
			tb_written_file_restore(file->place, file->replaced_by);
		remove_names(file, InvalidSubTransactionId);
		tb_written_file_close(file->place);
	}
	/* The memory is the transaction's. */
	files = NIL;
}

static void
transaction_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			if (files != NIL)
				hooks->commit();
			break;
		case XACT_EVENT_PRE_PREPARE:
			if (files != NIL)
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("a transaction that has written to files of foreign tables "
								"cannot be prepared")));
			break;
		case XACT_EVENT_COMMIT:
			end_all(false);
			break;
		case XACT_EVENT_ABORT:
			end_all(true);
			break;
		default:
			break;
	}
}

static void
abort_subtransaction(SubTransactionId subid)
{
	ListCell *file_cell;
	ListCell *cell;

	hooks->stop(subid);
	foreach(file_cell, files)
	{
		TbPendingFile *file = lfirst(file_cell);

		foreach(cell, file->changes)
		{
			if (((Change *) lfirst(cell))->subid == subid)
				file->changes = foreach_delete_current(file->changes, cell);
		}
		remove_names(file, subid);
	}
}

static void
commit_subtransaction(SubTransactionId subid, SubTransactionId parent)
{
	ListCell *file_cell;
	ListCell *cell;

	foreach(file_cell, files)
	{
		TbPendingFile *file = lfirst(file_cell);

		foreach(cell, file->changes)
		{
			if (((Change *) lfirst(cell))->subid == subid)
				((Change *) lfirst(cell))->subid = parent;
		}
		foreach(cell, file->names)
		{
			if (((OwnName *) lfirst(cell))->subid == subid)
				((OwnName *) lfirst(cell))->subid = parent;
		}
	}
}

static void
subtransaction_callback(SubXactEvent event, SubTransactionId subid, SubTransactionId parent,
						void *arg)
{
	if (files == NIL)
		return;
	if (event == SUBXACT_EVENT_ABORT_SUB)
		abort_subtransaction(subid);
	else if (event == SUBXACT_EVENT_COMMIT_SUB)
		commit_subtransaction(subid, parent);
}

void
tb_pending_set_hooks(const TbPendingHooks *wanted)
{
	if (hooks != NULL)
		return;
	hooks = wanted;
	RegisterXactCallback(transaction_callback, NULL);
	RegisterSubXactCallback(subtransaction_callback, NULL);
}

static TbPendingFile *
find_place(const TbWrittenFile *place)
{
	ListCell *cell;

	foreach(cell, files)
	{
		TbPendingFile		*file = lfirst(cell);
		const TbWrittenFile *known = file->place;

		if (known->device == place->device && known->inode == place->inode &&
			strcmp(known->name, place->name) == 0)
			return file;
	}
	return NULL;
}

/* In the list before anything else can fail: the list's end closes what is open. */
static TbPendingFile *
find_or_make(const char *path)
{
	TbWrittenFile *place = tb_written_file_open(path);
	TbPendingFile *file = find_place(place);

	if (file != NULL)
	{
		tb_written_file_close(place);
		return file;
	}
	file = palloc0(sizeof(TbPendingFile));
	file->place = place;
	files = lappend(files, file);
	return file;
}

TbPendingFile *
tb_pending_file_begin(const char *path)
{
	MemoryContext  saved = MemoryContextSwitchTo(TopTransactionContext);
	TbPendingFile *file;

	Assert(hooks != NULL);
	file = find_or_make(path);
	/* Aborted subtransactions have lost the lock, and others may have written since. */
	lock(file->place);
	if (file->changes == NIL)
	{
		List	 *own = NIL;
		ListCell *cell;

		tb_written_file_look(file->place);
		foreach(cell, file->names)
			own = lappend(own, ((OwnName *) lfirst(cell))->name);
		tb_written_file_remove_leftovers(file->place, own);
		list_free(own);
	}
	MemoryContextSwitchTo(saved);
	return file;
}

TbPendingFile *
tb_pending_file_find(const char *path)
{
	char	  folder[PATH_MAX];
	char	  real_path[PATH_MAX];
	char	 *slash;
	ListCell *cell;

	if (files == NIL)
		return NULL;
	/* The file itself may be a link that leads there, or not be there yet. */
	if (realpath(path, real_path) == NULL)
	{
		strlcpy(folder, path, sizeof(folder));
		slash = strrchr(folder, '/');
		if (slash == NULL || slash == folder)
			return NULL;
		*slash = '\0';
		if (realpath(folder, real_path) == NULL ||
			strlen(real_path) + strlen(slash + 1) + 2 > sizeof(real_path))
			return NULL;
		strcat(strcat(real_path, "/"), slash + 1);
	}
	foreach(cell, files)
	{
		TbPendingFile *file = lfirst(cell);

		if (file->changes != NIL && strcmp(file->place->path, real_path) == 0)
			return file;
	}
	return NULL;
}

bool
tb_pending_file_any(void)
{
	return files != NIL;
}

List *
tb_pending_files(void)
{
	return files;
}

const TbWrittenFile *
tb_pending_file_place(const TbPendingFile *file)
{
	return file->place;
}

char *
tb_pending_file_new_name(TbPendingFile *file)
{
	MemoryContext saved = MemoryContextSwitchTo(TopTransactionContext);
	OwnName		 *name = palloc(sizeof(OwnName));

	name->subid = GetCurrentSubTransactionId();
	name->name = tb_written_file_name(file->place, ++name_counter);
	file->names = lappend(file->names, name);
	MemoryContextSwitchTo(saved);
	return name->name;
}

static void
add_change(TbPendingFile *file, const char *addition)
{
	MemoryContext saved = MemoryContextSwitchTo(TopTransactionContext);
	Change		 *change = palloc(sizeof(Change));

	change->subid = GetCurrentSubTransactionId();
	change->addition = addition != NULL ? pstrdup(addition) : NULL;
	file->changes = lappend(file->changes, change);
	MemoryContextSwitchTo(saved);
}

void
tb_pending_file_add(TbPendingFile *file, const char *name)
{
	add_change(file, name);
}

void
tb_pending_file_empty(TbPendingFile *file)
{
	/* No rows, no columns: nothing to be emptied. */
	if (tb_pending_file_like(file) != NULL)
		add_change(file, NULL);
}

bool
tb_pending_file_is_changed(const TbPendingFile *file)
{
	return file->changes != NIL;
}

static bool
has_rows(const TbPendingFile *file)
{
	return file->place->exists && !file->place->is_empty;
}

bool
tb_pending_file_has_old(const TbPendingFile *file)
{
	ListCell *cell;

	foreach(cell, file->changes)
	{
		if (((const Change *) lfirst(cell))->addition == NULL)
			return false;
	}
	return has_rows(file);
}

List *
tb_pending_file_additions(const TbPendingFile *file)
{
	List	 *additions = NIL;
	ListCell *cell;

	foreach(cell, file->changes)
	{
		Change *change = lfirst(cell);

		if (change->addition == NULL)
			additions = NIL;
		else
			additions = lappend(additions, change->addition);
	}
	return additions;
}

const char *
tb_pending_file_like(const TbPendingFile *file)
{
	ListCell *cell;

	if (has_rows(file))
		return file->place->name;
	foreach(cell, file->changes)
	{
		const Change *change = lfirst(cell);

		if (change->addition != NULL)
			return change->addition;
	}
	return NULL;
}

void
tb_pending_file_replace(TbPendingFile *file, const char *name)
{
	tb_written_file_check_unchanged(file->place);
	tb_written_file_take_rights(file->place, name);
	file->is_restorable = tb_written_file_replace(file->place, name) ||
		!file->place->exists;
	file->replaced_by = MemoryContextStrdup(TopTransactionContext, name);
	tb_written_file_flush(file->place);
}
