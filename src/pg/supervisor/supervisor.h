/*
 * supervisor.h - the background worker that keeps turbined running.
 */
#ifndef TURBINE_PG_SUPERVISOR_SUPERVISOR_H
#define TURBINE_PG_SUPERVISOR_SUPERVISOR_H

#include "postgres.h"

/* Called by _PG_init while shared_preload_libraries are loaded: shared
 * memory, the service's settings, and the worker's registration. */
extern void tb_supervisor_init(void);

/* The worker. */
extern PGDLLEXPORT void tb_supervisor_main(Datum main_arg);

#endif
