/*
 * cache_load.h - reads tables into the column cache before anybody asks for them.
 */
#ifndef TURBINE_PG_CACHE_CACHE_LOAD_H
#define TURBINE_PG_CACHE_CACHE_LOAD_H

#include "postgres.h"

#include "nodes/bitmapset.h"

/*
 * Loads columns of one table with storage, in passes of as many as one program takes. Those
 * of types that devices do not know are left out. In a transaction with a snapshot, and
 * under a lock of the table. What is read is what a query would: under its snapshot and
 * the rights of the current user. Raises PostgreSQL's errors, and for want of the service.
 */
extern void tb_cache_load(Oid relid, const Bitmapset *attnums);

/* Does a load run in this backend? */
extern bool tb_cache_is_loading(void);

/* What is cached of a table in bytes. */
extern uint64 tb_cached_bytes(Oid relid);

#endif
