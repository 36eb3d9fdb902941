/*
 * cache_autoload.h - what was cached when the server was stopped is cached again when it
 * starts.
 *
 * The supervisor writes a list of cached columns now and then, and as it ends. At its first
 * start with a service it has the list's tables loaded, by one worker a database, one after
 * the other. Of more than 1,024 databases the first in the list are loaded; the log tells
 * of the others.
 */
#ifndef TURBINE_PG_CACHE_CACHE_AUTOLOAD_H
#define TURBINE_PG_CACHE_CACHE_AUTOLOAD_H

#include "postgres.h"

/* By the supervisor, each round that finds the service up. True: tables are being loaded,
 * so that the next round should be soon. Must never raise for want of a worker, a file or
 * an answer. */
extern bool tb_cache_autoload_step(void);

/* By the supervisor, before it stops the service. */
extern void tb_cache_autoload_save(void);

/* The worker of a database, whose OID is its argument. */
extern PGDLLEXPORT void tb_cache_autoload_main(Datum database);

#endif
