/*
 * wanted_load.c - see wanted_load.h.
 *
 * Planning asks for columns (planner/program/column_hints.c), the supervisor starts a
 * worker in their database, one at a time, and the worker loads what is asked for there and
 * ends.
 *
 * A table is loaded in slices, each a query in a transaction of its own: so no snapshot
 * grows old, nobody waits long for a lock of the table, and before each slice the worker
 * looks whether there is still room and whether others need the processors. If any session
 * runs a statement, the worker rests nine times as long as the slice took. A worker ends
 * after some seconds, and another one goes on a while later, so that DROP DATABASE finds a
 * moment in which none is there.
 *
 * Must never wait for a lock, push anything out of the cache, or load what a table's
 * policy forbids. What a query would not keep, a load does not keep either.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "turbine/wire.h"

#include "pg/cache/cache_load.h"
#include "pg/cache/cache_policy.h"
#include "pg/cache/database_worker.h"
#include "pg/cache/wanted_load.h"
#include "pg/compat/pg16.h"
#include "pg/settings/service_settings.h"
#include "pg/shmem/cache_progress.h"
#include "pg/shmem/device_list.h"
#include "pg/shmem/wanted_columns.h"

/* Blocks of a slice: whole segments of the store, which begin anew at each page of the
 * visibility map. */
#define SLICE_BLOCKS 4096

/* While others run statements, so many times what a slice took is rest. */
#define REST_TIMES 9
/* Looks at what others do while resting. */
#define LOOK_EVERY_MS 20

/* A worker begins no further slice after so long. Between two of them: longer than DROP
 * DATABASE, which waits for five seconds, takes between two looks. */
#define WORKER_LIFE_MS 2000
#define BETWEEN_WORKERS_MS 300

/* == The supervisor's side == */

static BackgroundWorkerHandle *wanted_loader;	/* NULL: none */
static Oid					   loader_database; /* in which it is */
static uint64				   taken_before;	/* it began */
static TimestampTz			   next_loader;		/* when it may be started */

static void
note_loader_ended(void)
{
	/* One that took nothing could not connect: another one could not either. */
	tb_wanted_columns_forsake(loader_database, tb_wanted_columns_taken() == taken_before);
	loader_database = InvalidOid;
	next_loader = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), BETWEEN_WORKERS_MS);
}

bool
tb_wanted_load_step(void)
{
	Oid database;

	if (tb_database_worker_is_at_work(&wanted_loader))
		return true;
	if (OidIsValid(loader_database))
		note_loader_ended();
	database = tb_wanted_columns_database();
	if (!OidIsValid(database))
		return false;
	if (GetCurrentTimestamp() < next_loader)
		return true;
	taken_before = tb_wanted_columns_taken();
	if (tb_cache_background_load)
		wanted_loader = tb_database_worker_start("pg_turbine background loader",
												 "tb_wanted_load_main", database);
	/* Without a worker nobody is to wait for one. */
	if (wanted_loader == NULL)
		tb_wanted_columns_forsake(database, true);
	else
		loader_database = database;
	return wanted_loader != NULL;
}

/* == A worker == */

/* A table on its way into the cache. */
typedef struct WantedLoad
{
	Oid			relid;
	Bitmapset  *columns;
	BlockNumber next;	/* the first block of the next slice */
	int			rounds; /* transactions so far */
	bool		more;	/* another one is due */
} WantedLoad;

/* Whether a session runs a statement; its parallel workers are not counted besides it. */
static bool
others_run_statements(void)
{
	int count;

	pgstat_clear_backend_activity_snapshot();
	count = pgstat_fetch_stat_numbackends();
	for (int i = 1; i <= count; i++)
	{
		const PgBackendStatus *status = &pgstat_get_local_beentry_by_index(i)
											 ->backendStatus;

		if (status->st_backendType == B_BACKEND && status->st_state == STATE_RUNNING)
			return true;
	}
	return false;
}

/* Rests until then, or until nobody runs a statement. False: the worker's life has ended
 * before. */
