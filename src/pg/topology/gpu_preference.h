/*
 * gpu_preference.h - which GPUs are best for what lies in a tablespace or a file.
 *
 * pg_turbine.gpu_tablespace_map decides if it names the tablespace or a folder of the file.
 * Otherwise the GPUs of the nearest route to the drives are preferred, if that is known
 * (src/engine/topology/README.md). It is advice: the answer never depends on it.
 */
#ifndef TURBINE_PG_TOPOLOGY_GPU_PREFERENCE_H
#define TURBINE_PG_TOPOLOGY_GPU_PREFERENCE_H

#include "postgres.h"

#include "turbine/wire.h"

typedef enum TbPreferredBy
{
	TB_PREFERRED_BY_NOTHING,  /* no GPU is better than another */
	TB_PREFERRED_BY_DISTANCE, /* these are near; others are allowed */
	TB_PREFERRED_BY_MAP		  /* only these, if one of them may be used */
} TbPreferredBy;

typedef struct TbGpuPreference
{
	TbPreferredBy by;
	uint32		  gpus;	 /* usable ones, a bit each, GPU 0 first; 0 with BY_NOTHING */
	int			  count; /* of those below */
	uint8		  order[TB_MAX_DEVICES - 1]; /* numbers of the GPUs, the nearest first */
} TbGpuPreference;

/* InvalidOid: the database's. */
extern TbGpuPreference tb_gpus_of_tablespace(Oid tablespace);

/* Of a table that has a file. Others, and InvalidOid: nothing. */
extern TbGpuPreference tb_gpus_of_table(Oid relid);

/* An absolute path of a file or a folder. */
extern TbGpuPreference tb_gpus_of_file(const char *path);

/* "map", "distance", "none". */
extern const char *tb_preferred_by_name(TbPreferredBy by);

#endif
