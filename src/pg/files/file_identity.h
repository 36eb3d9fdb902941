/*
 * file_identity.h - which file it is, and opening it with the checks that every file gets.
 *
 * Only regular files are opened, and never one that a symbolic link leads to out of the
 * folder it was found in. Descriptors belong to the resource owner that opened them.
 */
#ifndef TURBINE_PG_FILES_FILE_IDENTITY_H
#define TURBINE_PG_FILES_FILE_IDENTITY_H

#include "postgres.h"

#include <sys/stat.h>

/* Which file it is, and which bytes it holds, as far as the file system tells. */
typedef struct TbFileVersion
{
	uint64 device;
	uint64 inode;
	uint64 size;		   /* bytes */
	int64  modified;	   /* nanoseconds since 1970 */
	int64  status_changed; /* the same, of the inode */
} TbFileVersion;

/*
 * Opens a regular file for reading and tells its identity. `folder` is NULL or the folder
 * that the file, with all links followed, must lie in. Raises an error if that fails.
 */
extern int tb_file_open(const char *path, const char *folder, TbFileVersion *identity);

/* Another descriptor of an open file, which belongs to the current resource owner. */
extern int tb_file_open_again(const char *path, int fd);

/* Closes it before its resource owner does. Raises nothing. */
extern void tb_file_close(int fd);

extern void tb_file_version(const struct stat *status, TbFileVersion *version);

/* Opens a path without symbolic links, folder by folder, so that none can be put in while
 * it is opened; -1 with errno. The descriptor is the caller's, and nobody's resource. */
extern int tb_open_without_links(const char *path);

/* Whether two are the same bytes. A change of the inode alone (a new link, other rights) is
 * none of the bytes. */
extern bool tb_file_identity_equal(const TbFileVersion *a, const TbFileVersion *b);

/* Raises an error if an open file is not what it was. */
extern void tb_file_check_unchanged(const char *path, int fd,
									const TbFileVersion *identity);

#endif
