/*
 * arrow_fdw.h - callbacks of the foreign data wrapper that have files of their own.
 *
 * arrow_fdw.c makes the list of them; scans are its own.
 */
#ifndef TURBINE_PG_FDW_ARROW_FDW_H
#define TURBINE_PG_FDW_ARROW_FDW_H

#include "postgres.h"

#include "foreign/fdwapi.h"

/* in analyze.c: AnalyzeForeignTable */
extern bool tb_arrow_analyze(Relation relation, AcquireSampleRowsFunc *func,
							 BlockNumber *totalpages);

/* in import.c: ImportForeignSchema */
extern List *tb_arrow_import(ImportForeignSchemaStmt *stmt, Oid server);

/* in modify.c: adds the callbacks of INSERT, COPY and TRUNCATE */
extern void tb_arrow_add_modify(FdwRoutine *routine);

#endif