static bool
let_others_run(TimestampTz until, TimestampTz end_of_life)
{
	TimestampTz now;

	CHECK_FOR_INTERRUPTS();
	while ((now = GetCurrentTimestamp()) < Min(until, end_of_life) &&
		   others_run_statements())
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 LOOK_EVERY_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return now < end_of_life;
}

/* The table, if it is there, may be loaded, and nobody changes it; else NULL. */
static Relation
open_wanted(Oid relid)
{
	Relation rel;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return NULL;
	rel = try_relation_open(relid, NoLock);
	if (rel != NULL && RELKIND_HAS_STORAGE(rel->rd_rel->relkind) &&
		rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT &&
		tb_cache_policy_of(relid) != TB_CACHE_OFF)
		return rel;
	if (rel != NULL)
		relation_close(rel, NoLock);
	return NULL;
}

static BlockNumber
end_of_slice(BlockNumber first)
{
	BlockNumber in_page = first % TB_BLOCKS_PER_MAP_PAGE;

	return first - in_page + Min(in_page + SLICE_BLOCKS, TB_BLOCKS_PER_MAP_PAGE);
}

/* In a transaction: the next slice, or what remains when all slices are loaded. */
static void
load_slice(void *argument)
{
	WantedLoad *load = argument;
	Relation	rel = open_wanted(load->relid);
	BlockNumber nblocks;
	BlockNumber end;

	if (rel == NULL)
		return;
	nblocks = RelationGetNumberOfBlocks(rel);
	relation_close(rel, NoLock);
	if (!tb_service_is_up())
		return;
	if (load->rounds == 0)
		(void) tb_cache_progress_begin(load->relid,
									   (uint64) nblocks *
										   tb_cache_load_passes(load->columns));
	/* All is cached: planning is told by a query that reads nothing. */
	if (load->next >= nblocks)
	{
		tb_cache_load(load->relid, load->columns, "cpu");
		return;
	}
	if (!tb_cache_has_room())
		return;
	end = end_of_slice(load->next);
	if (!tb_cache_load_blocks(load->relid, load->columns, load->next, end))
		return;
	/* Of a table of which nothing is kept the rest is not read. */
	load->more = load->next > 0 || tb_cached_bytes(load->relid) > 0;
	load->next = end;
}

/* Until the table is loaded, or the worker's life ends. */
static void
load_wanted(WantedLoad *load, TimestampTz end_of_life)
{
	long		took_ms = LOOK_EVERY_MS;
	long		loading_ms = 0;
	TimestampTz rested;

	for (load->more = true; load->more; load->rounds++)
	{
		TimestampTz began = GetCurrentTimestamp();

		/* The next worker rests for what is left. */
		rested = TimestampTzPlusMilliseconds(began, took_ms * REST_TIMES);
		if (!let_others_run(rested, end_of_life))
			break;
		began = GetCurrentTimestamp();
		load->more = false;
		tb_in_own_transaction(load_slice, load);
		took_ms = TimestampDifferenceMilliseconds(began, GetCurrentTimestamp());
		loading_ms += took_ms;
	}
	tb_cache_progress_end();
	ereport(DEBUG1,
			(errmsg_internal("loaded relation %u up to block %u in %ld ms", load->relid,
							 load->next, loading_ms)));
	if (load->more)
		tb_wanted_columns_pause(load->relid, load->next, rested);
	else
		tb_wanted_columns_end(load->relid);
}

void
tb_wanted_load_main(Datum database)
{
	TimestampTz	  end;
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "pg_turbine background loader",
												  ALLOCSET_DEFAULT_SIZES);

	/* As a backend's: it ends where it looks for interrupts, and nowhere else. */
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(database), InvalidOid, 0);
	/* No other worker takes part. */
	SetConfigOption("max_parallel_workers_per_gather", "0", PGC_USERSET, PGC_S_SESSION);
	MemoryContextSwitchTo(context);
	end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), WORKER_LIFE_MS);
	while (GetCurrentTimestamp() < end)
	{
		WantedLoad load = {0};

		if (!tb_wanted_columns_take(&load.relid, &load.columns, &load.next))
			break;
		load_wanted(&load, end);
		MemoryContextReset(context);
	}
}
