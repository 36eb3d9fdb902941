/*
 * file_list.h - the files that a table's options name at this moment.
 */
#ifndef TURBINE_PG_FILES_FILE_LIST_H
#define TURBINE_PG_FILES_FILE_LIST_H

#include "postgres.h"

#include "nodes/pg_list.h"

#include "pg/files/file_options.h"
#include "pg/files/file_pattern.h"

typedef struct TbListedFile
{
	char	   *path;
	const char *folder;		 /* that it must lie in; NULL: named as such */
	int			nkeys;		 /* parts of its path that have names */
	TbFileKey  *keys;
	bool		is_addition; /* of this transaction (pending_file.h) */
} TbListedFile;

/* A list of TbListedFile, by path. Raises an error if a folder cannot be read; files are
 * looked at when they are opened. */
extern List *tb_file_list(const TbFileOptions *options);

#endif
