/*
 * wanted_columns.h - columns of tables that plans would gain from, if they were in the
 * column cache: what backends ask a background load for, and what became of it.
 *
 * Advice, nothing more: there are few places, and what finds none is not loaded. All of it
 * is lost with the postmaster, and what was loaded also with the service.
 */
#ifndef TURBINE_PG_SHMEM_WANTED_COLUMNS_H
#define TURBINE_PG_SHMEM_WANTED_COLUMNS_H

#include "postgres.h"

#include "access/htup_details.h"
#include "datatype/timestamp.h"
#include "nodes/bitmapset.h"
#include "storage/block.h"

typedef enum TbWantedState
{
	TB_WANTED_FREE,
	TB_WANTED_WAITING,
	TB_WANTED_LOADING,
	TB_WANTED_ENDED /* loaded, or not: nobody asks for the same columns for a while */
} TbWantedState;

/* A bit for each attribute number. */
#define TB_WANTED_WORDS (MaxHeapAttributeNumber / 64 + 1)

typedef struct TbWantedTable
{
	TbWantedState state;
	Oid			  database;
	Oid			  relid; /* with storage: a leaf */
	BlockNumber	  next;	 /* the first block that is not loaded yet */
	uint64		  generation;
	TimestampTz	  ended_at;
	TimestampTz	  not_before; /* it is not loaded any further */
	uint64		  columns[TB_WANTED_WORDS];
} TbWantedTable;

/* More tables are not loaded at a time. */
#define TB_MAX_WANTED 64

/* The same columns of a table are loaded again after this time at the earliest. */
#define TB_WANTED_AGAIN_MS 600000

/* Asks for columns of a table of this database, and wakes the supervisor if that is new. */
extern void tb_wanted_columns_ask(Oid relid, const Bitmapset *columns);

/* Whether columns of the table wait to be loaded, or are being loaded. Takes no lock:
 * asked for each table that is planned. */
extern bool tb_wanted_columns_are_coming(Oid relid);

/* A database that has tables waiting, to be loaded now; invalid: there is none. */
extern Oid tb_wanted_columns_database(void);

/* By the one that loads: the next table of this database that waits, its columns, in the
 * current memory context, and where to begin. False: there is none. */
extern bool tb_wanted_columns_take(Oid *relid, Bitmapset **columns, BlockNumber *next);
/* It waits again, to be loaded from a block on at a later time. */
extern void tb_wanted_columns_pause(Oid relid, BlockNumber next, TimestampTz not_before);
/* Its load has ended. */
extern void tb_wanted_columns_end(Oid relid);

/* How many were ever taken, of all databases. */
extern uint64 tb_wanted_columns_taken(void);

/* Nobody loads in the database: what was being loaded has ended. `all`: nothing of it is
 * waited for either, since it was dropped, say, or takes no connections. */
extern void tb_wanted_columns_forsake(Oid database, bool all);

#endif
