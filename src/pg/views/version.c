/*
 * version.c - turbine.version: the release that this library is.
 *
 * Called by SQL. The only file that is compiled with the release's number, so that another
 * number compiles no other file again. The protocol between backend and service has a
 * version of its own (TB_WIRE_VERSION).
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

extern PGDLLEXPORT Datum turbine_version(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_version);

Datum
turbine_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(TURBINE_VERSION));
}
