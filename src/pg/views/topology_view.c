/*
 * topology_view.c - turbine.topology: where GPUs and drives are; turbine.tablespace_gpus:
 * what follows for tablespaces.
 *
 * Asks turbined. Called by SQL. It raises nothing for the service's sake: while turbined is
 * down turbine.topology has no rows.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_tablespace.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "pg/bridge/service_topology.h"
#include "pg/topology/gpu_preference.h"

#define TOPOLOGY_COLUMNS 9
#define PREFERENCE_COLUMNS 3

extern PGDLLEXPORT Datum turbine_topology(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_topology);
extern PGDLLEXPORT Datum turbine_tablespace_gpus(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_tablespace_gpus);

static const char *const kinds[TB_TOPOLOGY_KIND_COUNT] = {
	[TB_TOPOLOGY_GPU] = "gpu",	   [TB_TOPOLOGY_NVME] = "nvme",
	[TB_TOPOLOGY_DISK] = "disk",   [TB_TOPOLOGY_PARTITION] = "partition",
	[TB_TOPOLOGY_RAID0] = "raid0", [TB_TOPOLOGY_RAID1] = "raid1",
};

/* The names that NVIDIA's tools print. */
static const char *const routes[TB_ROUTE_COUNT] = {
	[TB_ROUTE_SWITCH] = "PIX", [TB_ROUTE_SWITCHES] = "PXB", [TB_ROUTE_HOST_BRIDGE] = "PHB",
	[TB_ROUTE_NODE] = "NODE",  [TB_ROUTE_SYSTEM] = "SYS",	[TB_ROUTE_UNKNOWN] = NULL,
};

static Datum
texts_array(Datum *texts, int count)
{
	return PointerGetDatum(construct_array(texts, count, TEXTOID, -1, false, TYPALIGN_INT));
}

/* Of words with spaces between. */
static Datum
words_array(const char *words)
{
	char  *copy = pstrdup(words);
	char  *rest = NULL;
	Datum *texts = palloc(sizeof(Datum) * (strlen(words) / 2 + 1));
	int	   count = 0;

	for (char *word = strtok_r(copy, " ", &rest); word != NULL;
		 word = strtok_r(NULL, " ", &rest))
		texts[count++] = CStringGetTextDatum(word);
	return texts_array(texts, count);
}

static Datum
gpu_name(int gpu)
{
	return CStringGetTextDatum(psprintf("gpu%d", gpu));
}

static Datum
gpus_array(uint32 gpus)
{
	Datum texts[TB_MAX_DEVICES];
	int	  count = 0;

	for (int gpu = 0; gpu < TB_MAX_DEVICES - 1; gpu++)
		if ((gpus >> gpu & 1) != 0)
			texts[count++] = gpu_name(gpu);
	return texts_array(texts, count);
}

/* One element for each GPU. */
static Datum
array_of_gpus(Datum *elements, bool *nulls, int count, Oid type)
{
	int	 lower = 1;
	bool is_text = type == TEXTOID;

	if (count == 0)
		return PointerGetDatum(construct_empty_array(type));
	return PointerGetDatum(construct_md_array(elements, nulls, 1, &count, &lower, type,
											  is_text ? -1 : sizeof(int32), !is_text,
											  TYPALIGN_INT));
}

static void
put_topology_device(ReturnSetInfo *rsinfo, const TbTopologyDevice *device, int ngpus)
{
	Datum values[TOPOLOGY_COLUMNS];
	bool  nulls[TOPOLOGY_COLUMNS] = {0};
	Datum names[TB_MAX_DEVICES], distances[TB_MAX_DEVICES];
	bool  no_name[TB_MAX_DEVICES], no_distance[TB_MAX_DEVICES];
	bool  is_gpu = device->kind == TB_TOPOLOGY_GPU;
	int	  i = 0;

	for (int gpu = 0; gpu < ngpus; gpu++)
	{
		const char *route = routes[device->to_gpus[gpu].route];

		no_name[gpu] = route == NULL;
		names[gpu] = route == NULL ? (Datum) 0 : CStringGetTextDatum(route);
		no_distance[gpu] = device->to_gpus[gpu].distance == PG_UINT16_MAX;
		distances[gpu] = Int32GetDatum(device->to_gpus[gpu].distance);
	}
	values[i++] = CStringGetTextDatum(device->name);
	values[i++] = CStringGetTextDatum(kinds[device->kind]);
	nulls[i] = device->model[0] == '\0';
	values[i++] = CStringGetTextDatum(device->model);
	nulls[i] = device->numa_node < 0;
	values[i++] = Int32GetDatum(device->numa_node);
	nulls[i] = device->pci_path[0] == '\0';
	values[i++] = words_array(device->pci_path);
	nulls[i] = device->members[0] == '\0';
	values[i++] = words_array(device->members);
	nulls[i] = nulls[i + 1] = nulls[i + 2] = is_gpu;
	values[i++] = array_of_gpus(names, no_name, ngpus, TEXTOID);
	values[i++] = array_of_gpus(distances, no_distance, ngpus, INT4OID);
	values[i++] = gpus_array(device->near_gpus);
	Assert(i == TOPOLOGY_COLUMNS);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
turbine_topology(PG_FUNCTION_ARGS)
{
	ReturnSetInfo	*rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TbTopologyReply *topology;
	TbFailure		 why;

	InitMaterializedSRF(fcinfo, 0);
	topology = tb_service_topology(&why);
	for (uint32 i = 0; topology != NULL && i < topology->ndevices; i++)
		put_topology_device(rsinfo, &topology->devices[i], (int) topology->ngpus);
	return (Datum) 0;
}

static void
put_tablespace(ReturnSetInfo *rsinfo, const FormData_pg_tablespace *tablespace)
{
	TbGpuPreference preference = tb_gpus_of_tablespace(tablespace->oid);
	Datum			values[PREFERENCE_COLUMNS];
	bool			nulls[PREFERENCE_COLUMNS] = {0};
	Datum			names[TB_MAX_DEVICES];

	for (int i = 0; i < preference.count; i++)
		names[i] = gpu_name(preference.order[i]);
	values[0] = NameGetDatum(&tablespace->spcname);
	values[1] = texts_array(names, preference.count);
	values[2] = CStringGetTextDatum(tb_preferred_by_name(preference.by));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
turbine_tablespace_gpus(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	   tablespaces;
	SysScanDesc	   scan;
	HeapTuple	   tuple;

	InitMaterializedSRF(fcinfo, 0);
	tablespaces = table_open(TableSpaceRelationId, AccessShareLock);
	scan = systable_beginscan(tablespaces, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		put_tablespace(rsinfo, (Form_pg_tablespace) GETSTRUCT(tuple));
	systable_endscan(scan);
	table_close(tablespaces, AccessShareLock);
	return (Datum) 0;
}
