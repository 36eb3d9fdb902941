/*
 * gpu_preference.c - see gpu_preference.h.
 *
 * Called when a query is sent, by EXPLAIN and by turbine.tablespace_gpus. It owns nothing,
 * and raises nothing: a file that is not there has no preference.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_tablespace.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pg/settings/tablespace_map.h"
#include "pg/shmem/device_list.h"
#include "pg/shmem/storage_places.h"
#include "pg/topology/gpu_preference.h"

/* Of the block device that the path is on; false: not known. */
static bool
place_of_path(const char *path, TbStoragePlace *place)
{
	struct stat status;

	return stat(path, &status) == 0 &&
		tb_storage_place_find(major(status.st_dev), minor(status.st_dev), place);
}

/* Sorts the preferred GPUs by their distance; of equal ones, or if it is not known, by
 * number. */
static void
order_gpus(TbGpuPreference *preference, const TbStoragePlace *place)
{
	preference->count = 0;
	for (int gpu = 0; gpu < TB_MAX_DEVICES - 1; gpu++)
	{
		int at = preference->count;

		if ((preference->gpus >> gpu & 1) == 0)
			continue;
		while (place != NULL && at > 0 &&
			   place->distances[preference->order[at - 1]] > place->distances[gpu])
		{
			preference->order[at] = preference->order[at - 1];
			at--;
		}
		preference->order[at] = (uint8) gpu;
		preference->count++;
	}
}

static TbGpuPreference
preference_of(uint32 mapped, const char *path)
{
	TbGpuPreference preference = {0};
	TbStoragePlace	place;
	bool			known = place_of_path(path, &place);
	uint32			usable = tb_usable_gpus();

	preference.by = TB_PREFERRED_BY_MAP;
	preference.gpus = mapped & usable;
	if (preference.gpus == 0 && known)
	{
		preference.by = TB_PREFERRED_BY_DISTANCE;
		preference.gpus = place.near_gpus & usable;
	}
	if (preference.gpus == 0)
		preference.by = TB_PREFERRED_BY_NOTHING;
	order_gpus(&preference, known ? &place : NULL);
	return preference;
}

static uint32
mapped_gpus(Oid tablespace)
{
	HeapTuple tuple;
	uint32	  gpus = 0;

	if (tb_tablespace_map_is_empty())
		return 0;
	tuple = SearchSysCache1(TABLESPACEOID, ObjectIdGetDatum(tablespace));
	if (HeapTupleIsValid(tuple))
	{
		gpus = tb_tablespace_map_of_name(
			NameStr(((Form_pg_tablespace) GETSTRUCT(tuple))->spcname));
		ReleaseSysCache(tuple);
	}
	return gpus;
}

TbGpuPreference
tb_gpus_of_table(Oid relid)
{
	char			kind = OidIsValid(relid) ? get_rel_relkind(relid) : '\0';
	TbGpuPreference nothing = {0};

	if (kind != RELKIND_RELATION && kind != RELKIND_MATVIEW)
		return nothing;
	return tb_gpus_of_tablespace(get_rel_tablespace(relid));
}

TbGpuPreference
tb_gpus_of_tablespace(Oid tablespace)
{
	char path[MAXPGPATH];

	if (!OidIsValid(tablespace))
		tablespace = MyDatabaseTableSpace;
	/* Relative to the data directory, where backends are. */
	if (tablespace == DEFAULTTABLESPACE_OID)
		strlcpy(path, "base", sizeof(path));
	else if (tablespace == GLOBALTABLESPACE_OID)
		strlcpy(path, "global", sizeof(path));
	else
		snprintf(path, sizeof(path), "pg_tblspc/%u", tablespace);
	return preference_of(mapped_gpus(tablespace), path);
}

TbGpuPreference
tb_gpus_of_file(const char *path)
{
	return preference_of(tb_tablespace_map_of_path(path), path);
}

const char *
tb_preferred_by_name(TbPreferredBy by)
{
	switch (by)
	{
		case TB_PREFERRED_BY_NOTHING:
			return "none";
		case TB_PREFERRED_BY_DISTANCE:
			return "distance";
		case TB_PREFERRED_BY_MAP:
			return "map";
	}
	return "none";
}
