/*
 * handler.c - the SQL functions of the foreign data wrapper arrow_fdw.
 *
 * arrow_fdw reads Arrow and Parquet files and adds rows to Arrow files. It needs no
 * service: a backend has them read by turbine-file-reader (pg/files) and written by
 * turbine-file-writer (pg/export). Called by PostgreSQL for foreign tables of arrow_fdw.
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "fmgr.h"

#include "pg/fdw/arrow_fdw.h"
#include "pg/files/file_options.h"

extern PGDLLEXPORT Datum turbine_arrow_fdw_handler(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_arrow_fdw_validator(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(turbine_arrow_fdw_handler);
PG_FUNCTION_INFO_V1(turbine_arrow_fdw_validator);

Datum
turbine_arrow_fdw_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	routine->GetForeignRelSize = tb_arrow_rel_size;
	routine->GetForeignPaths = tb_arrow_paths;
	routine->GetForeignPlan = tb_arrow_plan;
	routine->BeginForeignScan = tb_arrow_begin;
	routine->IterateForeignScan = tb_arrow_next;
	routine->ReScanForeignScan = tb_arrow_rescan;
	routine->EndForeignScan = tb_arrow_end;
	routine->ExplainForeignScan = tb_arrow_explain;
	routine->AnalyzeForeignTable = tb_arrow_analyze;
	routine->ImportForeignSchema = tb_arrow_import;
	routine->IsForeignRelUpdatable = tb_arrow_updatable;
	routine->PlanForeignModify = tb_arrow_plan_modify;
	routine->BeginForeignModify = tb_arrow_begin_modify;
	routine->ExecForeignInsert = tb_arrow_insert;
	routine->EndForeignModify = tb_arrow_end_insert;
	routine->BeginForeignInsert = tb_arrow_begin_insert;
	routine->EndForeignInsert = tb_arrow_end_insert;
	routine->ExecForeignTruncate = tb_arrow_truncate;
	PG_RETURN_POINTER(routine);
}

Datum
turbine_arrow_fdw_validator(PG_FUNCTION_ARGS)
{
	tb_file_options_validate(untransformRelOptions(PG_GETARG_DATUM(0)), PG_GETARG_OID(1));
	PG_RETURN_VOID();
}
