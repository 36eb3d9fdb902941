/*
 * import.c - IMPORT FOREIGN SCHEMA: a foreign table of that name over the files that the
 * statement's options name, with the columns of the first file and the names in paths.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pg/convert/postgis.h"
#include "pg/fdw/arrow_fdw.h"
#include "pg/files/file_description.h"
#include "pg/files/file_list.h"
#include "pg/files/file_options.h"

typedef struct Columns
{
	StringInfoData text;  /* of CREATE FOREIGN TABLE */
	List		  *names; /* char * */
} Columns;

static bool
is_name_taken(const Columns *columns, const char *name)
{
	const ListCell *cell;

	foreach(cell, columns->names)
	{
		if (strcmp(lfirst(cell), name) == 0)
			return true;
	}
	return false;
}

/* A name in a file, where it is in UTF-8, as the server has texts. */
static char *
name_in_file(const char *name, const char *path)
{
	if (name[0] == '\0' || !pg_verify_mbstr(PG_UTF8, name, strlen(name), true))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_COLUMN_NAME),
				 errmsg("file \"%s\" has a column whose name cannot be imported", path)));
	return pg_any_to_server(name, strlen(name), PG_UTF8);
}

static void
add_imported_column(Columns *columns, const char *name, const char *type, const char *path)
{
	char *own = pstrdup(name);

	truncate_identifier(own, strlen(own), false);
	if (is_name_taken(columns, own))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_COLUMN),
				 errmsg("file \"%s\" has several columns \"%s\"", path, own)));
	appendStringInfo(&columns->text, "%s\n  %s %s", columns->names != NIL ? "," : "",
					 quote_identifier(own), type);
	if (strcmp(own, name) != 0)
		appendStringInfo(&columns->text, " OPTIONS (column_name %s)",
						 quote_literal_cstr(name));
	columns->names = lappend(columns->names, own);
}

static const char *
name_of_schema(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	const char *name = NULL;

	if (HeapTupleIsValid(tuple))
	{
		name = get_namespace_name(((Form_pg_type) GETSTRUCT(tuple))->typnamespace);
		ReleaseSysCache(tuple);
	}
	return name;
}

/* The type of a column that the file calls a geometry; NULL: it is imported as what it is
 * stored as. */
static const char *
geometry_type(const TbFileColumn *column)
{
	Oid			type = tb_postgis_geometry();
	const char *schema;

	if (column->geometry == NULL)
		return NULL;
	if (column->problem != NULL)
	{
		ereport(WARNING,
				(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
				 errmsg("column \"%s\" is not imported as geometry", column->name),
				 errdetail("The file calls it one, but %s.", column->problem)));
		return NULL;
	}
	if (!OidIsValid(type))
	{
		ereport(NOTICE,
				(errmsg("column \"%s\" is not imported as geometry", column->name),
				 errhint("Create the extension postgis first.")));
		return NULL;
	}
	schema = name_of_schema(type);
	if (schema == NULL)
		return NULL;
	return psprintf("%s.%s", quote_identifier(schema), column->geometry);
}

static void
add_file_columns(Columns *columns, const TbListedFile *file)
{
	TbFileVersion	   identity;
	int				   fd = tb_file_open(file->path, file->folder, &identity);
	TbFileDescription *description = tb_file_describe(file->path, fd, &identity);

	tb_file_close(fd);
	/* Columns in the file. */
	for (int i = 0; i < description->ncolumns; i++)
	{
		const TbFileColumn *column = &description->columns[i];
		const char		   *geometry = geometry_type(column);

		if (geometry != NULL)
			add_imported_column(columns, name_in_file(column->name, file->path), geometry,
								file->path);
		else if (column->sql_type == NULL)
			ereport(WARNING,
					(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
					 errmsg("column \"%s\" is not imported", column->name),
					 errdetail("There is no PostgreSQL type for %s.", column->arrow_type)));
		else
			add_imported_column(columns, name_in_file(column->name, file->path),
								column->sql_type, file->path);
	}
	/* Columns in its path. */
	for (int i = 0; i < file->nkeys; i++)
	{
		if (!is_name_taken(columns, file->keys[i].name))
			add_imported_column(columns, file->keys[i].name, "text", file->path);
	}
}

List *
tb_arrow_import(ImportForeignSchemaStmt *stmt, Oid server)
{
	TbFileOptions *options = tb_file_options_read(stmt->options);
	List		  *files;
	Columns		   columns = {.names = NIL};
	StringInfoData command;
	ListCell	  *cell;
	const char	  *separator = "";

	tb_file_options_validate(stmt->options, ForeignTableRelationId);
	/* The first file stands for all. */
	files = tb_file_list(options);
	if (files == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FILE),
				 errmsg("there is no file to import columns from")));
	initStringInfo(&columns.text);
	add_file_columns(&columns, linitial(files));

	/* The table takes over the options. */
	initStringInfo(&command);
	appendStringInfo(&command, "CREATE FOREIGN TABLE %s (%s\n) SERVER %s OPTIONS (",
					 quote_identifier(stmt->remote_schema), columns.text.data,
					 quote_identifier(GetForeignServer(server)->servername));
	foreach(cell, stmt->options)
	{
		DefElem *option = lfirst(cell);

		appendStringInfo(&command, "%s%s %s", separator, quote_identifier(option->defname),
						 quote_literal_cstr(defGetString(option)));
		separator = ", ";
	}
	appendStringInfoChar(&command, ')');
	return list_make1(command.data);
}
