/*
 * reggstore.c - the type reggstore: a regclass that names a pinned table.
 *
 * Values are OIDs. They are checked where they come in, so a table that is unpinned or
 * dropped later stays in values that were made before. Called by SQL. Must show what
 * regclass shows.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pg/cache/cache_policy.h"
#include "pg/gstore/gstore_fdw.h"

extern PGDLLEXPORT Datum turbine_reggstore_in(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_reggstore_out(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_reggstore_recv(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_reggstore_send(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_reggstore_of(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_reggstore_in);
PG_FUNCTION_INFO_V1(turbine_reggstore_out);
PG_FUNCTION_INFO_V1(turbine_reggstore_recv);
PG_FUNCTION_INFO_V1(turbine_reggstore_send);
PG_FUNCTION_INFO_V1(turbine_reggstore_of);

/* 0 is no table, which regclass shows as "-". */
static Datum
checked_reggstore(Datum value)
{
	Oid relid = DatumGetObjectId(value);

	if (!OidIsValid(relid))
		return value;
	tb_cache_require_relation(relid);
	if (!tb_is_gstore(relid, false))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a pinned table", get_rel_name(relid)),
				 errhint("Call turbine.pin() first.")));
	return value;
}

Datum
turbine_reggstore_in(PG_FUNCTION_ARGS)
{
	return checked_reggstore(DirectFunctionCall1(regclassin, PG_GETARG_DATUM(0)));
}

Datum
turbine_reggstore_out(PG_FUNCTION_ARGS)
{
	return DirectFunctionCall1(regclassout, PG_GETARG_DATUM(0));
}

Datum
turbine_reggstore_recv(PG_FUNCTION_ARGS)
{
	return checked_reggstore(DirectFunctionCall1(regclassrecv, PG_GETARG_DATUM(0)));
}

Datum
turbine_reggstore_send(PG_FUNCTION_ARGS)
{
	return DirectFunctionCall1(regclasssend, PG_GETARG_DATUM(0));
}

/* Of a regclass or an oid. */
Datum
turbine_reggstore_of(PG_FUNCTION_ARGS)
{
	return checked_reggstore(PG_GETARG_DATUM(0));
}
