/*
 * cache_load.h - reads tables into the column cache before anybody asks for them.
 */
#ifndef TURBINE_PG_CACHE_CACHE_LOAD_H
#define TURBINE_PG_CACHE_CACHE_LOAD_H

#include "postgres.h"

#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "storage/block.h"
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

/*
 * Loads, as tb_cache_load, the blocks from `first` on, `end` not included, onto the host,
 * and shows no progress. False: turbined did not read them, and PostgreSQL's plan has read
 * the whole table in its place.
 */
extern bool tb_cache_load_blocks(Oid relid, const Bitmapset *attnums, BlockNumber first,
								 BlockNumber end);

/* By the sources of a query: the blocks of which the load of this backend is. False: it is
 * of all, or there is none. */
extern bool tb_cache_load_range(BlockNumber *first, BlockNumber *end);

/* By the sources of a query, when turbined has come to the end of their blocks. */
extern void tb_cache_load_note_read(void);

/* Passes over the table that a load of so many columns takes. */
extern int tb_cache_load_passes(const Bitmapset *attnums);

/* Whether there is room for another load: what would push out what is cached is not loaded
 * unasked. */
extern bool tb_cache_has_room(void);

/* A table's columns by their names. Raises errors for those that it has not, and for none.
 */
extern Bitmapset *tb_columns_of_names(Oid relid, ArrayType *names);

/* Does a load run in this backend? */
extern bool tb_cache_is_loading(void);

/* What is cached of a table in bytes. */
extern uint64 tb_cached_bytes(Oid relid);

#endif
