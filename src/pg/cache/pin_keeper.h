/*
 * pin_keeper.h - workers that keep pinned tables loaded.
 */
#ifndef TURBINE_PG_CACHE_PIN_KEEPER_H
#define TURBINE_PG_CACHE_PIN_KEEPER_H

#include "postgres.h"

/* The supervisor's, once a round: starts a worker for a database with pinned tables that
 * has not been looked at for some time, and keeps the list of these databases over
 * restarts. */
extern void tb_pin_keepers_step(void);

/* The same at its end: what has changed since the last round is saved. */
extern void tb_pin_keepers_save(void);

/* A worker, which looks at its database once; its argument is its database. */
extern PGDLLEXPORT void tb_pin_keeper_main(Datum database);

#endif
