/*
 * pin_keeper.c - see pin_keeper.h.
 *
 * Queries cache what they read, so a pinned table that is queried stays loaded by itself.
 * A keeper reads what no query has read: after a restart of the server or of turbined, and
 * what was written since. It is a worker that looks at one database and ends, so that it
 * is not in the way of DROP DATABASE. A database is looked at once a second while its
 * pinned tables change, and less often while they do not. Tables are read as by any query.
 *
 * Owns the file `pg_turbine/pinned_databases`: a number a line. It is advice, as the list
 * in shared memory is: a database that it lacks is found by the first query of a pinned
 * table. The supervisor's part must never keep the server from starting or stopping.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "common/hashfn.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "pg/cache/cache_load.h"
#include "pg/cache/cache_policy.h"
#include "pg/cache/database_worker.h"
#include "pg/cache/pin_keeper.h"
#include "pg/cache/pins.h"
#include "pg/compat/pg16.h"
#include "pg/shmem/device_list.h"
#include "pg/shmem/pinned_databases.h"
#include "pg/shmem/service_address.h"

#define DATABASES_PATH TB_SERVICE_DIRECTORY "/pinned_databases"

/* Between two looks: while something changes, and at most. */
#define LOOK_FIRST_MS 1000
#define LOOK_LAST_MS 8000

/* From one load of unchanged tables to the next, in microseconds: a third of the time for
 * which turbined keeps what is called pinned. */
#define LEAST_LOAD_US INT64CONST(300000000)

/* So many workers that did not come to their end make a database unknown: it was dropped,
 * or takes no connections. */
#define MOST_FAILURES 3

/* == The supervisor's side == */

/* What is known of a database besides what is in shared memory. */
typedef struct Schedule
{
	Oid			database; /* invalid: none */
	uint64		looks;	  /* as shared memory had them when the last worker began */
	uint64		changes;
	long		wait_ms;
	TimestampTz next; /* look */
	int			failures;
} Schedule;

static Schedule				   schedules[TB_MAX_PINNED_DATABASES];
static BackgroundWorkerHandle *keeper;							/* NULL: none */
static Schedule				  *worked_on;						/* by it */
static Oid					   listed[TB_MAX_PINNED_DATABASES]; /* as the file has them */
static int					   nlisted = -1;					/* not read yet */

static void
read_databases(void)
{
	FILE *file = AllocateFile(DATABASES_PATH, PG_BINARY_R);

	nlisted = 0;
	if (file == NULL)
		return;
	while (nlisted < TB_MAX_PINNED_DATABASES && fscanf(file, "%u\n", &listed[nlisted]) == 1)
		tb_pinned_databases_note(listed[nlisted++], true);
	FreeFile(file);
}

static void
write_databases(const Oid *databases, int count)
{
	FILE *file = AllocateFile(DATABASES_PATH ".new", PG_BINARY_W);
	bool  ok = file != NULL;

	for (int i = 0; i < count && ok; i++)
		ok = fprintf(file, "%u\n", databases[i]) > 0;
	if (file != NULL)
		ok = FreeFile(file) == 0 && ok;
	if (!ok || rename(DATABASES_PATH ".new", DATABASES_PATH) != 0)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", DATABASES_PATH)));
	/* Another try would fail as well: it waits for the next change. */
	memcpy(listed, databases, sizeof(Oid) * count);
	nlisted = count;
}

/* That of a database, or a new one; NULL: there is no place. */
static Schedule *
schedule_of(Oid database)
{
	Schedule *place = NULL;

	for (int i = 0; i < TB_MAX_PINNED_DATABASES; i++)
	{
		if (schedules[i].database == database)
			return &schedules[i];
		if (!OidIsValid(schedules[i].database))
			place = &schedules[i];
	}
	if (place != NULL)
		*place = (Schedule) {.database = database, .wait_ms = LOOK_FIRST_MS};
	return place;
}

/* The worker has ended: when the next one is due. */
static void
reschedule(Schedule *schedule, const TbPinnedDatabase *now)
{
	bool looked = now->looks != schedule->looks;

	schedule->failures = looked ? 0 : schedule->failures + 1;
	schedule->wait_ms = looked && now->changes != schedule->changes ?
		LOOK_FIRST_MS :
		Min(2 * schedule->wait_ms, LOOK_LAST_MS);
	schedule->next = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), schedule->wait_ms);
	if (schedule->failures >= MOST_FAILURES)
	{
		tb_pinned_databases_forget(schedule->database);
		schedule->database = InvalidOid;
	}
}

static void
begin_look(const TbPinnedDatabase *now)
{
	Schedule *schedule = schedule_of(now->database);

	if (schedule == NULL || (!now->is_due && GetCurrentTimestamp() < schedule->next) ||
		(keeper = tb_database_worker_start("pg_turbine pin keeper", "tb_pin_keeper_main",
										   now->database)) == NULL)
		return;
	schedule->looks = now->looks;
	schedule->changes = now->changes;
	worked_on = schedule;
}

