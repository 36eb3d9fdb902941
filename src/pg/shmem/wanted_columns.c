/*
 * wanted_columns.c - see wanted_columns.h.
 *
 * Owns the list in shared memory, under the shared state's lock, and the count of tables
 * that wait or are being loaded. Called by planning, and by cache/wanted_load.c.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/timestamp.h"

#include "pg/shmem/device_list.h"
#include "pg/shmem/shared_state.h"
#include "pg/shmem/wanted_columns.h"

#define COLUMN_WORD(attnum) ((attnum) / 64)
#define COLUMN_BIT(attnum) (UINT64CONST(1) << ((attnum) % 64))

/* Adds the columns to a table's; returns how many it did not have. System columns have no
 * place: loads keep tuple ids anyway. */
static int
add_columns(TbWantedTable *table, const Bitmapset *columns)
{
	int added = 0;
	int attnum = 0;

	while ((attnum = bms_next_member(columns, attnum)) > 0 &&
		   attnum <= MaxHeapAttributeNumber)
	{
		added += (table->columns[COLUMN_WORD(attnum)] & COLUMN_BIT(attnum)) == 0;
		table->columns[COLUMN_WORD(attnum)] |= COLUMN_BIT(attnum);
	}
	return added;
}

/* Under the lock. The table's place; NULL: it has none. */
static TbWantedTable *
find_wanted(TbSharedState *shared, Oid database, Oid relid)
{
	for (int i = 0; i < TB_MAX_WANTED; i++)
	{
		TbWantedTable *table = &shared->wanted[i];

		if (table->state != TB_WANTED_FREE && table->database == database &&
			table->relid == relid)
			return table;
	}
	return NULL;
}

/* Under the lock. A free place, or that of the table whose load ended first; NULL: all
 * wait. */
static TbWantedTable *
place_for_wanted(TbSharedState *shared)
{
	TbWantedTable *place = NULL;

	for (int i = 0; i < TB_MAX_WANTED; i++)
	{
		TbWantedTable *table = &shared->wanted[i];

		if (table->state == TB_WANTED_FREE)
			return table;
		if (table->state == TB_WANTED_ENDED &&
			(place == NULL || table->ended_at < place->ended_at))
			place = table;
	}
	return place;
}

/* Under the lock. What ended long ago, or in another service, is as if it had never been.
 */
static bool
is_outdated(const TbWantedTable *table)
{
	return table->state == TB_WANTED_ENDED &&
		(table->generation != tb_devices_generation() ||
		 TimestampDifferenceExceeds(table->ended_at, GetCurrentTimestamp(),
									TB_WANTED_AGAIN_MS));
}

/* Under the lock. Whether the table waits now and did not before. */
static bool
enter_wanted(TbSharedState *shared, Oid relid, const Bitmapset *columns)
{
	TbWantedTable *table = find_wanted(shared, MyDatabaseId, relid);

	if (table == NULL || is_outdated(table))
	{
		table = table != NULL ? table : place_for_wanted(shared);
		if (table == NULL)
			return false;
		*table = (TbWantedTable) {.database = MyDatabaseId, .relid = relid};
	}
	/* A load under way is not told: who needs more asks again when it has ended. */
	if (table->state == TB_WANTED_LOADING || add_columns(table, columns) == 0)
		return false;
	table->next = 0;
	if (table->state == TB_WANTED_WAITING)
		return false;
	table->state = TB_WANTED_WAITING;
	pg_atomic_fetch_add_u32(&shared->wanted_count, 1);
	return true;
}

void
tb_wanted_columns_ask(Oid relid, const Bitmapset *columns)
{
	TbSharedState *shared = tb_shared_state();

	if (shared == NULL)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	if (enter_wanted(shared, relid, columns) && shared->supervisor != NULL)
		SetLatch(shared->supervisor);
	LWLockRelease(shared->lock);
}

