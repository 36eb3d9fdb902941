/*
 * device_list.h - the devices that turbined offered when last asked.
 *
 * Written by the supervisor, read by the planner, EXPLAIN and
 * turbine.devices. A snapshot may be up to a polling period old.
 */
#ifndef TURBINE_PG_SHMEM_DEVICE_LIST_H
#define TURBINE_PG_SHMEM_DEVICE_LIST_H

#include "postgres.h"

#include "turbine/wire.h"

/* The supervisor looks at the devices so often while the service is up. */
#define TB_DEVICES_LOOK_MS 1000

/* Copies at most `max` devices and returns how many; 0 while the service is
 * down. Index in the result is the device's index (0: the host). */
extern int tb_devices_snapshot(TbDeviceInfo *out, int max);

/* GPUs that take queries now: a bit each, GPU 0 first. */
extern uint32 tb_usable_gpus(void);

/* Whether turbined answered when last asked. */
extern bool tb_service_is_up(void);

/* turbined's generation, 0 while it is down: changes whenever it comes or
 * goes. Cached plans are reset by the supervisor then, without anyone asking. */
extern uint64 tb_devices_generation(void);

/* The supervisor's side. */
extern void tb_devices_publish(const TbStatusReply *status);
extern void tb_devices_withdraw(void);

#endif
