/*
 * cache_advice.c - see cache_advice.h.
 *
 * Two tables of fixed size in shared memory, each entry where its hash says: what comes
 * later takes the place of what was there. Shapes are single words, read and written
 * without a lock; entries of tables are kept under the shared state's lock, for which
 * nothing is computed or waited for. Called by planning, and once a run of a source.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "miscadmin.h"

#include "pg/shmem/cache_advice.h"
#include "pg/shmem/device_list.h"
#include "pg/shmem/shared_state.h"

/* A share that differs by less is not worth a write. */
#define SAME_SHARE 0.01
/* Of a table's blocks, so that reading its columns into the cache is worth it. */
#define LEAST_STAYING 0.5

void
tb_advice_note_code(uint64 shape)
{
	TbSharedState	 *shared = tb_shared_state();
	pg_atomic_uint64 *place;

	if (shared == NULL || shape == 0)
		return;
	place = &shared->code_shapes[shape % TB_CODE_SHAPES];
	if (pg_atomic_read_u64(place) != shape)
		pg_atomic_write_u64(place, shape);
}

bool
tb_advice_has_code(uint64 shape)
{
	TbSharedState *shared = tb_shared_state();

	return shared != NULL && shape != 0 &&
		pg_atomic_read_u64(&shared->code_shapes[shape % TB_CODE_SHAPES]) == shape;
}

/* An entry: most bits of a shape, and a time in units. */
#define FOREGONE_BITS 24
#define FOREGONE_MASK ((UINT64CONST(1) << FOREGONE_BITS) - 1)
#define FOREGONE_UNIT_US 16.0

static pg_atomic_uint64 *
foregone_of(TbSharedState *shared, uint64 shape)
{
	return &shared->foregone[shape % TB_FOREGONE_SHAPES];
}

double
tb_advice_foregone_us(uint64 shape)
{
	TbSharedState *shared = tb_shared_state();
	uint64		   entry;

	if (shared == NULL || shape == 0)
		return 0;
	entry = pg_atomic_read_u64(foregone_of(shared, shape));
	return ((entry ^ shape) & ~FOREGONE_MASK) == 0 ?
		(double) (entry & FOREGONE_MASK) * FOREGONE_UNIT_US :
		0;
}

/* Of two that note at once one may be lost. */
void
tb_advice_note_foregone(uint64 shape, double us)
{
	TbSharedState *shared = tb_shared_state();
	double		   units = (tb_advice_foregone_us(shape) + us) / FOREGONE_UNIT_US;

	if (shared == NULL || shape == 0)
		return;
	pg_atomic_write_u64(foregone_of(shared, shape),
						(shape & ~FOREGONE_MASK) |
							(uint64) Min(Max(units, 0), (double) FOREGONE_MASK));
}

static TbTableAdvice *
place_of(TbSharedState *shared, Oid relid)
{
	return &shared->tables[hash_combine(murmurhash32(MyDatabaseId), murmurhash32(relid)) %
						   TB_TABLE_ADVICE];
}

/* False if there is none. */
static bool
look_up(Oid relid, TbTableAdvice *advice)
{
	TbSharedState *shared = tb_shared_state();

	if (shared == NULL)
		return false;
	LWLockAcquire(shared->lock, LW_SHARED);
	*advice = *place_of(shared, relid);
	LWLockRelease(shared->lock);
	return advice->database == MyDatabaseId && advice->relid == relid &&
		advice->generation == tb_devices_generation();
}

void
tb_advice_note_columns(Oid relid, TbAttributes attributes, double found, double cached)
{
	TbSharedState *shared = tb_shared_state();
	TbTableAdvice  advice;
	bool		   known = look_up(relid, &advice);
	double		   before = known ? advice.share : 0;

	if (shared == NULL)
		return;
	if (!known)
		advice = (TbTableAdvice) {.database = MyDatabaseId,
								  .relid = relid,
								  .generation = tb_devices_generation()};
	if ((attributes & ~advice.attributes) != 0)
		advice.paid_us = 0;
	/* Columns that ought to have been there tell what really stays. */
	advice.share = (attributes & ~advice.attributes) == 0 ? found : cached;
	if (known && (attributes & ~advice.attributes) == 0 &&
		fabs(before - advice.share) < SAME_SHARE)
		return;
	advice.attributes |= attributes;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	*place_of(shared, relid) = advice;
	LWLockRelease(shared->lock);
}

double
tb_advice_cached_share(Oid relid, TbAttributes attributes)
{
	TbTableAdvice advice;

	if (!look_up(relid, &advice) || (attributes & ~advice.attributes) != 0)
		return 0;
	return advice.share;
}

bool
tb_advice_stays(Oid relid, TbAttributes attributes)
{
	TbTableAdvice advice;

	return !look_up(relid, &advice) || (attributes & ~advice.attributes) != 0 ||
		advice.share >= LEAST_STAYING;
}

bool
tb_advice_has_columns(Oid relid)
{
	TbTableAdvice advice;

	return look_up(relid, &advice) && advice.share > 0;
}

void
tb_advice_note_paid(Oid relid, double us)
{
	TbSharedState *shared = tb_shared_state();
	TbTableAdvice *place;

	if (shared == NULL || us <= 0)
		return;
	place = place_of(shared, relid);
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	if (place->database == MyDatabaseId && place->relid == relid)
		place->paid_us += us;
	LWLockRelease(shared->lock);
}

double
tb_advice_paid_us(Oid relid)
{
	TbTableAdvice advice;

	return look_up(relid, &advice) ? advice.paid_us : 0;
}
