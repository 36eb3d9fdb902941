/*
 * stage_connection.h - a connection for several queries, one after the other: those that
 * build join tables, which stay with the connection, and the one that probes
 * them.
 */
#ifndef TURBINE_PG_CONVERSATION_STAGE_CONNECTION_H
#define TURBINE_PG_CONVERSATION_STAGE_CONNECTION_H

#include "postgres.h"

#include "turbine/program.h"

#include "pg/bridge/connection.h"

typedef struct TbStageConnection
{
	TbConnection *conn;
	uint64		  serial;
} TbStageConnection;

/* False, with *why, if there is no service. */
extern bool tb_stage_connection_begin(TbStageConnection *shared, TbFailure *why);

/* The connection, or NULL once it was lost, closed, or is idle again after the
 * last query. */
extern TbConnection *tb_stage_connection_get(const TbStageConnection *shared);

/* Announces a program that a query will want, so that it is compiled meanwhile. */
extern bool tb_program_prepare(TbConnection *conn, const TbProgram *program, uint32 device,
							   TbFailure *why);

/* Lets go of the connection and of the tables that are with it. */
extern void tb_stage_connection_end(TbStageConnection *shared);

#endif