/* Returns how many there are. */
static int
save_if_changed(TbPinnedDatabase *databases)
{
	Oid numbers[TB_MAX_PINNED_DATABASES];
	int count = tb_pinned_databases_snapshot(databases);

	for (int i = 0; i < count; i++)
		numbers[i] = databases[i].database;
	if (count != nlisted || memcmp(numbers, listed, sizeof(Oid) * count) != 0)
		write_databases(numbers, count);
	return count;
}

void
tb_pin_keepers_save(void)
{
	TbPinnedDatabase databases[TB_MAX_PINNED_DATABASES];

	if (nlisted >= 0)
		(void) save_if_changed(databases);
}

void
tb_pin_keepers_step(void)
{
	TbPinnedDatabase databases[TB_MAX_PINNED_DATABASES];
	int				 count;

	if (nlisted < 0)
		read_databases();
	count = save_if_changed(databases);
	/* One worker at a time. */
	if (tb_database_worker_is_at_work(&keeper))
		return;
	for (int i = 0; i < count && worked_on != NULL; i++)
		if (databases[i].database == worked_on->database)
		{
			reschedule(worked_on, &databases[i]);
			worked_on = NULL;
		}
	worked_on = NULL;
	for (int i = 0; i < count && keeper == NULL; i++)
		begin_look(&databases[i]);
}

/* == A worker == */

/* One look: what it finds, in a context that outlives transactions. */
typedef struct Look
{
	MemoryContext context;
	bool		  complete; /* all was found */
	uint64		  state;	/* 0: nothing is pinned */
	List		 *leaves;
} Look;

/* Adds to the state what the table is like now. */
static void
add_state(Look *look, Relation rel, const TbPin *pin)
{
	PgStat_StatTabEntry *counts = pgstat_fetch_stat_tabentry(RelationGetRelid(rel));
	uint64 parts[] = {RelationGetRelid(rel), TB_LOCATOR_NUMBER(rel->rd_locator),
					  RelationGetNumberOfBlocks(rel), tb_devices_generation(),
					  (uint64) pin->device, bms_hash_value(pin->columns),
					  /* turbined lets go of what nobody calls pinned for long. */
					  (uint64) (GetCurrentTimestamp() / LEAST_LOAD_US), 0};

	/* On a standby nobody counts changes, and a restartpoint lets dirty pages be cached. */
	if (RecoveryInProgress())
		parts[7] = GetRedoRecPtr();
	else if (counts != NULL)
		parts[7] = counts->tuples_inserted + counts->tuples_updated +
			counts->tuples_deleted + counts->vacuum_count + counts->autovacuum_count;
	look->state = hash_combine64(look->state,
								 hash_bytes_extended((const unsigned char *) parts,
													 sizeof(parts), 0));
}

/* The table, if it has storage and is pinned, under a lock that nobody had to wait for;
 * else NULL. */
static Relation
open_leaf(Oid relid, TbPin *pin)
{
	Relation rel;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return NULL; /* it is being changed */
	rel = try_relation_open(relid, NoLock);
	if (rel != NULL && RELKIND_HAS_STORAGE(rel->rd_rel->relkind) &&
		tb_cache_pin_of(relid, pin))
		return rel;
	if (rel != NULL)
		relation_close(rel, NoLock);
	return NULL;
}

static void
find_leaves(void *argument)
{
	Look	 *look = argument;
	List	 *tables = tb_cache_pinned_tables();
	ListCell *lc;

	foreach(lc, tables)
	{
		List		 *some = find_all_inheritors(lfirst_oid(lc), NoLock, NULL);
		MemoryContext old = MemoryContextSwitchTo(look->context);

		look->leaves = list_concat_unique_oid(look->leaves, some);
		MemoryContextSwitchTo(old);
	}
	foreach(lc, look->leaves)
	{
		TbPin	 pin;
		Relation rel = open_leaf(lfirst_oid(lc), &pin);

		CHECK_FOR_INTERRUPTS();
		if (rel == NULL)
			continue;
		add_state(look, rel, &pin);
		relation_close(rel, NoLock);
	}
	if (tables != NIL && look->state == 0)
		look->state = 1;
	look->complete = true;
}

static void
load_leaf_now(void *relid)
{
	TbPin	 pin;
	Relation rel = open_leaf(*(const Oid *) relid, &pin);

	if (rel == NULL)
		return;
	relation_close(rel, NoLock);
	tb_cache_load(*(const Oid *) relid, pin.columns, tb_pin_device_setting(pin.device));
}

void
tb_pin_keeper_main(Datum database)
{
	uint64	  before = tb_pinned_databases_begin_look(DatumGetObjectId(database));
	Look	  look = {.context = TopMemoryContext};
	ListCell *lc;

	/* As a backend's: it ends where it looks for interrupts, and nowhere else. */
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(database), InvalidOid, 0);
	tb_in_own_transaction(find_leaves, &look);
	if (!look.complete)
		return; /* another worker will try */
	/* Each in a transaction of its own, so that no snapshot grows old. */
	if (look.state != before)
		foreach(lc, look.leaves)
		{
			Oid relid = lfirst_oid(lc);

			CHECK_FOR_INTERRUPTS();
			tb_in_own_transaction(load_leaf_now, &relid);
		}
	if (look.state == 0)
		tb_pinned_databases_forget(DatumGetObjectId(database));
	else
		tb_pinned_databases_end_look(DatumGetObjectId(database), look.state);
}
