/*
 * request.h - one message to turbined that has one answer.
 */
#ifndef TURBINE_PG_BRIDGE_REQUEST_H
#define TURBINE_PG_BRIDGE_REQUEST_H

#include "pg/bridge/connection.h"

/*
 * Sends one struct (or no payload) on a connection of its own and waits timeout_ms for
 * the answer, whose type the caller checks. The connection is the caller's to release
 * or to close; NULL with *why, and nothing to close, if turbined is gone or silent.
 */
extern TbConnection *tb_request(uint32 type, const void *payload, uint32 length,
								long timeout_ms, TbIncoming *answer, TbFailure *why);

#endif
