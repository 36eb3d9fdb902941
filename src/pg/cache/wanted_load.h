/*
 * wanted_load.h - loads into the column cache, in the background, columns that plans would
 * gain from.
 */
#ifndef TURBINE_PG_CACHE_WANTED_LOAD_H
#define TURBINE_PG_CACHE_WANTED_LOAD_H

#include "postgres.h"

/* By the supervisor, each round that finds the service up. True: a worker loads, so that
 * the next round should be soon. Must never raise for want of a worker. */
extern bool tb_wanted_load_step(void);

/* The worker of a database, whose OID is its argument. */
extern PGDLLEXPORT void tb_wanted_load_main(Datum database);

#endif
