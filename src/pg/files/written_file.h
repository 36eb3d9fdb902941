/*
 * written_file.h - a file that a backend replaces: its folder, its state, its names
 * meanwhile.
 *
 * All names are looked up in the folder's descriptor, so whoever renames folders or puts
 * links in between changes nothing. Files that are not complete have names of their own
 * beside it, by which the next writer recognises what a crash has left.
 */
#ifndef TURBINE_PG_FILES_WRITTEN_FILE_H
#define TURBINE_PG_FILES_WRITTEN_FILE_H

#include "postgres.h"

#include <sys/stat.h>

#include "nodes/pg_list.h"

#include "pg/files/file_identity.h"

typedef struct TbWrittenFile
{
	char		 *path;	   /* absolute, its folder without links */
	const char	 *name;	   /* in path */
	int			  folder;  /* descriptor; -1: closed */
	uint64		  device;  /* of the folder */
	uint64		  inode;
	bool		  exists;  /* may be an empty file */
	bool		  is_empty;
	TbFileVersion version; /* if it exists */
	struct stat	  status;
} TbWrittenFile;

/* Opens the folder of the file that an option names; in the current memory context. Raises
 * an error if it can not. */
extern TbWrittenFile *tb_written_file_open(const char *path);

/* Takes in the file's present state. Raises an error if it is not an Arrow IPC file that
 * can be appended to: another format, a link, no regular file. */
extern void tb_written_file_look(TbWrittenFile *file);

/* Raises an error if the file is not as it was looked at. */
extern void tb_written_file_check_unchanged(const TbWrittenFile *file);

/* A name for the n-th file of this backend that is not complete. */
extern char *tb_written_file_name(const TbWrittenFile *file, unsigned n);

/* Removes files of such names, except `own` (of char *), that earlier writers have left.
 * Who calls it has the lock on the file. */
extern void tb_written_file_remove_leftovers(const TbWrittenFile *file, const List *own);

/* Gives a new file the old one's owner and rights, and has them on disk. Raises an error if
 * it can not. */
extern void tb_written_file_take_rights(const TbWrittenFile *file, const char *new_name);

/* Puts the new file in place. The older one gets the new one's name if the file system can
 * exchange them; returns whether it has. Raises an error if nothing was done. */
extern bool tb_written_file_replace(const TbWrittenFile *file, const char *new_name);

/* Has what was renamed in the folder on disk. */
extern void tb_written_file_flush(const TbWrittenFile *file);

/* Puts the older one back, under which the new one's name is, or removes the file if there
 * was none. Raises nothing. */
extern void tb_written_file_restore(const TbWrittenFile *file, const char *old_name);

/* Both raise nothing. */
extern void tb_written_file_remove(const TbWrittenFile *file, const char *name);
extern void tb_written_file_close(TbWrittenFile *file);

#endif
