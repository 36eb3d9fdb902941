/*
 * supervisor.h - the background worker that keeps turbined running.
 */
#ifndef TURBINE_PG_SUPERVISOR_H
#define TURBINE_PG_SUPERVISOR_H

#include "postgres.h"

/* Relative to the data directory, which is everyone's working directory: so
 * that it is short whatever the data directory is called. */
#define TB_SERVICE_DIRECTORY "pg_turbine"
#define TB_SOCKET_PATH "pg_turbine/turbined.sock"
#define TB_CACHE_DIRECTORY "pg_turbine/cache"

/* Called by _PG_init while shared_preload_libraries are loaded: shared
 * memory, the service's settings, and the worker's registration. */
extern void tb_supervisor_init(void);

/* The worker. */
extern PGDLLEXPORT void tb_supervisor_main(Datum main_arg);

#endif
