/*
 * file_relation.c - see file_relation.h.
 *
 * The wrapper is known by its handler, whatever a user has called it.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "fmgr.h"
#include "foreign/foreign.h"

#include "pg/files/file_relation.h"

extern Datum turbine_arrow_fdw_handler(PG_FUNCTION_ARGS);

bool
tb_is_file_table(Oid relid, char relkind)
{
	ForeignDataWrapper *wrapper;
	FmgrInfo			handler;

	if (relkind != RELKIND_FOREIGN_TABLE)
		return false;
	wrapper = GetForeignDataWrapper(
		GetForeignServer(GetForeignTable(relid)->serverid)->fdwid);
	if (!OidIsValid(wrapper->fdwhandler))
		return false;
	fmgr_info(wrapper->fdwhandler, &handler);
	return handler.fn_addr == turbine_arrow_fdw_handler;
}
