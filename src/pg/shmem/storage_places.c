/*
 * storage_places.c - the list of block devices in shared memory.
 *
 * Only the supervisor calls tb_storage_places_publish. The lock is held while a few
 * kilobytes are copied or looked through; nothing else happens under it.
 */
#include "postgres.h"

#include "pg/shmem/shared_state.h"
#include "pg/shmem/storage_places.h"

bool
tb_storage_place_find(uint32 major_number, uint32 minor_number, TbStoragePlace *place)
{
	TbSharedState *shared = tb_shared_state();
	bool		   found = false;

	if (shared == NULL)
		return false;
	LWLockAcquire(shared->lock, LW_SHARED);
	for (uint32 i = 0; i < shared->nstorage && !found; i++)
	{
		*place = shared->storage[i];
		found = place->major_number == major_number && place->minor_number == minor_number;
	}
	LWLockRelease(shared->lock);
	return found;
}

/* More than there is room for are left out: those come last, which are arrays. */
void
tb_storage_places_publish(const TbTopologyReply *topology)
{
	TbSharedState *shared = tb_shared_state();

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->nstorage = 0;
	for (uint32 i = 0; i < topology->ndevices && shared->nstorage < TB_MAX_STORAGE_PLACES;
		 i++)
	{
		const TbTopologyDevice *device = &topology->devices[i];
		TbStoragePlace		   *place;

		if (device->kind == TB_TOPOLOGY_GPU)
			continue;
		place = &shared->storage[shared->nstorage++];
		place->major_number = device->major_number;
		place->minor_number = device->minor_number;
		place->near_gpus = device->near_gpus;
		for (int gpu = 0; gpu < TB_MAX_DEVICES - 1; gpu++)
			place->distances[gpu] = device->to_gpus[gpu].distance;
	}
	LWLockRelease(shared->lock);
}
