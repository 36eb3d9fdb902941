/*
 * database_worker.h - a background worker that the supervisor starts in one database.
 */
#ifndef TURBINE_PG_CACHE_DATABASE_WORKER_H
#define TURBINE_PG_CACHE_DATABASE_WORKER_H

#include "postgres.h"

#include "postmaster/bgworker.h"

/* Starts a worker that calls this function of the library with the database as its
 * argument. NULL: there is no place for it now. Lasts until is_at_work() says that it has
 * ended. */
extern BackgroundWorkerHandle *tb_database_worker_start(const char *name,
														const char *function, Oid database);

/* In such a worker: calls in a transaction of its own, with a snapshot. An error is logged,
 * and ends that transaction alone. */
extern void tb_in_own_transaction(void (*call)(void *argument), void *argument);

/* False once it has ended; then *worker is NULL. */
extern bool tb_database_worker_is_at_work(BackgroundWorkerHandle **worker);

#endif
