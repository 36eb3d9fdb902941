/*
 * service_topology.h - asks turbined where GPUs and drives are.
 */
#ifndef TURBINE_PG_BRIDGE_SERVICE_TOPOLOGY_H
#define TURBINE_PG_BRIDGE_SERVICE_TOPOLOGY_H

#include "postgres.h"

#include "turbine/wire.h"

/* A palloc'd reply, checked: as many devices as it says, kinds and routes in range, strings
 * terminated. NULL with *why if there is no answer within seconds. */
extern TbTopologyReply *tb_service_topology(TbFailure *why);

#endif
