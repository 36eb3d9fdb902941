/*
 * module.c - the extension's entry: makes the settings, nodes, hooks and the supervisor
 * known to PostgreSQL.
 *
 * The postmaster calls _PG_init once, while it loads shared_preload_libraries. This file
 * holds nothing else. Start reading at src/pg/README.md.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufpage.h"
#include "utils/guc.h"

#include "turbine/types.h"

#include "pg/cache/cache_policy.h"
#include "pg/gstore/foreign_syntax.h"
#include "pg/settings/guc.h"
#include "pg/settings/plcuda_settings.h"
#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/distinct/gpu_distinct.h"
#include "pg/nodes/join/gpu_join.h"
#include "pg/nodes/scan/column_scan.h"
#include "pg/nodes/scan/gpu_scan.h"
#include "pg/nodes/sort/gpu_sort.h"
#include "pg/nodes/hooks/path_hooks.h"
#include "pg/nodes/hooks/planner_hook.h"
#include "pg/plcuda/runner.h"
#include "pg/profile/trace_file.h"
#include "pg/results/export_session.h"
#include "pg/supervisor/supervisor.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

StaticAssertDecl(BLCKSZ == TB_PAGE_SIZE, "the engine reads pages of 8 kB");
StaticAssertDecl(SIZEOF_DATUM == 8, "the engine needs a 64-bit server");

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("pg_turbine must be loaded via shared_preload_libraries"),
				 errhint("Add pg_turbine to shared_preload_libraries, and restart the "
						 "server.")));

	tb_guc_init();
	tb_plcuda_settings_init();
	tb_trace_file_init();
	tb_cache_policy_init();
	tb_foreign_syntax_init();
	tb_supervisor_init();
	MarkGUCPrefixReserved("pg_turbine");
	tb_scan_init();
	tb_column_scan_init();
	tb_join_init();
	tb_preagg_init();
	tb_gpu_distinct_init();
	tb_sort_init();
	tb_planner_hook_init();
	tb_path_hooks_init();
	tb_export_memory_is_short = tb_plcuda_release_copies;
}
