/*
 * devices_view.c - turbine.devices: the devices of the running service.
 *
 * Asks turbined itself, since the list in shared memory may be a polling period old.
 * Called by SQL; returns a materialized set. It raises nothing for the service's sake:
 * while turbined is down there are no rows.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "pg/bridge/service_status.h"

#define DEVICE_COLUMNS 14

extern PGDLLEXPORT Datum turbine_devices(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_devices);

static void
put_device(ReturnSetInfo *rsinfo, int index, const TbDeviceInfo *device)
{
	Datum values[DEVICE_COLUMNS];
	bool  nulls[DEVICE_COLUMNS] = {0};
	int	  i = 0;

	values[i++] = Int32GetDatum(index);
	values[i++] = CStringGetTextDatum(device->kind == 0 ? "host" : "cuda");
	values[i++] = CStringGetTextDatum(device->name);
	values[i++] = CStringGetTextDatum(device->target);
	values[i++] = Int32GetDatum((int32) device->units);
	values[i++] = Int64GetDatum((int64) device->memory_total);
	values[i++] = Int64GetDatum((int64) device->memory_budget);
	values[i++] = Int64GetDatum((int64) device->memory_used);
	/* The host's cache is no part of a device: turbine.column_cache. */
	nulls[i] = nulls[i + 1] = device->kind == 0;
	values[i++] = Int64GetDatum((int64) device->cache_size);
	values[i++] = Int64GetDatum((int64) device->cache_used);
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

Datum
turbine_devices(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TbStatusReply *status;
	TbFailure	   why;

	InitMaterializedSRF(fcinfo, 0);
	status = tb_service_status(&why);
	if (status == NULL)
		return (Datum) 0;
	for (uint32 i = 0; i < status->ndevices; i++)
		put_device(rsinfo, (int) i, &status->devices[i]);
	return (Datum) 0;
}
