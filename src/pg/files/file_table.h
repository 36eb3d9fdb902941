/*
 * file_table.h - a foreign table of arrow_fdw as its files are now.
 *
 * A file table is made for one plan or one execution: it lists the files that the table's
 * options name at that moment, each with its identity, its batches and the values of its
 * virtual columns. A batch is a record batch of an Arrow file or stream, or a row group of
 * a Parquet file. A file that changes later has another identity; opening it by this table
 * raises an error then, so that batches and bounds always describe the bytes that are read.
 * A file that this transaction has written to is its old rows and additions
 * (pending_file.h).
 *
 * Everything is allocated in the memory context of the caller and never changes.
 */
#ifndef TURBINE_PG_FILES_FILE_TABLE_H
#define TURBINE_PG_FILES_FILE_TABLE_H

#include "postgres.h"

#include "nodes/pg_list.h"

#include "pg/files/file_description.h"
#include "pg/files/file_identity.h"

typedef struct TbTableFile
{
	char		 *path; /* absolute, as the options name it; for messages */
	TbFileVersion identity;

	const char *folder; /* that it must lie in; NULL: named as such */
	int			held;	/* an open descriptor; -1: it is opened by its path */

	/* What the file holds; batches[i].nrows are the rows of its batches. */
	const TbFileDescription *description;

	/* By attnum - 1: the value of a virtual column as the type's input function takes it;
	 * NULL for NULL and for columns that are not virtual. */
	char **virtual_values;

	/* By attnum - 1: the column of the description that holds it, or -1: virtual, or
	 * dropped. */
	int *file_columns;
} TbTableFile;

typedef struct TbTableColumn
{
	char *name;		  /* in the files, so in UTF-8; NULL: dropped */
	bool  is_virtual; /* its values come from the files' paths */
} TbTableColumn;

typedef struct TbFileTable
{
	Oid			   relid;
	int			   ncolumns; /* as many as the relation has attributes */
	TbTableColumn *columns;	 /* by attnum - 1 */
	int			   nfiles;
	TbTableFile	  *files;
	double		   nrows; /* of all files */
} TbFileTable;

/*
 * The foreign table's files. Raises an error if the options are wrong, if the table's
 * owner may not read server files, if a file cannot be read or is malformed, or if it lacks
 * a column of the table.
 */
extern TbFileTable *tb_file_table(Oid relid);

/*
 * The same, to be read: the files of a writable table stay open, so that they are those of
 * this moment, whoever writes. The descriptors are the current resource owner's.
 */
extern TbFileTable *tb_file_table_to_read(Oid relid);

/*
 * Which files they are now: a list of TbFileVersion, without those that are not there.
 * Raises an error as above, but looks into none of them.
 */
extern List *tb_file_table_versions(Oid relid);

/*
 * Opens a file of the table for reading. Rights were checked when the table was made. The
 * descriptor is closed by tb_file_close(), or with the current resource owner. Raises an
 * error if the file is not the one that was described.
 */
extern int tb_table_file_open(const TbTableFile *file);

#endif
