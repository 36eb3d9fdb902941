/*
 * pending_file.c - see pending_file.h.
 *
 * Places. A place is a file that a backend replaces: its folder, its state, and the names
 * of files beside it that are not complete. All names are looked up in the folder's
 * descriptor, so whoever renames folders or puts links in between changes nothing. By the
 * names of its own the next writer recognises what a crash has left.
 *
 * Changes. Owns the list of files and all names in their folders, in the transaction's
 * memory, the descriptor of each folder, and the lock on each file. Callbacks of
 * transactions and subtransactions keep the list true: what they remove, they remove with
 * warnings at most. PostgreSQL releases the locks after them.
 *
 * Called by the writes of arrow_fdw, and by whoever lists a table's files. Must never
 * follow a link, or remove a file of another name than unfinished_name() makes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* renameat2 */
#endif
#include "postgres.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/lock.h"
#include "utils/memutils.h"

#include "pg/files/pending_file.h"

#define ARROW_MAGIC "ARROW1"
#define PARQUET_MAGIC "PAR1"
#define MAGIC_BYTES 6
#define MARK ".arrow_fdw."

/* The folder, without links, and the name in it. */
static char *
resolve(const char *path)
{
	char		real_folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	char	   *folder = slash == path ? pstrdup("/") : pnstrdup(path, slash - path);

	if (slash[1] == '\0' || strcmp(slash + 1, ".") == 0 || strcmp(slash + 1, "..") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("\"%s\" does not name a file", path)));
	if (realpath(folder, real_folder) == NULL)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open folder \"%s\": %m", folder)));
	if (strcmp(real_folder, "/") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("files in the root folder cannot be written to")));
	return psprintf("%s/%s", real_folder, slash + 1);
}

/* Opens the folder of the file that an option names; in the current memory context.
 * Raises an error if it can not. */
static TbWrittenFile *
open_place(const char *path)
{
	TbWrittenFile *file = palloc0(sizeof(TbWrittenFile));
	struct stat	   status;
	char		  *folder;

	/* Folder and name. */
	file->path = resolve(path);
	file->name = strrchr(file->path, '/') + 1;
	folder = pnstrdup(file->path, file->name - 1 - file->path);
	/* Open the folder, following no link. */
	if (!AcquireExternalFD())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("out of file descriptors for \"%s\"", path)));
	file->folder = tb_open_without_links(folder);
	/* Identity of the folder. */
	if (file->folder >= 0 && fstat(file->folder, &status) == 0 && S_ISDIR(status.st_mode))
	{
		file->device = status.st_dev;
		file->inode = status.st_ino;
		return file;
	}
	/* No folder: give everything back. */
	if (file->folder >= 0)
		close(file->folder);
	ReleaseExternalFD();
	ereport(ERROR,
			(errcode(ERRCODE_IO_ERROR), errmsg("could not open folder \"%s\"", folder)));
}

static void
check_format(const TbWrittenFile *file)
{
	char magic[MAGIC_BYTES] = {0};
	int	 fd = openat(file->folder, file->name,
					 O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	bool is_read;

	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", file->path)));
	/* What does it begin with? */
	is_read = pread(fd, magic, sizeof(magic), 0) > 0;
	close(fd);
	if (is_read && memcmp(magic, ARROW_MAGIC, sizeof(magic)) == 0)
		return;
	/* Why is it refused? */
	if (memcmp(magic, PARQUET_MAGIC, strlen(PARQUET_MAGIC)) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("Parquet file \"%s\" cannot be written to", file->path),
				 errhint(
					 "Only Arrow IPC files can take more rows. Use turbine.to_parquet to "
					 "write a new file.")));
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("file \"%s\" is not an Arrow IPC file", file->path),
			 errdetail("Arrow streams and other files are not written to.")));
}

/* Takes in the file's present state. Raises an error if it is not an Arrow IPC file
 * that can be appended to: another format, a link, no regular file. */
