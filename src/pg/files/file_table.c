/*
 * file_table.c - makes file tables: see file_table.h.
 *
 * The table's owner needs the right to read server files whenever the table is used, not
 * only when its options were set: a table may have been given to another role since.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "access/table.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "pg/files/file_list.h"
#include "pg/files/file_table.h"
#include "pg/files/pending_file.h"

/* The key of a file that has a column's name, or NULL. */
static const TbFileKey *
find_key(const TbListedFile *file, const char *name)
{
	for (int i = 0; i < file->nkeys; i++)
	{
		if (strcmp(file->keys[i].name, name) == 0)
			return &file->keys[i];
	}
	return NULL;
}

/* Whether a pattern has ${name}. */
static bool
pattern_has_key(const char *pattern, const char *name)
{
	return pattern != NULL && strstr(pattern, psprintf("${%s}", name)) != NULL;
}

/* A column is virtual if the options give its name to a part of paths. */
static bool
is_virtual(const TbFileOptions *options, const List *files, const char *name)
{
	const ListCell *cell;

	if (pattern_has_key(options->pattern, name))
		return true;
	foreach(cell, files)
	{
		if (find_key(lfirst(cell), name) != NULL)
			return true;
	}
	return false;
}

static int
find_column(const TbFileDescription *description, const char *name)
{
	for (int i = 0; i < description->ncolumns; i++)
	{
		if (strcmp(description->columns[i].name, name) == 0)
			return i;
	}
	return -1;
}

static void
place_columns(const TbFileTable *table, TbTableFile *file, const TbListedFile *listed)
{
	file->virtual_values = palloc0(sizeof(char *) * Max(table->ncolumns, 1));
	file->file_columns = palloc(sizeof(int) * Max(table->ncolumns, 1));
	for (int i = 0; i < table->ncolumns; i++)
	{
		const TbTableColumn *column = &table->columns[i];

		file->file_columns[i] = -1;
		if (column->name == NULL)
			continue;
		/* Its value is in the path. */
		if (column->is_virtual)
		{
			const TbFileKey *key = find_key(listed, column->name);

			if (key == NULL)
				ereport(ERROR,
						(errcode(ERRCODE_FDW_COLUMN_NAME_NOT_FOUND),
						 errmsg("path \"%s\" has no part \"%s=...\"", file->path,
								column->name)));
			file->virtual_values[i] = key->value;
			continue;
		}
		/* Its values are in the file. */
		file->file_columns[i] = find_column(file->description, column->name);
		if (file->file_columns[i] < 0)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_COLUMN_NAME_NOT_FOUND),
					 errmsg("file \"%s\" has no column \"%s\"", file->path,
							pg_any_to_server(column->name, strlen(column->name), PG_UTF8)),
					 errhint("The option column_name of a column says what it is called "
							 "in files.")));
	}
}

static void
describe_file(TbFileTable *table, const TbListedFile *listed, bool is_held)
{
	TbTableFile *file = &table->files[table->nfiles++];
	int			 fd;

	/* Nobody changes an addition, and there may be many. */
	is_held = is_held && !listed->is_addition;
	file->path = listed->path;
	file->folder = listed->folder;
	fd = tb_file_open(file->path, file->folder, &file->identity);
	file->description = tb_file_describe(file->path, fd, &file->identity);
	file->held = is_held ? fd : -1;
	if (!is_held)
		tb_file_close(fd);
	place_columns(table, file, listed);
	table->nrows += file->description->nrows;
}

/* What a file is that this transaction has written to: its old rows, and additions. */
static List *
add_pending(List *files, TbListedFile *listed, const TbPendingFile *pending)
{
	const char *path = tb_pending_file_place(pending)->path;
	ListCell   *cell;

	if (tb_pending_file_has_old(pending))
		files = lappend(files, listed);
	foreach(cell, tb_pending_file_additions(pending))
	{
		TbListedFile *addition = palloc(sizeof(TbListedFile));

		*addition = *listed;
		addition->path = psprintf("%.*s/%s", (int) (strrchr(path, '/') - path), path,
								  (const char *) lfirst(cell));
		addition->folder = NULL;
		addition->is_addition = true;
		files = lappend(files, addition);
	}
	return files;
}

