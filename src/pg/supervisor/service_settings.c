/*
 * service_settings.c - see service_settings.h. Called by tb_supervisor_init.
 */
#include "postgres.h"

#include "utils/guc.h"

#include "pg/supervisor/service_settings.h"

char	   *tb_service_path = NULL;
int			tb_host_threads = 0;

void
tb_service_settings_init(void)
{
	DefineCustomStringVariable("pg_turbine.service_path",
							   "The program that runs as the pg_turbine service.",
							   "Empty means the one installed with the extension.",
							   &tb_service_path, "", PGC_POSTMASTER,
							   GUC_SUPERUSER_ONLY, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_turbine.host_threads",
							"Threads of the host device.",
							"0 means one for each processor.",
							&tb_host_threads, 0, 0, 1024, PGC_POSTMASTER,
							0, NULL, NULL, NULL);
}