static void
look_at_place(TbWrittenFile *file)
{
	file->exists = file->is_empty = false;
	/* A new file is fine. */
	if (fstatat(file->folder, file->name, &file->status, AT_SYMLINK_NOFOLLOW) != 0)
	{
		if (errno == ENOENT)
			return;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", file->path)));
	}
	/* What must not be replaced. */
	if (S_ISLNK(file->status.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("\"%s\" is a symbolic link", file->path),
				 errhint("A writable table has the option file with the path that the link "
						 "leads to.")));
	if (!S_ISREG(file->status.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a regular file", file->path)));
	/* To notice changes by others. */
	tb_file_version(&file->status, &file->version);
	file->exists = true;
	file->is_empty = file->status.st_size == 0;
	if (!file->is_empty)
		check_format(file);
}

/* Raises an error if the file is not as it was looked at. */
static void
check_place_unchanged(const TbWrittenFile *file)
{
	struct stat	  status;
	TbFileVersion now;
	bool exists = fstatat(file->folder, file->name, &status, AT_SYMLINK_NOFOLLOW) == 0;

	if (exists == file->exists)
	{
		if (!exists)
			return;
		tb_file_version(&status, &now);
		if (tb_file_identity_equal(&now, &file->version))
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("file \"%s\" was changed by another program", file->path),
			 errhint("Run the transaction again.")));
}

/* A name for the n-th file of this backend that is not complete. */
static char *
unfinished_name(const TbWrittenFile *file, unsigned n)
{
	return psprintf(".%s" MARK "%d.%u", file->name, MyProcPid, n);
}

static bool
is_among(const char *name, const List *names)
{
	const ListCell *cell;

	foreach(cell, names)
	{
		if (strcmp(lfirst(cell), name) == 0)
			return true;
	}
	return false;
}

/* Whether it is one of unfinished_name(). */
static bool
is_leftover(const TbWrittenFile *file, const char *name)
{
	size_t length = strlen(file->name);

	return name[0] == '.' && strncmp(name + 1, file->name, length) == 0 &&
		strncmp(name + 1 + length, MARK, strlen(MARK)) == 0 &&
		strspn(name + 1 + length + strlen(MARK), "0123456789.") ==
		strlen(name + 1 + length + strlen(MARK));
}

/* Raises nothing. */
static void
remove_unfinished(const TbWrittenFile *file, const char *name)
{
	if (unlinkat(file->folder, name, 0) != 0 && errno != ENOENT)
		ereport(WARNING,
				(errcode_for_file_access(),
				 errmsg("could not remove \"%s\" beside \"%s\": %m", name, file->path)));
}

/* Removes files of such names, except `own` (of char *), that earlier writers have
 * left. Who calls it has the lock on the file. */
static void
remove_leftovers(const TbWrittenFile *file, const List *own)
{
	char		  *folder = pnstrdup(file->path, file->name - 1 - file->path);
	DIR			  *dir = AllocateDir(folder);
	struct dirent *entry;

	while ((entry = ReadDir(dir, folder)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (!is_leftover(file, entry->d_name) || is_among(entry->d_name, own))
			continue;
		remove_unfinished(file, entry->d_name);
		ereport(LOG,
				(errmsg("removed \"%s\", which a writer of \"%s\" had left", entry->d_name,
						file->path)));
	}
	FreeDir(dir);
	pfree(folder);
}

/* Gives a new file the old one's owner and rights, and has them on disk. Raises an
 * error if it can not. */
static void
take_rights(const TbWrittenFile *file, const char *new_name)
{
	const struct stat *old = &file->status;
	struct stat		   now;
	int	 fd = openat(file->folder, new_name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	bool is_done;
	int	 saved;

	/* Those of the old file, on disk. */
	is_done = fd >= 0 &&
		(!file->exists ||
		 (fstat(fd, &now) == 0 &&
		  ((now.st_uid == old->st_uid && now.st_gid == old->st_gid) ||
		   fchown(fd, old->st_uid, old->st_gid) == 0) &&
		  fchmod(fd, old->st_mode & 07777) == 0)) &&
		fsync(fd) == 0;
	/* The message needs the first error. */
	saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
	if (!is_done)
		ereport(
			ERROR,
			(errcode_for_file_access(),
			 errmsg(
				 "could not set the owner and permissions of the new file for \"%s\": %m",
				 file->path)));
}

static void
flush_folder(const TbWrittenFile *file, int elevel)
{
	if (fsync(file->folder) != 0 && errno != EBADF && errno != EINVAL)
		ereport(elevel,
				(errcode_for_file_access(),
				 errmsg("could not flush the folder of \"%s\": %m", file->path)));
}

/* Puts the new file in place. The older one gets the new one's name if the file system
 * can exchange them; returns whether it has. Raises an error if nothing was done. */
static bool
exchange(const TbWrittenFile *file, const char *new_name)
{
	bool is_exchanged = file->exists &&
		renameat2(file->folder, new_name, file->folder, file->name, RENAME_EXCHANGE) == 0;

	if (!is_exchanged && renameat(file->folder, new_name, file->folder, file->name) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not rename a new file to \"%s\": %m", file->path)));
	return is_exchanged;
}

/* Puts the older one back, under which the new one's name is, or removes the file if
 * there was none. Raises nothing. */
static void
put_back(const TbWrittenFile *file, const char *old_name)
{
	int failed = file->exists ? renameat(file->folder, old_name, file->folder, file->name) :
								unlinkat(file->folder, file->name, 0);

	if (failed)
		ereport(WARNING,
				(errcode_for_file_access(),
				 errmsg("could not put the old file \"%s\" back: %m", file->path)));
	flush_folder(file, WARNING);
}

static void
close_place(TbWrittenFile *file)
{
	if (file->folder < 0)
		return;
	close(file->folder);
	ReleaseExternalFD();
	file->folder = -1;
}

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
		remove_unfinished(file->place, name->name);
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
			put_back(file->place, file->replaced_by);
		remove_names(file, InvalidSubTransactionId);
		close_place(file->place);
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
	TbWrittenFile *place = open_place(path);
	TbPendingFile *file = find_place(place);

	if (file != NULL)
	{
		close_place(place);
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

		look_at_place(file->place);
		foreach(cell, file->names)
			own = lappend(own, ((OwnName *) lfirst(cell))->name);
		remove_leftovers(file->place, own);
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
	name->name = unfinished_name(file->place, ++name_counter);
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
	check_place_unchanged(file->place);
	take_rights(file->place, name);
	file->is_restorable = exchange(file->place, name) || !file->place->exists;
	file->replaced_by = MemoryContextStrdup(TopTransactionContext, name);
	flush_folder(file->place, ERROR);
}
