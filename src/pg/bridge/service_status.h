/*
 * service_status.h - asks turbined how it is.
 */
#ifndef TURBINE_PG_BRIDGE_SERVICE_STATUS_H
#define TURBINE_PG_BRIDGE_SERVICE_STATUS_H

#include "postgres.h"

#include "turbine/wire.h"

/* A palloc'd reply, checked: at most TB_MAX_DEVICES devices, strings
 * terminated. NULL with *why if there is no answer within seconds. */
extern TbStatusReply *tb_service_status(TbFailure *why);

#endif
