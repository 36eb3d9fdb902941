/*
 * shared_state.c - makes TbSharedState in PostgreSQL's shared memory.
 *
 * Owns the two shared-memory hooks; chains to those installed before. Runs in
 * the postmaster, at start and after a crash restart.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#include "pg/shmem/shared_state.h"

#define TRANCHE_NAME "pg_turbine"

static TbSharedState		  *shared_state = NULL;
static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;

TbSharedState *
tb_shared_state(void)
{
	return shared_state;
}

static void
request_shared_memory(void)
{
	if (previous_request_hook)
		previous_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(TbSharedState)));
	RequestNamedLWLockTranche(TRANCHE_NAME, 1);
}

static void
startup_shared_memory(void)
{
	bool found;

	if (previous_startup_hook)
		previous_startup_hook();

	/* Find or make it */
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared_state = ShmemInitStruct("pg_turbine", sizeof(TbSharedState), &found);
	if (!found)
	{
		/* Begin with zeros */
		memset(shared_state, 0, sizeof(TbSharedState));
		shared_state->lock = &(GetNamedLWLockTranche(TRANCHE_NAME))->lock;
		pg_atomic_init_u64(&shared_state->generation, 0);
		pg_atomic_init_u32(&shared_state->wanted_count, 0);
		for (int i = 0; i < TB_CODE_SHAPES; i++)
			pg_atomic_init_u64(&shared_state->code_shapes[i], 0);
		for (int i = 0; i < TB_FOREGONE_SHAPES; i++)
			pg_atomic_init_u64(&shared_state->foregone[i], 0);
		for (int i = 0; i < TB_COUNTER_COUNT; i++)
			pg_atomic_init_u64(&shared_state->counters[i], 0);
		pg_atomic_init_u64(&shared_state->host_instead_logged, 0);
		for (int i = 0; i < TB_FALLBACK_COUNT; i++)
		{
			pg_atomic_init_u64(&shared_state->fallbacks[i], 0);
			pg_atomic_init_u64(&shared_state->fallback_logged[i], 0);
		}
	}
	LWLockRelease(AddinShmemInitLock);
}

void
tb_shared_state_init(void)
{
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = request_shared_memory;
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup_shared_memory;
}
