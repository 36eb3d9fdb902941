/*
 * device_list.c - the list of devices in shared memory.
 *
 * Only the supervisor calls tb_devices_publish and tb_devices_withdraw. Both hold the
 * lock exclusively while they copy a few kilobytes; nothing else happens under it.
 */
#include "postgres.h"

#include "pg/shmem/device_list.h"
#include "pg/shmem/shared_state.h"

int
tb_devices_snapshot(TbDeviceInfo *out, int max)
{
	TbSharedState *shared = tb_shared_state();
	int			   count;

	if (shared == NULL || !tb_service_is_up())
		return 0;
	LWLockAcquire(shared->lock, LW_SHARED);
	count = Min((int) shared->ndevices, max);
	memcpy(out, shared->devices, count * sizeof(TbDeviceInfo));
	LWLockRelease(shared->lock);
	return count;
}

uint64
tb_devices_generation(void)
{
	TbSharedState *shared = tb_shared_state();

	return shared ? pg_atomic_read_u64(&shared->generation) : 0;
}

bool
tb_service_is_up(void)
{
	return tb_devices_generation() != 0;
}

uint32
tb_usable_gpus(void)
{
	TbDeviceInfo devices[TB_MAX_DEVICES];
	int			 count = tb_devices_snapshot(devices, TB_MAX_DEVICES);
	uint32		 gpus = 0;

	for (int i = 1; i < count; i++)
		if (devices[i].usable)
			gpus |= UINT32_C(1) << (i - 1);
	return gpus;
}

void
tb_devices_publish(const TbStatusReply *status)
{
	TbSharedState *shared = tb_shared_state();

	Assert(status->ndevices <= TB_MAX_DEVICES && status->generation != 0);
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->ndevices = status->ndevices;
	memcpy(shared->devices, status->devices, status->ndevices * sizeof(TbDeviceInfo));
	LWLockRelease(shared->lock);
	pg_atomic_write_u64(&shared->generation, status->generation);
}

void
tb_devices_withdraw(void)
{
	TbSharedState *shared = tb_shared_state();

	pg_atomic_write_u64(&shared->generation, 0);
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->ndevices = 0;
	LWLockRelease(shared->lock);
}
