/*
 * file_options.c - reads and checks options: see file_options.h. Called by the
 * validator, the planner and the executor. Looks at no file.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_foreign_table.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "pg/files/file_options.h"
#include "pg/files/file_pattern.h"

typedef struct KnownOption
{
	const char *name;
	Oid			catalog;
} KnownOption;

static const KnownOption known_options[] = {
	{"file", ForeignTableRelationId},	  {"files", ForeignTableRelationId},
	{"dir", ForeignTableRelationId},	  {"suffix", ForeignTableRelationId},
	{"pattern", ForeignTableRelationId},  {"writable", ForeignTableRelationId},
	{"column_name", AttributeRelationId},
};

void
tb_file_options_check_role(Oid role)
{
	if (!has_privs_of_role(role, ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to read server files"),
				 errdetail("Role \"%s\" has no privileges of \"pg_read_server_files\".",
						   GetUserNameFromId(role, true)),
				 errhint("Only superusers and roles with privileges of the "
						 "\"pg_read_server_files\" role may name files of the server.")));
}

void
tb_file_options_check_writer(Oid role)
{
	if (!has_privs_of_role(role, ROLE_PG_WRITE_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to write server files"),
				 errdetail("Role \"%s\" has no privileges of \"pg_write_server_files\".",
						   GetUserNameFromId(role, true)),
				 errhint("Only superusers and roles with privileges of the "
						 "\"pg_write_server_files\" role may have writable tables.")));
}

static void
check_known(const DefElem *option, Oid catalog)
{
	bool any = false;

	for (int i = 0; i < lengthof(known_options); i++)
	{
		if (known_options[i].catalog != catalog)
			continue;
		if (strcmp(known_options[i].name, option->defname) == 0)
			return;
		any = true;
	}
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
			 errmsg("invalid option \"%s\"", option->defname),
			 catalog == ForeignTableRelationId ?
				 errhint("Valid options are file, files, dir, suffix, pattern and "
						 "writable.") :
				 any ? errhint("The valid option is column_name.") :
					   errhint("There are no valid options here.")));
}

static char *
absolute_path(const DefElem *option, char *path)
{
	if (!is_absolute_path(path))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("option \"%s\" requires absolute paths", option->defname),
				 errdetail("\"%s\" is a relative path.", path)));
	return path;
}

/* Paths that commas separate; blanks around them do not count. */
static List *
split_paths(const DefElem *option)
{
	List *paths = NIL;
	char *rest = pstrdup(defGetString((DefElem *) option));

	for (char *comma = rest; comma != NULL;)
	{
		char *path = rest;
		char *end;

		/* Up to the next comma. */
		comma = strchr(rest, ',');
		if (comma != NULL)
		{
			*comma = '\0';
			rest = comma + 1;
		}
		/* Blanks around paths do not count. */
		while (*path == ' ')
			path++;
		end = path + strlen(path);
		while (end > path && end[-1] == ' ')
			*--end = '\0';
		paths = lappend(paths, absolute_path(option, path));
	}
	return paths;
}

TbFileOptions *
tb_file_options_read(List *options)
{
	TbFileOptions *read = palloc0(sizeof(TbFileOptions));
	int			   places = 0;
	bool		   is_one_file = false;
	ListCell	  *cell;

	/* Read each option */
	foreach(cell, options)
	{
		DefElem *option = lfirst(cell);

		if (strcmp(option->defname, "file") == 0)
		{
			read->paths = list_make1(absolute_path(option, defGetString(option)));
			is_one_file = true;
		}
		else if (strcmp(option->defname, "files") == 0)
			read->paths = split_paths(option);
		else if (strcmp(option->defname, "dir") == 0)
			read->dir = absolute_path(option, defGetString(option));
		else if (strcmp(option->defname, "pattern") == 0)
			read->pattern = absolute_path(option, defGetString(option));
		else if (strcmp(option->defname, "suffix") == 0)
		{
			read->suffix = defGetString(option);
			continue;
		}
		else if (strcmp(option->defname, "writable") == 0)
		{
			read->writable = defGetBoolean(option);
			continue;
		}
		else
			continue;
		places++;
	}
	/* Refuse what contradicts itself */
	if (places != 1)
		ereport(
			ERROR,
			(errcode(places == 0 ? ERRCODE_FDW_DYNAMIC_PARAMETER_VALUE_NEEDED :
								   ERRCODE_FDW_INVALID_OPTION_NAME),
			 errmsg(
				 "exactly one of the options file, files, dir and pattern is required")));
	if (read->suffix != NULL && read->dir == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("option \"suffix\" requires option \"dir\"")));
	if (read->writable && !is_one_file)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("option \"writable\" requires option \"file\""),
				 errdetail("Rows are written to one Arrow IPC file.")));
	if (read->pattern != NULL)
		tb_file_pattern_check(read->pattern);
	return read;
}

void
tb_file_options_validate(List *options, Oid catalog)
{
	ListCell *cell;

	foreach(cell, options)
		check_known(lfirst(cell), catalog);
	if (catalog != ForeignTableRelationId)
		return;
	tb_file_options_check_role(GetUserId());
	if (tb_file_options_read(options)->writable)
		tb_file_options_check_writer(GetUserId());
}

TbFileOptions *
tb_file_options_of_writable(Oid relid, Oid owner)
{
	TbFileOptions *options = tb_file_options_read(GetForeignTable(relid)->options);

	if (!options->writable)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("foreign table \"%s\" is not writable", get_rel_name(relid)),
				 errhint("Set its option \"writable\" to true.")));
	tb_file_options_check_role(owner);
	tb_file_options_check_writer(owner);
	return options;
}

char *
tb_file_options_column_name(Oid relid, AttrNumber attnum)
{
	ListCell *cell;

	foreach(cell, GetForeignColumnOptions(relid, attnum))
	{
		DefElem *option = lfirst(cell);

		if (strcmp(option->defname, "column_name") == 0)
			return defGetString(option);
	}
	return get_attname(relid, attnum, false);
}
