/*
 * table_revision.c - see table_revision.h. Called by plcuda/kept_copies.c.
 *
 * A revision has two proofs, and either suffices as long as the table's file is the same.
 *
 * The snapshot: two that list the same transactions as finished see the same rows. Every
 * committed change has a transaction number, so nothing has been committed in between.
 *
 * The visibility map: if every block is all-visible, each snapshot sees all that is there.
 * Blocks stay as they are while their bits are set and the map page's LSN does not move
 * (visibility_map.c). So other tables may change as they like, and so may this one have
 * done before the last VACUUM.
 *
 * Must never look at a map page whose changes are not logged: its LSN does not move.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pg/compat/pg16.h"
#include "pg/results/table_revision.h"
#include "pg/source/heap/visibility/visibility_map.h"

struct TbTableRevision
{
	RelFileLocator file;
	char		  *snapshot; /* as pg_current_snapshot() prints it */
	BlockNumber	   nblocks;
	uint32		   npages;	 /* of the map; 0: it proves nothing */
	XLogRecPtr	  *lsn;		 /* one a page */
};

/* The map as it is now, if it calls every block all-visible. */
static void
read_map(TbTableRevision *revision, Relation rel)
{
	TbVisibilityMap *map;
	bool			 proves;

	if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT || revision->nblocks == 0)
		return;
	map = tb_visibility_map_copy(rel, revision->nblocks);
	proves = map->all_visible == revision->nblocks;
	/* Nobody has logged how a page without an LSN came about. */
	for (uint32 page = 0; page < map->npages; page++)
		proves = proves && map->lsn[page] != InvalidXLogRecPtr;
	if (proves)
	{
		revision->npages = map->npages;
		revision->lsn = palloc(sizeof(XLogRecPtr) * map->npages);
		memcpy(revision->lsn, map->lsn, sizeof(XLogRecPtr) * map->npages);
	}
}

static TbTableRevision *
copy_of(const TbTableRevision *revision, bool with_map)
{
	TbTableRevision *copy = palloc0(sizeof(*copy));

	copy->file = revision->file;
	copy->snapshot = pstrdup(revision->snapshot);
	copy->nblocks = revision->nblocks;
	if (with_map && revision->npages > 0)
	{
		copy->npages = revision->npages;
		copy->lsn = palloc(sizeof(XLogRecPtr) * revision->npages);
		memcpy(copy->lsn, revision->lsn, sizeof(XLogRecPtr) * revision->npages);
	}
	return copy;
}

static bool
same_file(const TbTableRevision *a, const TbTableRevision *b)
{
	return memcmp(&a->file, &b->file, sizeof(a->file)) == 0;
}

static bool
same_map(const TbTableRevision *a, const TbTableRevision *b)
{
	return a->npages > 0 && a->npages == b->npages && a->nblocks == b->nblocks &&
		memcmp(a->lsn, b->lsn, sizeof(XLogRecPtr) * a->npages) == 0;
}

TbTableRevision *
tb_table_revision_of(Relation rel)
{
	MemoryContext	 caller = CurrentMemoryContext;
	MemoryContext	 work;
	TbTableRevision	 found = {.file = rel->rd_locator};
	TbTableRevision *revision;

	/* A standby's snapshots do not list what is under way; a serializable transaction has
	 * to read, so that conflicts are found. */
	if (rel->rd_rel->relkind != RELKIND_RELATION ||
		rel->rd_rel->relam != HEAP_TABLE_AM_OID || RecoveryInProgress() ||
		IsolationIsSerializable())
		return NULL;
	work = AllocSetContextCreate(caller, "pg_turbine table revision",
								 ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(work);
	found.snapshot = DatumGetCString(
		OidFunctionCall1(F_PG_SNAPSHOT_OUT, OidFunctionCall0(F_PG_CURRENT_SNAPSHOT)));
	/* Blocks that are added later are beyond this number. */
	found.nblocks = RelationGetNumberOfBlocks(rel);
	read_map(&found, rel);
	MemoryContextSwitchTo(caller);
	revision = copy_of(&found, true);
	MemoryContextDelete(work);
	return revision;
}

TbTableRevision *
tb_table_revision_between(const TbTableRevision *before, const TbTableRevision *after)
{
	return copy_of(after, same_file(before, after) && same_map(before, after));
}

bool
tb_table_revision_is(const TbTableRevision *then, const TbTableRevision *now)
{
	return same_file(then, now) &&
		(strcmp(then->snapshot, now->snapshot) == 0 || same_map(then, now));
}

void
tb_table_revision_free(TbTableRevision *revision)
{
	if (revision == NULL)
		return;
	if (revision->lsn != NULL)
		pfree(revision->lsn);
	pfree(revision->snapshot);
	pfree(revision);
}
