/*
 * file_identity.c - opens files for reading, each checked on the descriptor that is used
 * afterwards, so that nothing can be exchanged in between: see file_identity.h.
 *
 * Owns the descriptors it has opened. The resource release callback closes what an aborted
 * transaction leaves.
 */
#include "postgres.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "pg/files/file_identity.h"

typedef struct OpenFile
{
	int				 fd;
	ResourceOwner	 owner;
	struct OpenFile *next;
} OpenFile;

static OpenFile *open_files = NULL;
static bool		 file_callback_registered = false;

static void
close_first(OpenFile **place)
{
	OpenFile *file = *place;

	*place = file->next;
	close(file->fd);
	ReleaseExternalFD();
	pfree(file);
}

static void
release_files_callback(ResourceReleasePhase phase, bool isCommit, bool isTopLevel,
					   void *arg)
{
	OpenFile **place = &open_files;

	if (phase != RESOURCE_RELEASE_BEFORE_LOCKS)
		return;
	while (*place != NULL)
	{
		if ((*place)->owner == CurrentResourceOwner)
			close_first(place);
		else
			place = &(*place)->next;
	}
}

void
tb_file_close(int fd)
{
	for (OpenFile **place = &open_files; *place != NULL; place = &(*place)->next)
	{
		if ((*place)->fd == fd)
		{
			close_first(place);
			return;
		}
	}
}

bool
tb_file_identity_equal(const TbFileVersion *a, const TbFileVersion *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
		a->modified == b->modified;
}

int
tb_open_without_links(const char *path)
{
	char  copy[PATH_MAX];
	char *name = copy + 1;
	int	  folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	strlcpy(copy, path, sizeof(copy));
	while (folder >= 0)
	{
		char *slash = strchr(name, '/');
		int	  next;

		if (slash != NULL)
			*slash = '\0';
		/* A FIFO must not make us wait. */
		next = openat(folder, name,
					  slash != NULL ?
						  O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC :
						  O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
		{
			int saved = errno;

			close(folder);
			errno = saved;
			return -1;
		}
		close(folder);
		if (slash == NULL)
			return next;
		folder = next;
		name = slash + 1;
	}
	return -1;
}

static bool
lies_in(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	return strncmp(path, folder, length) == 0 &&
		(length == 1 || path[length] == '/'); /* "/" */
}

/* The descriptor of an opened file, or -1 with errno. Raises an error only if a link leads
 * out of the folder. */
static int
open_checked(const char *path, const char *folder)
{
	char real_path[PATH_MAX];
	char real_folder[PATH_MAX];

	if (realpath(path, real_path) == NULL)
		return -1;
	if (folder != NULL)
	{
		if (realpath(folder, real_folder) == NULL)
			return -1;
		if (!lies_in(real_path, real_folder))
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("file \"%s\" leads out of folder \"%s\"", path, folder),
					 errdetail("A symbolic link leads to \"%s\".", real_path)));
	}
	return tb_open_without_links(real_path);
}

void
tb_file_version(const struct stat *status, TbFileVersion *identity)
{
	memset(identity, 0, sizeof(*identity));
	identity->device = status->st_dev;
	identity->inode = status->st_ino;
	identity->size = status->st_size;
	identity->modified = (int64) status->st_mtim.tv_sec * INT64CONST(1000000000) +
		status->st_mtim.tv_nsec;
	identity->status_changed = (int64) status->st_ctim.tv_sec * INT64CONST(1000000000) +
		status->st_ctim.tv_nsec;
}

void
tb_file_check_unchanged(const char *path, int fd, const TbFileVersion *identity)
{
	TbFileVersion now;
	struct stat	  status;

	if (fstat(fd, &status) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	tb_file_version(&status, &now);
	if (!tb_file_identity_equal(&now, identity))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("file \"%s\" was changed while it was used", path),
				 errhint("Run the query again. Put a new file in place by renaming it.")));
}

/* A place for a descriptor that is about to be opened, counted by fd.c. */
static OpenFile *
reserve(const char *path)
{
	OpenFile *file;

	if (!file_callback_registered)
	{
		RegisterResourceReleaseCallback(release_files_callback, NULL);
		file_callback_registered = true;
	}
	file = MemoryContextAlloc(TopMemoryContext, sizeof(OpenFile));
	if (!AcquireExternalFD())
	{
		pfree(file);
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("out of file descriptors for \"%s\"", path)));
	}
	return file;
}

/* Gives it to the current resource owner, or raises an error if it was not opened (errno).
 */
static void
take_in(OpenFile *file, int fd, const char *path)
{
	if (fd < 0)
	{
		int saved = errno;

		ReleaseExternalFD();
		pfree(file);
		errno = saved;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\" for reading: %m", path)));
	}
	file->fd = fd;
	file->owner = CurrentResourceOwner;
	file->next = open_files;
	open_files = file;
}

int
tb_file_open_again(const char *path, int fd)
{
	OpenFile *file = reserve(path);
	int		  again = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	take_in(file, again, path);
	return again;
}

int
tb_file_open(const char *path, const char *folder, TbFileVersion *identity)
{
	OpenFile   *file = reserve(path);
	struct stat status;
	int			fd;

	/* From here to the list nothing raises an error but open_checked(), with nothing open.
	 */
	PG_TRY();
	{
		fd = open_checked(path, folder);
	}
	PG_CATCH();
	{
		ReleaseExternalFD();
		pfree(file);
		PG_RE_THROW();
	}
	PG_END_TRY();
	take_in(file, fd, path);

	if (fstat(fd, &status) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	if (!S_ISREG(status.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a regular file", path)));
	tb_file_version(&status, identity);
	return fd;
}
