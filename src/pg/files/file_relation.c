/*
 * file_relation.c - see file_relation.h.
 *
 * Owns nothing: PostgreSQL's caches know wrappers and their handlers. Called by the planner
 * and the executor.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "foreign/foreign.h"

#include "pg/files/file_relation.h"

extern Datum turbine_arrow_fdw_handler(PG_FUNCTION_ARGS);

PGFunction
tb_foreign_handler(Oid relid)
{
	Oid					server = GetForeignTable(relid)->serverid;
	ForeignDataWrapper *wrapper = GetForeignDataWrapper(GetForeignServer(server)->fdwid);
	FmgrInfo			handler;

	if (!OidIsValid(wrapper->fdwhandler))
		return NULL;
	fmgr_info(wrapper->fdwhandler, &handler);
	return handler.fn_addr;
}

bool
tb_is_file_table(Oid relid, char relkind)
{
	return relkind == RELKIND_FOREIGN_TABLE &&
		tb_foreign_handler(relid) == turbine_arrow_fdw_handler;
}
