/*
 * library_cache.c - see library_cache.h.
 *
 * A library's time of modification is when it was used last. Any session may remove a
 * library at any time, without locks: a process that has loaded it keeps it, and whoever
 * was about to load it compiles it again (runner.h). Two sessions that trim at once may
 * remove more than needed.
 *
 * Folders of compilers that are left behind, after a crash of the server for instance, go
 * at the same time. Called by compiler.c.
 */
#include "postgres.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include "miscadmin.h"
#include "storage/fd.h"

#include "pg/plcuda/compiler.h"
#include "pg/plcuda/library_cache.h"
#include "pg/settings/plcuda_settings.h"

typedef struct CachedLibrary
{
	char		   *path;
	uint64			bytes;
	struct timespec used;
} CachedLibrary;

bool
tb_plcuda_use_library(const char *path)
{
	return utime(path, NULL) == 0 && access(path, R_OK) == 0;
}

/* Of a session that is no more. */
static bool
is_left_behind(const char *name)
{
	int pid;

	return sscanf(name, TB_COMPILER_FOLDER "%d", &pid) == 1 && pid > 0 &&
		pid != MyProcPid && kill(pid, 0) != 0 && errno == ESRCH;
}

static bool
has_suffix(const char *name, const char *suffix)
{
	Size length = strlen(name);

	return length > strlen(suffix) && strcmp(name + length - strlen(suffix), suffix) == 0;
}

static int
compare_use(const ListCell *a, const ListCell *b)
{
	const CachedLibrary *x = lfirst(a);
	const CachedLibrary *y = lfirst(b);

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

/* All but the new one; *bytes: of all. */
static List *
list_libraries(const char *new_library, uint64 *bytes)
{
	char		  *folder = psprintf("%s/%s", DataDir, TB_PLCUDA_FOLDER);
	DIR			  *dir = AllocateDir(folder);
	struct dirent *entry;
	List		  *libraries = NIL;

	*bytes = 0;
	while (dir != NULL && (entry = ReadDirExtended(dir, folder, LOG)) != NULL)
	{
		char	   *path = psprintf("%s/%s", folder, entry->d_name);
		struct stat found;

		if (is_left_behind(entry->d_name))
			(void) rmtree(path, true);
		if (!has_suffix(entry->d_name, ".so") || stat(path, &found) != 0)
			continue;
		*bytes += found.st_size;
		if (strcmp(path, new_library) != 0)
		{
			CachedLibrary *library = palloc(sizeof(*library));

			*library = (CachedLibrary) {path, found.st_size, found.st_mtim};
			libraries = lappend(libraries, library);
		}
	}
	if (dir != NULL)
		FreeDir(dir);
	return libraries;
}

void
tb_plcuda_trim_cache(const char *new_library)
{
	uint64	  most = (uint64) tb_plcuda_cache_mb << 20;
	uint64	  bytes;
	List	 *libraries = list_libraries(new_library, &bytes);
	ListCell *lc;

	if (bytes <= most)
		return;
	list_sort(libraries, compare_use);
	foreach(lc, libraries)
	{
		const CachedLibrary *library = lfirst(lc);

		if (bytes <= most)
			break;
		/* Another session may have been here first. */
		(void) unlink(library->path);
		bytes -= library->bytes;
	}
}
