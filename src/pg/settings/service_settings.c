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
bool  tb_cache_background_load = true;
int	  tb_admission_wait_ms = 0;
int	  tb_compile_wait_ms = 0;
char *tb_export_socket_setting = NULL;
int	  tb_export_lifetime_s = 0;

void
tb_service_settings_init(void)
{
	DefineCustomStringVariable("pg_turbine.service_path",
							   "Sets the path of the service's program.",
							   "Empty means the one that is installed with the extension.",
							   &tb_service_path, "", PGC_POSTMASTER, GUC_SUPERUSER_ONLY,
							   NULL, NULL, NULL);
	DefineCustomIntVariable("pg_turbine.host_threads",
							"Sets the number of threads that run queries on the CPU.",
							"0 means one for each processor that the server may use. Lower "
							"it to leave processors to other work.",
							&tb_host_threads, 0, 0, 1024, PGC_POSTMASTER, 0, NULL, NULL,
							NULL);
	DefineCustomIntVariable("pg_turbine.memory_budget",
							"Sets the maximum host memory of all accelerated queries.",
							"0 means a quarter of the memory that the machine or the "
							"container has. A query that does not fit waits for "
							"pg_turbine.admission_wait, then PostgreSQL runs it.",
							&tb_memory_budget_mb, 0, 0, INT_MAX, PGC_POSTMASTER,
							GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_turbine.cache_size_host",
							"Sets the host memory of the column cache.",
							"-1 means a quarter of the memory that the machine or the "
							"container has, 0 means no cache. It comes on top of "
							"pg_turbine.memory_budget and shared_buffers.",
							&tb_cache_size_host_mb, -1, -1, INT_MAX, PGC_POSTMASTER,
							GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_turbine.cache_size_gpu",
							"Sets the memory of each GPU for copies of cached columns.",
							"-1 means 40 percent of the GPU memory that queries may use, 0 "
							"means no copies.",
							&tb_cache_size_gpu_mb, -1, -1, INT_MAX, PGC_POSTMASTER,
							GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomBoolVariable("pg_turbine.cache_autoload",
							 "Loads after a start the columns that were cached before it.",
							 "Turn it off if reading the tables would disturb the first "
							 "minutes after a start.",
							 &tb_cache_autoload, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable(
		"pg_turbine.cache_background_load",
		"Loads in the background columns that queries would gain from.",
		"Queries whose plan scans a table without them ask for it. "
		"While other sessions run statements, loading takes a tenth "
		"of the time.",
		&tb_cache_background_load, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_turbine.admission_wait",
							"Sets how long a query may wait for device memory.",
							"After that the host runs it instead of a GPU, or, "
							"without memory there either, PostgreSQL's own plan does. "
							"A session that already runs something on a device does "
							"not wait.",
							&tb_admission_wait_ms, 1000, 0, INT_MAX, PGC_USERSET,
							GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomStringVariable(
		"pg_turbine.export_socket",
		"Sets the path of the socket at which tokens of exports are "
		"redeemed.",
		"Empty means beside the server's own socket, none that nothing "
		"is exported. Every user may connect to it.",
		&tb_export_socket_setting, "", PGC_POSTMASTER, GUC_SUPERUSER_ONLY, NULL, NULL,
		NULL);
	DefineCustomIntVariable(
		"pg_turbine.export_lifetime", "Sets how long a token of an export may be redeemed.",
		"It ends with its session in any case. Tokens that are kept last "
		"until they are released.",
		&tb_export_lifetime_s, 600, 1, INT_MAX, PGC_USERSET, GUC_UNIT_S, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_turbine.compile_wait",
							"How long a query may wait for its code to be compiled.",
							"After that the host runs it instead of a GPU, or PostgreSQL's "
							"own plan does; the compilation goes on for later queries. 0 "
							"means as long as it takes.",
							&tb_compile_wait_ms, 1000, 0, INT_MAX, PGC_USERSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
}
