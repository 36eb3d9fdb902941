/*
 * request.c - see request.h. Called by whoever asks the service outside of a query:
 * its status, and feeders for a query's slot memory. Must never raise for turbined's
 * sake: its failures are in *why.
 */
#include "postgres.h"

#include "pg/bridge/failure.h"
#include "pg/bridge/request.h"

TbConnection *
tb_request(uint32 type, const void *payload, uint32 length, long timeout_ms,
		   TbIncoming *answer, TbFailure *why)
{
	TbConnection *conn = tb_connection_acquire(why);

	if (conn == NULL || !tb_connection_send_struct(conn, type, payload, length, why))
		return NULL;
	switch (tb_connection_receive(conn, timeout_ms, answer, why))
	{
		case TB_RECEIVED:
			return conn;
		case TB_RECEIVED_NOTHING:
			tb_failure_set(why, TB_FALLBACK_NO_SERVICE, "turbined does not answer");
			tb_connection_close(conn);
			return NULL;
		case TB_RECEIVED_LOST:
			return NULL;
	}
	return NULL;
}
