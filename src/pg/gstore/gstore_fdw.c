/*
 * gstore_fdw.c - see gstore_fdw.h; and the SQL functions of the wrapper gstore_fdw.
 *
 * No foreign table ever belongs to this wrapper: CREATE FOREIGN TABLE makes an ordinary
 * table (foreign_syntax.c). So the handler refuses whoever wants to read a foreign table,
 * and the validator refuses to make one. Called by PostgreSQL and by foreign_syntax.c.
 * Must never accept the options of a foreign table.
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "nodes/parsenodes.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pg/cache/cache_policy.h"
#include "pg/gstore/gstore_fdw.h"

#define PINNING "pinning"

extern PGDLLEXPORT Datum turbine_gstore_fdw_handler(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_gstore_fdw_validator(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_gstore_fdw_handler);
PG_FUNCTION_INFO_V1(turbine_gstore_fdw_validator);

bool
tb_is_gstore_server(const ForeignServer *server)
{
	Oid		 function = GetForeignDataWrapper(server->fdwid)->fdwhandler;
	FmgrInfo handler;

	if (!OidIsValid(function))
		return false;
	fmgr_info(function, &handler);
	return handler.fn_addr == turbine_gstore_fdw_handler;
}

bool
tb_is_gstore(Oid relid, bool as_table)
{
	TbPin pin;
	char  kind = OidIsValid(relid) ? get_rel_relkind(relid) : '\0';

	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE &&
		(as_table || kind != RELKIND_MATVIEW))
		return false;
	return tb_cache_pin_of(relid, &pin);
}

static void
refuse_option(const DefElem *option, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
			 errmsg("invalid option \"%s\"", option->defname), errhint("%s", hint)));
}

static int
device_of_pinning(const char *value)
{
	int device;

	if (strcmp(value, "host") == 0)
		return TB_PIN_HOST;
	if (strspn(value, "0123456789") == strlen(value) && *value != '\0' &&
		tb_pin_parse_device(psprintf("gpu%s", value), &device))
		return device;
	if (strchr(value, ',') != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a table cannot be pinned to several GPUs"),
				 errhint("Name one GPU, or leave out the option \"%s\" for any GPU.",
						 PINNING)));
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
			 errmsg("invalid value for option \"%s\": \"%s\"", PINNING, value),
			 errhint("Valid values are the number of a GPU, and \"host\".")));
}

/* The options of a table that is pinned to a device, as pg_foreign_table would have them.
 */
static Datum
options_of_device(int device)
{
	Datum option;

	if (device == TB_PIN_ANY_GPU)
		return (Datum) 0;
	option = CStringGetTextDatum(device == TB_PIN_HOST ? PINNING "=host" :
														 psprintf(PINNING "=%d", device));
	return PointerGetDatum(construct_array(&option, 1, TEXTOID, -1, false, TYPALIGN_INT));
}

int
tb_gstore_device(int device, List *changes)
{
	Datum	  options = transformGenericOptions(ForeignTableRelationId,
												options_of_device(device), changes, InvalidOid);
	ListCell *lc;

	device = TB_PIN_ANY_GPU;
	foreach(lc, untransformRelOptions(options))
	{
		DefElem *option = lfirst(lc);

		if (strcmp(option->defname, PINNING) != 0)
			refuse_option(option, "The valid option is " PINNING ".");
		device = device_of_pinning(defGetString(option));
	}
	return device;
}

void
tb_gstore_check_column(List *options)
{
	if (options != NIL)
		refuse_option(linitial(options), "Columns of gstore_fdw have no options.");
}

Datum
turbine_gstore_fdw_handler(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("gstore_fdw neither reads nor imports foreign tables"),
			 errdetail("CREATE FOREIGN TABLE makes an ordinary table, which is pinned.")));
	PG_RETURN_NULL();
}

Datum
turbine_gstore_fdw_validator(PG_FUNCTION_ARGS)
{
	List *options = untransformRelOptions(PG_GETARG_DATUM(0));
	Oid	  catalog = PG_GETARG_OID(1);

	if (catalog == ForeignTableRelationId || catalog == AttributeRelationId)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("gstore_fdw has no foreign tables"),
				 errdetail("CREATE FOREIGN TABLE makes an ordinary table, but pg_turbine "
						   "has not seen the statement."),
				 errhint("Put pg_turbine last in shared_preload_libraries, and restart "
						 "the server.")));
	if (options != NIL)
		refuse_option(linitial(options), "There are no valid options here.");
	PG_RETURN_VOID();
}
