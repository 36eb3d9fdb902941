/*
 * pinned_databases.c - see pinned_databases.h.
 *
 * Owns the list in shared memory, under the shared state's lock. Called by every backend
 * that meets a pinned table, and by cache/pin_keeper.c.
 */
#include "postgres.h"

#include "pg/shmem/pinned_databases.h"
#include "pg/shmem/shared_state.h"

/* Under the lock. The place of a database, or a free one; NULL: there is none. */
static TbPinnedDatabase *
entry_of(TbSharedState *shared, Oid database)
{
	for (int i = 0; i < TB_MAX_PINNED_DATABASES; i++)
		if (shared->pinned_databases[i].database == database)
			return &shared->pinned_databases[i];
	return NULL;
}

static bool
is_known(TbSharedState *shared, Oid database, bool is_due)
{
	TbPinnedDatabase *place;
	bool			  known;

	LWLockAcquire(shared->lock, LW_SHARED);
	place = entry_of(shared, database);
	known = place != NULL && (place->is_due || !is_due);
	LWLockRelease(shared->lock);
	return known;
}

void
tb_pinned_databases_note(Oid database, bool is_due)
{
	TbSharedState	 *shared = tb_shared_state();
	TbPinnedDatabase *place;

	if (shared == NULL || is_known(shared, database, is_due))
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	place = entry_of(shared, database);
	if (place == NULL)
	{
		place = entry_of(shared, InvalidOid);
		if (place != NULL)
			*place = (TbPinnedDatabase) {.database = database};
	}
	if (place != NULL)
		place->is_due = true;
	LWLockRelease(shared->lock);
}

uint64
tb_pinned_databases_begin_look(Oid database)
{
	TbSharedState	 *shared = tb_shared_state();
	TbPinnedDatabase *place;
	uint64			  state = 0;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	place = entry_of(shared, database);
	if (place != NULL)
	{
		place->is_due = false;
		state = place->state;
	}
	LWLockRelease(shared->lock);
	return state;
}

void
tb_pinned_databases_end_look(Oid database, uint64 state)
{
	TbSharedState	 *shared = tb_shared_state();
	TbPinnedDatabase *place;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	place = entry_of(shared, database);
	if (place != NULL)
	{
		place->looks++;
		place->changes += place->state != state;
		place->state = state;
	}
	LWLockRelease(shared->lock);
}

void
tb_pinned_databases_forget(Oid database)
{
	TbSharedState	 *shared = tb_shared_state();
	TbPinnedDatabase *place;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	place = entry_of(shared, database);
	if (place != NULL)
		*place = (TbPinnedDatabase) {0};
	LWLockRelease(shared->lock);
}

int
tb_pinned_databases_snapshot(TbPinnedDatabase *databases)
{
	TbSharedState *shared = tb_shared_state();
	int			   count = 0;

	LWLockAcquire(shared->lock, LW_SHARED);
	for (int i = 0; i < TB_MAX_PINNED_DATABASES; i++)
		if (OidIsValid(shared->pinned_databases[i].database))
			databases[count++] = shared->pinned_databases[i];
	LWLockRelease(shared->lock);
	return count;
}
