/*
 * cache_progress.c - see cache_progress.h.
 *
 * Owns the list in shared memory, under the shared state's lock. Called by cache/ and, for
 * each chunk that is done, by sources. It must cost nothing where no load runs.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/procarray.h"

#include "pg/shmem/cache_progress.h"
#include "pg/shmem/shared_state.h"

static TbCacheLoad *own = NULL; /* this backend's */

static bool
is_running(const TbCacheLoad *load)
{
	return load->pid != 0 && BackendPidGetProc(load->pid) != NULL;
}

bool
tb_cache_progress_begin(Oid relid, uint64 blocks)
{
	TbSharedState *shared = tb_shared_state();

	if (shared == NULL)
		return false;
	own = NULL;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < TB_MAX_CACHE_LOADS && own == NULL; i++)
		if (shared->loads[i].pid == MyProcPid || !is_running(&shared->loads[i]))
			own = &shared->loads[i];
	if (own != NULL)
		*own = (TbCacheLoad) {.pid = MyProcPid,
							  .database = MyDatabaseId,
							  .relid = relid,
							  .blocks = blocks};
	LWLockRelease(shared->lock);
	return own != NULL;
}

void
tb_cache_progress_add(uint64 blocks)
{
	TbSharedState *shared = tb_shared_state();

	if (own == NULL)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	own->done = Min(own->done + blocks, own->blocks);
	LWLockRelease(shared->lock);
}

void
tb_cache_progress_end(void)
{
	TbSharedState *shared = tb_shared_state();

	if (own == NULL)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	own->pid = 0;
	LWLockRelease(shared->lock);
	own = NULL;
}

int
tb_cache_progress_snapshot(TbCacheLoad *loads)
{
	TbSharedState *shared = tb_shared_state();
	int			   count = 0;

	if (shared == NULL)
		return 0;
	LWLockAcquire(shared->lock, LW_SHARED);
	for (int i = 0; i < TB_MAX_CACHE_LOADS; i++)
		if (is_running(&shared->loads[i]))
			loads[count++] = shared->loads[i];
	LWLockRelease(shared->lock);
	return count;
}
