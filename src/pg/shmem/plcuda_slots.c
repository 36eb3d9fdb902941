/*
 * plcuda_slots.c - see plcuda_slots.h.
 *
 * Owns the slots in shared memory, under the shared state's lock. Called by
 * plcuda/runner.c.
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"

#include "pg/shmem/plcuda_slots.h"
#include "pg/shmem/shared_state.h"

static TbSharedState *
locked_slots(void)
{
	TbSharedState *shared = tb_shared_state();

	if (shared == NULL)
		elog(ERROR, "pg_turbine is not in shared_preload_libraries");
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	return shared;
}

static bool
is_own(const TbPlcudaSlot *slot, pid_t runner)
{
	return slot->backend == MyProcPid && slot->runner == runner;
}

int
tb_plcuda_slot_take(void)
{
	TbSharedState *shared = locked_slots();
	int			   nused = 0;
	int			   free_slot = TB_NO_PLCUDA_SLOT;
	int			   idle_slot = TB_NO_PLCUDA_SLOT;
	int			   taken;

	for (int i = 0; i < TB_PLCUDA_MOST_PROCESSES; i++)
	{
		const TbPlcudaSlot *slot = &shared->plcuda[i];

		if (slot->backend == 0)
			free_slot = i;
		else
		{
			nused++;
			if (!slot->busy)
				idle_slot = i;
		}
	}
	taken = nused < tb_plcuda_processes ? free_slot : idle_slot;
	if (taken != TB_NO_PLCUDA_SLOT)
	{
		if (shared->plcuda[taken].runner > 0)
			(void) kill(-shared->plcuda[taken].runner, SIGKILL);
		shared->plcuda[taken] = (TbPlcudaSlot) {.backend = MyProcPid, .busy = true};
	}
	LWLockRelease(shared->lock);
	return taken;
}

int
tb_plcuda_slots_end_idle(void)
{
	TbSharedState *shared = locked_slots();
	int			   count = 0;

	for (int i = 0; i < TB_PLCUDA_MOST_PROCESSES; i++)
	{
		TbPlcudaSlot *slot = &shared->plcuda[i];

		if (slot->backend == 0 || slot->busy || slot->runner <= 0)
			continue;
		(void) kill(-slot->runner, SIGKILL);
		*slot = (TbPlcudaSlot) {0};
		count++;
	}
	LWLockRelease(shared->lock);
	return count;
}

void
tb_plcuda_slot_set_runner(int slot, pid_t runner)
{
	TbSharedState *shared = locked_slots();

	shared->plcuda[slot].runner = runner;
	LWLockRelease(shared->lock);
}

bool
tb_plcuda_slot_resume(int slot, pid_t runner)
{
	TbSharedState *shared = locked_slots();
	bool		   own = is_own(&shared->plcuda[slot], runner);

	if (own)
		shared->plcuda[slot].busy = true;
	LWLockRelease(shared->lock);
	return own;
}

void
tb_plcuda_slot_rest(int slot)
{
	TbSharedState *shared = locked_slots();

	if (shared->plcuda[slot].backend == MyProcPid)
		shared->plcuda[slot].busy = false;
	LWLockRelease(shared->lock);
}

void
tb_plcuda_slot_free(int slot, pid_t runner)
{
	TbSharedState *shared = locked_slots();

	if (is_own(&shared->plcuda[slot], runner))
		shared->plcuda[slot] = (TbPlcudaSlot) {0};
	LWLockRelease(shared->lock);
}
