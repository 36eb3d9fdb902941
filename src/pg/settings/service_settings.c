/*
 * service_settings.c - see service_settings.h. Called by tb_supervisor_init.
 *
 * Owns the variables; everyone else reads them. They must be defined before the
 * supervisor is registered.
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "pg/settings/service_settings.h"

char *tb_service_path = NULL;
int	  tb_host_threads = 0;
int	  tb_memory_budget_mb = 0;
int	  tb_cache_size_gpu_mb = -1;
int	  tb_cache_size_host_mb = -1;
bool  tb_cache_autoload = true;
int	  tb_admission_wait_ms = 0;
int	  tb_compile_wait_ms = 0;

void
tb_service_settings_init(void)
{
	DefineCustomStringVariable("pg_turbine.service_path",
							   "The program that runs as the pg_turbine service.",
							   "Empty means the one installed with the extension.",
							   &tb_service_path, "", PGC_POSTMASTER, GUC_SUPERUSER_ONLY,
							   NULL, NULL, NULL);
	DefineCustomIntVariable("pg_turbine.host_threads", "Threads of the host device.",
							"0 means one for each processor.", &tb_host_threads, 0, 0, 1024,
							PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_turbine.memory_budget",
							"Host memory that accelerated queries may use together.",
							"0 means a quarter of the machine's.", &tb_memory_budget_mb, 0,
							0, INT_MAX, PGC_POSTMASTER, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_turbine.cache_size_host",
							"Host memory that columns of tables are kept in.",
							"-1 means a quarter of the machine's, 0 none.",
							&tb_cache_size_host_mb, -1, -1, INT_MAX, PGC_POSTMASTER,
							GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_turbine.cache_size_gpu",
							"Memory of each GPU that columns of tables are kept in.",
							"-1 means 40 percent of what queries may use, 0 none.",
							&tb_cache_size_gpu_mb, -1, -1, INT_MAX, PGC_POSTMASTER,
							GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomBoolVariable("pg_turbine.cache_autoload",
							 "Loads after a start what was cached before it.", NULL,
							 &tb_cache_autoload, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_turbine.admission_wait",
							"How long a query may wait for device memory.",
							"After that PostgreSQL's own plan runs. A session that "
							"already runs something on a device never waits.",
							&tb_admission_wait_ms, 1000, 0, INT_MAX, PGC_USERSET,
							GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_turbine.compile_wait",
							"How long a query may wait for its code to be compiled.",
							"After that the host runs it instead of a GPU, or PostgreSQL's "
							"own plan does; the compilation goes on for later queries. 0 "
							"means as long as it takes.",
							&tb_compile_wait_ms, 1000, 0, INT_MAX, PGC_USERSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
}
