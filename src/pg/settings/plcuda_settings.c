/*
 * plcuda_settings.c - see plcuda_settings.h. Called by _PG_init.
 *
 * Owns the variables; src/pg/plcuda reads them.
 */
#include "postgres.h"

#include "utils/guc.h"

#include "pg/settings/plcuda_settings.h"

char *tb_cuda_home = NULL;
int	  tb_plcuda_processes = 0;
int	  tb_plcuda_memory_mb = 0;
int	  tb_plcuda_cache_mb = 0;

StaticAssertDecl(TB_PLCUDA_MOST_PROCESSES == 64, "the setting's limit");

void
tb_plcuda_settings_init(void)
{
	DefineCustomStringVariable(
		"pg_turbine.cuda_home", "Sets the folder of the CUDA toolkit for LANGUAGE plcuda.",
		"It holds bin/nvcc. Empty means the one that is found: in the "
		"server's PATH, in /usr/local/cuda, or where "
		"install_cuda_compiler.sh has put it.",
		&tb_cuda_home, "", PGC_SUSET, GUC_SUPERUSER_ONLY, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"pg_turbine.plcuda_processes",
		"Sets the maximum number of processes that run functions of "
		"LANGUAGE plcuda.",
		"A session has one of them, and keeps it until it has been idle "
		"for a minute or another session needs it. More calls at a time "
		"wait.",
		&tb_plcuda_processes, 2, 1, 64, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_turbine.plcuda_memory",
							"Sets the maximum host memory of each process that runs or "
							"compiles functions of LANGUAGE plcuda.",
							"A call that needs more fails, and with it its process. Raise "
							"it if functions take large arrays or tables on a machine "
							"without a GPU.",
							&tb_plcuda_memory_mb, 4096, 256, 1024 * 1024, PGC_SUSET,
							GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_turbine.plcuda_cache_size",
							"Sets how much of the data directory compiled functions of "
							"LANGUAGE plcuda may take.",
							"Beyond it, those that were not used for longest are removed, "
							"and compiled again when they are called.",
							&tb_plcuda_cache_mb, 1024, 1, 1024 * 1024, PGC_SIGHUP,
							GUC_UNIT_MB, NULL, NULL, NULL);
}
