/*
 * written_file.c - see written_file.h.
 *
 * Owns the folder's descriptor. Must never follow a link, or remove a file of another name
 * than tb_written_file_name() makes.
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

#include "miscadmin.h"
#include "storage/fd.h"

#include "pg/files/written_file.h"

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

TbWrittenFile *
tb_written_file_open(const char *path)
{
	TbWrittenFile *file = palloc0(sizeof(TbWrittenFile));
	struct stat	   status;
	char		  *folder;

	file->path = resolve(path);
	file->name = strrchr(file->path, '/') + 1;
	folder = pnstrdup(file->path, file->name - 1 - file->path);
	if (!AcquireExternalFD())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("out of file descriptors for \"%s\"", path)));
	file->folder = tb_open_without_links(folder);
	if (file->folder >= 0 && fstat(file->folder, &status) == 0 && S_ISDIR(status.st_mode))
	{
		file->device = status.st_dev;
		file->inode = status.st_ino;
		return file;
	}
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
	is_read = pread(fd, magic, sizeof(magic), 0) > 0;
	close(fd);
	if (is_read && memcmp(magic, ARROW_MAGIC, sizeof(magic)) == 0)
		return;
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

void
tb_written_file_look(TbWrittenFile *file)
{
	file->exists = file->is_empty = false;
	if (fstatat(file->folder, file->name, &file->status, AT_SYMLINK_NOFOLLOW) != 0)
	{
		if (errno == ENOENT)
			return;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", file->path)));
	}
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
	tb_file_version(&file->status, &file->version);
	file->exists = true;
	file->is_empty = file->status.st_size == 0;
	if (!file->is_empty)
		check_format(file);
}

void
tb_written_file_check_unchanged(const TbWrittenFile *file)
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

char *
tb_written_file_name(const TbWrittenFile *file, unsigned n)
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

/* Whether it is one of tb_written_file_name(). */
static bool
is_leftover(const TbWrittenFile *file, const char *name)
{
	size_t length = strlen(file->name);

	return name[0] == '.' && strncmp(name + 1, file->name, length) == 0 &&
		strncmp(name + 1 + length, MARK, strlen(MARK)) == 0 &&
		strspn(name + 1 + length + strlen(MARK), "0123456789.") ==
		strlen(name + 1 + length + strlen(MARK));
}

void
tb_written_file_remove_leftovers(const TbWrittenFile *file, const List *own)
{
	char		  *folder = pnstrdup(file->path, file->name - 1 - file->path);
	DIR			  *dir = AllocateDir(folder);
	struct dirent *entry;

	while ((entry = ReadDir(dir, folder)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (!is_leftover(file, entry->d_name) || is_among(entry->d_name, own))
			continue;
		tb_written_file_remove(file, entry->d_name);
		ereport(LOG,
				(errmsg("removed \"%s\", which a writer of \"%s\" had left", entry->d_name,
						file->path)));
	}
	FreeDir(dir);
	pfree(folder);
}

void
tb_written_file_take_rights(const TbWrittenFile *file, const char *new_name)
{
	const struct stat *old = &file->status;
	struct stat		   now;
	int	 fd = openat(file->folder, new_name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	bool is_done;
	int	 saved;

	is_done = fd >= 0 &&
		(!file->exists ||
		 (fstat(fd, &now) == 0 &&
		  ((now.st_uid == old->st_uid && now.st_gid == old->st_gid) ||
		   fchown(fd, old->st_uid, old->st_gid) == 0) &&
		  fchmod(fd, old->st_mode & 07777) == 0)) &&
		fsync(fd) == 0;
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

bool
tb_written_file_replace(const TbWrittenFile *file, const char *new_name)
{
	bool is_exchanged = file->exists &&
		renameat2(file->folder, new_name, file->folder, file->name, RENAME_EXCHANGE) == 0;

	if (!is_exchanged && renameat(file->folder, new_name, file->folder, file->name) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not rename a new file to \"%s\": %m", file->path)));
	return is_exchanged;
}

void
tb_written_file_flush(const TbWrittenFile *file)
{
	flush_folder(file, ERROR);
}

void
tb_written_file_restore(const TbWrittenFile *file, const char *old_name)
{
	int failed = file->exists ? renameat(file->folder, old_name, file->folder, file->name) :
								unlinkat(file->folder, file->name, 0);

	if (failed)
		ereport(WARNING,
				(errcode_for_file_access(),
				 errmsg("could not put the old file \"%s\" back: %m", file->path)));
	flush_folder(file, WARNING);
}

void
tb_written_file_remove(const TbWrittenFile *file, const char *name)
{
	if (unlinkat(file->folder, name, 0) != 0 && errno != ENOENT)
		ereport(WARNING,
				(errcode_for_file_access(),
				 errmsg("could not remove \"%s\" beside \"%s\": %m", name, file->path)));
}

void
tb_written_file_close(TbWrittenFile *file)
{
	if (file->folder < 0)
		return;
	close(file->folder);
	ReleaseExternalFD();
	file->folder = -1;
}