/* A writable table may not have its file yet. */
static bool
is_unwritten(const TbFileOptions *options)
{
	struct stat status;

	if (!options->writable)
		return false;
	if (stat(linitial(options->paths), &status) == 0)
		return S_ISREG(status.st_mode) && status.st_size == 0;
	return errno == ENOENT;
}

/* The files as this transaction sees them. */
static List *
list_files(const TbFileOptions *options)
{
	List	 *listed = tb_file_list(options);
	List	 *files = NIL;
	ListCell *cell;

	if (!tb_pending_file_any() && !options->writable)
		return listed;
	foreach(cell, listed)
	{
		TbListedFile		*file = lfirst(cell);
		const TbPendingFile *pending = tb_pending_file_find(file->path);

		if (pending != NULL)
			files = add_pending(files, file, pending);
		else if (!is_unwritten(options))
			files = lappend(files, file);
	}
	return files;
}

static TbFileTable *
make_table(Oid relid, bool is_read)
{
	TbFileTable	  *table = palloc0(sizeof(TbFileTable));
	Relation	   relation = table_open(relid, NoLock);
	TupleDesc	   attributes = RelationGetDescr(relation);
	TbFileOptions *options = tb_file_options_read(GetForeignTable(relid)->options);
	List		  *files;
	ListCell	  *cell;

	tb_file_options_check_role(relation->rd_rel->relowner);
	files = list_files(options);

	table->relid = relid;
	table->ncolumns = attributes->natts;
	table->columns = palloc0(sizeof(TbTableColumn) * Max(table->ncolumns, 1));
	for (int i = 0; i < attributes->natts; i++)
	{
		TbTableColumn *column = &table->columns[i];
		char		  *name;

		if (TupleDescAttr(attributes, i)->attisdropped)
			continue;
		name = tb_file_options_column_name(relid, i + 1);
		column->is_virtual = is_virtual(options, files, name);
		/* Paths have names as the server has them, files have them in UTF-8. */
		column->name = column->is_virtual ? name :
											pg_server_to_any(name, strlen(name), PG_UTF8);
	}
	table_close(relation, NoLock);

	table->files = palloc0(sizeof(TbTableFile) * Max(list_length(files), 1));
	foreach(cell, files)
	{
		CHECK_FOR_INTERRUPTS();
		describe_file(table, lfirst(cell), is_read && options->writable);
	}
	return table;
}

List *
tb_file_table_versions(Oid relid)
{
	Relation	   relation = table_open(relid, NoLock);
	TbFileOptions *options = tb_file_options_read(GetForeignTable(relid)->options);
	List		  *versions = NIL;
	ListCell	  *cell;

	/* May its owner read files? */
	tb_file_options_check_role(relation->rd_rel->relowner);
	table_close(relation, NoLock);
	foreach(cell, tb_file_list(options))
	{
		const TbListedFile *file = lfirst(cell);
		struct stat			status;

		CHECK_FOR_INTERRUPTS();
		/* A vanished file has no version. */
		if (stat(file->path, &status) == 0)
		{
			TbFileVersion *version = palloc(sizeof(TbFileVersion));

			tb_file_version(&status, version);
			versions = lappend(versions, version);
		}
	}
	return versions;
}

TbFileTable *
tb_file_table(Oid relid)
{
	return make_table(relid, false);
}

TbFileTable *
tb_file_table_to_read(Oid relid)
{
	return make_table(relid, true);
}

int
tb_table_file_open(const TbTableFile *file)
{
	TbFileVersion identity;
	int			  fd = file->held >= 0 ? tb_file_open_again(file->path, file->held) :
										 tb_file_open(file->path, file->folder, &identity);

	tb_file_check_unchanged(file->path, fd, &file->identity);
	return fd;
}
