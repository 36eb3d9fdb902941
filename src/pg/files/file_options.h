/*
 * file_options.h - the options of arrow_fdw's foreign tables and their columns.
 *
 * A table has one of `file`, `files`, `dir` and `pattern`; docs/arrow_fdw.md describes
 * them. Who sets or uses them must be allowed to read any file of the server.
 */
#ifndef TURBINE_PG_FILES_FILE_OPTIONS_H
#define TURBINE_PG_FILES_FILE_OPTIONS_H

#include "postgres.h"

#include "access/attnum.h"
#include "nodes/pg_list.h"

typedef struct TbFileOptions
{
	List *paths;	/* of char *: `file` or `files` */
	char *dir;		/* or NULL */
	char *suffix;	/* of names in dir; NULL: any */
	char *pattern;	/* or NULL */
	bool  writable; /* `paths` is one then */
} TbFileOptions;

/* Checks a list of DefElem of an object of that catalogue. */
extern void tb_file_options_validate(List *options, Oid catalog);

/* Reads the options of a table (or of IMPORT FOREIGN SCHEMA); raises an error if they do
 * not name files. */
extern TbFileOptions *tb_file_options_read(List *options);

/* Raises an error unless the role may read any file of the server. */
extern void tb_file_options_check_role(Oid role);

/* Raises an error unless the role may write any file of the server, too. */
extern void tb_file_options_check_writer(Oid role);

/* The options of a table that is to be written to; raises an error unless it may be. */
extern TbFileOptions *tb_file_options_of_writable(Oid relid, Oid owner);

/* The column's name in files. */
extern char *tb_file_options_column_name(Oid relid, AttrNumber attnum);

#endif
