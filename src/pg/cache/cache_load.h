/*
 * cache_load.h - reads tables into the column cache before anybody asks for them.
 */
#ifndef TURBINE_PG_CACHE_CACHE_LOAD_H
#define TURBINE_PG_CACHE_CACHE_LOAD_H

#include "postgres.h"

#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "utils/array.h"

/*
 * Loads columns of one table with storage, onto a device as pg_turbine.device names it, in
 * passes of as many as one program takes. Those of types that devices do not know are left
 * out. In a transaction with a snapshot, and under a lock of the table. What is read is
 * what a query would: under its snapshot and the rights of the current user. Raises
 * PostgreSQL's errors, and for want of the service.
 */
extern void tb_cache_load(Oid relid, const Bitmapset *attnums, const char *device);

/* The same of several tables, which are locked: `top` and partitions or children of it,
 * where columns have the numbers of `top`; NULL: all columns. Says what is not loaded, and
 * why. Returns what is cached of them then. */
extern uint64 tb_cache_load_tables(Oid top, List *tables, const Bitmapset *attnums,
								   const char *device);

/* A table's columns by their names. Raises errors for those that it has not, and for none.
 */
extern Bitmapset *tb_columns_of_names(Oid relid, ArrayType *names);

/* Does a load run in this backend? */
extern bool tb_cache_is_loading(void);

/* What is cached of a table in bytes. */
extern uint64 tb_cached_bytes(Oid relid);

#endif
