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

#define DEVICE_COLUMNS 22

extern PGDLLEXPORT Datum turbine_devices(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_devices);

/* "9.0" of the target "sm_90". */
static Datum
compute_capability(const TbDeviceInfo *device, bool *is_null)
{
	Size length = strlen(device->target);

	*is_null = device->kind == 0 || length < 5;
	if (*is_null)
		return (Datum) 0;
	return CStringGetTextDatum(psprintf("%.*s.%c", (int) (length - 4), device->target + 3,
										device->target[length - 1]));
}

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
	/* Columns since release 0.2 are last: the function of 0.1 has none of them. */
	values[i++] = Int64GetDatum((int64) device->memory_budget -
								(int64) Min(device->memory_used, device->memory_budget));
	nulls[i] = nulls[i + 1] = device->kind == 0;
	values[i++] = Int64GetDatum((int64) device->cache_hits);
	values[i++] = Int64GetDatum((int64) device->cache_misses);
	/* What the hardware is, and where. */
	nulls[i] = device->kind == 0 || device->clock_mhz == 0;
	values[i++] = Int32GetDatum((int32) device->clock_mhz);
	nulls[i] = device->kind == 0 || device->l2_bytes == 0;
	values[i++] = Int64GetDatum((int64) device->l2_bytes);
	values[i] = compute_capability(device, &nulls[i]);
	i++;
	nulls[i] = device->pci_address[0] == '\0';
	values[i++] = CStringGetTextDatum(device->pci_address);
	nulls[i] = device->kind == 0 || device->numa_node < 0;
	values[i++] = Int32GetDatum(device->numa_node);
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
