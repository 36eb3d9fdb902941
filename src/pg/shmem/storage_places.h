/*
 * storage_places.h - which GPUs are near which block device, as turbined found it when it
 * started.
 *
 * Written by the supervisor, once for each start of turbined, and read by whoever wants to
 * know where a file is. Kept while turbined is down: GPUs and drives stay where they are.
 */
#ifndef TURBINE_PG_SHMEM_STORAGE_PLACES_H
#define TURBINE_PG_SHMEM_STORAGE_PLACES_H

#include "postgres.h"

#include "turbine/wire.h"

#define TB_MAX_STORAGE_PLACES 256

typedef struct TbStoragePlace
{
	uint32 major_number; /* of the block device, as stat() says of its files */
	uint32 minor_number;
	uint32 near_gpus;	 /* those of the nearest route, a bit each, GPU 0 first */
	uint16 distances[TB_MAX_DEVICES - 1]; /* to GPUs; UINT16_MAX: not known */
} TbStoragePlace;

/* False: nothing is known of this block device. */
extern bool tb_storage_place_find(uint32 major_number, uint32 minor_number,
								  TbStoragePlace *place);

/* The supervisor's side. */
extern void tb_storage_places_publish(const TbTopologyReply *topology);

#endif