bool
tb_wanted_columns_are_coming(Oid relid)
{
	TbSharedState *shared = tb_shared_state();
	TbWantedTable *table;
	bool		   coming;

	/* Most of the time nothing is. */
	if (shared == NULL || pg_atomic_read_u32(&shared->wanted_count) == 0)
		return false;
	LWLockAcquire(shared->lock, LW_SHARED);
	table = find_wanted(shared, MyDatabaseId, relid);
	coming = table != NULL && table->state != TB_WANTED_ENDED;
	LWLockRelease(shared->lock);
	return coming;
}

Oid
tb_wanted_columns_database(void)
{
	TbSharedState *shared = tb_shared_state();
	Oid			   database = InvalidOid;
	TimestampTz	   now = GetCurrentTimestamp();

	if (shared == NULL || pg_atomic_read_u32(&shared->wanted_count) == 0)
		return InvalidOid;
	LWLockAcquire(shared->lock, LW_SHARED);
	for (int i = 0; i < TB_MAX_WANTED && !OidIsValid(database); i++)
		if (shared->wanted[i].state == TB_WANTED_WAITING &&
			shared->wanted[i].not_before <= now)
			database = shared->wanted[i].database;
	LWLockRelease(shared->lock);
	return database;
}

static Bitmapset *
columns_of_wanted(const TbWantedTable *table)
{
	Bitmapset *columns = NULL;

	for (int attnum = 1; attnum <= MaxHeapAttributeNumber; attnum++)
		if ((table->columns[COLUMN_WORD(attnum)] & COLUMN_BIT(attnum)) != 0)
			columns = bms_add_member(columns, attnum);
	return columns;
}

bool
tb_wanted_columns_take(Oid *relid, Bitmapset **columns, BlockNumber *next)
{
	TbSharedState *shared = tb_shared_state();
	TbWantedTable  taken = {0};
	TimestampTz	   now = GetCurrentTimestamp();

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < TB_MAX_WANTED; i++)
	{
		TbWantedTable *table = &shared->wanted[i];

		if (table->state != TB_WANTED_WAITING || table->database != MyDatabaseId ||
			table->not_before > now)
			continue;
		table->state = TB_WANTED_LOADING;
		shared->wanted_taken++;
		taken = *table;
		break;
	}
	LWLockRelease(shared->lock);
	/* Memory is allocated outside the lock. */
	*relid = taken.relid;
	*next = taken.next;
	*columns = columns_of_wanted(&taken);
	return taken.state == TB_WANTED_LOADING;
}

/* Under the lock. */
static void
end_wanted(TbSharedState *shared, TbWantedTable *table)
{
	table->state = TB_WANTED_ENDED;
	table->generation = tb_devices_generation();
	table->ended_at = GetCurrentTimestamp();
	pg_atomic_fetch_sub_u32(&shared->wanted_count, 1);
}

void
tb_wanted_columns_pause(Oid relid, BlockNumber next, TimestampTz not_before)
{
	TbSharedState *shared = tb_shared_state();
	TbWantedTable *table;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	table = find_wanted(shared, MyDatabaseId, relid);
	if (table != NULL && table->state == TB_WANTED_LOADING)
	{
		table->state = TB_WANTED_WAITING;
		table->next = next;
		table->not_before = not_before;
	}
	LWLockRelease(shared->lock);
}

void
tb_wanted_columns_end(Oid relid)
{
	TbSharedState *shared = tb_shared_state();
	TbWantedTable *table;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	table = find_wanted(shared, MyDatabaseId, relid);
	if (table != NULL && table->state == TB_WANTED_LOADING)
		end_wanted(shared, table);
	LWLockRelease(shared->lock);
}

uint64
tb_wanted_columns_taken(void)
{
	TbSharedState *shared = tb_shared_state();
	uint64		   taken;

	LWLockAcquire(shared->lock, LW_SHARED);
	taken = shared->wanted_taken;
	LWLockRelease(shared->lock);
	return taken;
}

void
tb_wanted_columns_forsake(Oid database, bool all)
{
	TbSharedState *shared = tb_shared_state();

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < TB_MAX_WANTED; i++)
	{
		TbWantedTable *table = &shared->wanted[i];

		if (table->database == database &&
			(table->state == TB_WANTED_LOADING ||
			 (all && table->state == TB_WANTED_WAITING)))
			end_wanted(shared, table);
	}
	LWLockRelease(shared->lock);
}
