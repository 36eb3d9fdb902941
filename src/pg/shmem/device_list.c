/*
 * device_list.c - the device table in shared memory, and turbine.devices.
 *
 * tb_devices_publish and tb_devices_withdraw are called by the supervisor
 * only. Both take the lock exclusively for a copy of a few kilobytes.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "pg/bridge/service_status.h"
#include "pg/shmem/device_list.h"
#include "pg/shmem/shared_state.h"

#define DEVICE_COLUMNS 12

extern PGDLLEXPORT Datum turbine_devices(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_devices);

int
tb_devices_snapshot(TbDeviceInfo *out, int max)
{
	TbSharedState *shared = tb_shared_state();
	int			count;

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

void
tb_devices_publish(const TbStatusReply *status)
{
	TbSharedState *shared = tb_shared_state();

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->ndevices = status->ndevices;
	memcpy(shared->devices, status->devices,
		   status->ndevices * sizeof(TbDeviceInfo));
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

static void
put_device(ReturnSetInfo *rsinfo, int index, const TbDeviceInfo *device)
{
	Datum		values[DEVICE_COLUMNS];
	bool		nulls[DEVICE_COLUMNS] = {0};
	int			i = 0;

	values[i++] = Int32GetDatum(index);
	values[i++] = CStringGetTextDatum(device->kind == 0 ? "host" : "cuda");
	values[i++] = CStringGetTextDatum(device->name);
	values[i++] = CStringGetTextDatum(device->target);
	values[i++] = Int32GetDatum((int32) device->units);
	values[i++] = Int64GetDatum((int64) device->memory_total);
	values[i++] = Int64GetDatum((int64) device->memory_budget);
	values[i++] = Int64GetDatum((int64) device->memory_used);
	values[i++] = BoolGetDatum(device->usable != 0);
	values[i++] = Int32GetDatum((int32) device->queries_running);
	values[i++] = Int64GetDatum((int64) device->queries_total);
	if (device->message[0] == '\0')
		nulls[i++] = true;
	else
		values[i++] = CStringGetTextDatum(device->message);
	Assert(i == DEVICE_COLUMNS);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* turbine.devices: asks turbined itself; no rows while it is down. */
Datum
turbine_devices(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TbStatusReply *status;
	TbFailure	why;

	InitMaterializedSRF(fcinfo, 0);
	status = tb_service_status(&why);
	if (status == NULL)
		return (Datum) 0;
	for (uint32 i = 0; i < status->ndevices; i++)
		put_device(rsinfo, (int) i, &status->devices[i]);
	return (Datum) 0;
}
