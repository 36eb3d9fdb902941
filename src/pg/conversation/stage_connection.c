/*
 * stage_connection.c - see stage_connection.h.
 *
 * Join tables go with the last query, with one that fails, and with a QUERY_CLOSE between
 * queries: a node that ends early sends that, and the connection is idle again.
 * One that ends within a query never gets here with its connection: the query
 * closes it.
 */
#include "postgres.h"

#include "pg/conversation/stage_connection.h"

bool
tb_stage_connection_begin(TbStageConnection *shared, TbFailure *why)
{
	shared->conn = tb_connection_acquire(why);
	if (shared->conn == NULL)
		return false;
	shared->serial = tb_connection_serial(shared->conn);
	return true;
}

TbConnection *
tb_stage_connection_get(const TbStageConnection *shared)
{
	if (shared->conn != NULL && tb_connection_is(shared->conn, shared->serial))
		return shared->conn;
	return NULL;
}

bool
tb_program_prepare(TbConnection *conn, const TbProgram *program, uint32 device,
				   TbFailure *why)
{
	TbPrepare	 header = {0};
	struct iovec parts[2];

	header.device = device;
	header.flags = TB_QUERY_ALLOW_HOST | TB_QUERY_GPU_OK;
	header.program_size = program->total_size;
	parts[0].iov_base = &header;
	parts[0].iov_len = sizeof(header);
	parts[1].iov_base = unconstify(TbProgram *, program);
	parts[1].iov_len = program->total_size;
	return tb_connection_send(conn, TB_MSG_PREPARE, parts, 2, NULL, 0, why);
}

void
tb_stage_connection_end(TbStageConnection *shared)
{
	TbConnection *conn = tb_stage_connection_get(shared);
	TbFailure	  why;

	if (conn != NULL &&
		tb_connection_send_struct(conn, TB_MSG_QUERY_CLOSE, NULL, 0, &why) &&
		tb_connection_hold(conn, false, &why))
		tb_connection_release(conn);
	shared->conn = NULL;
}
