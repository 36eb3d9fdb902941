/*
 * connection_internal.h - the connection's fields, for connection.c (life and
 * ownership) and message_io.c (bytes) alone.
 */
#ifndef TURBINE_PG_BRIDGE_CONNECTION_INTERNAL_H
#define TURBINE_PG_BRIDGE_CONNECTION_INTERNAL_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "storage/latch.h"
#include "utils/resowner.h"

#include "pg/bridge/connection.h"

/* Only READY carries a descriptor, and none is open twice. */
#define TB_MAX_PENDING_FDS 4

typedef enum TbConnectionState
{
	TB_CONNECTION_CLOSED = 0,
	TB_CONNECTION_IDLE,
	TB_CONNECTION_IN_USE
} TbConnectionState;

struct TbConnection
{
	TbConnectionState state;
	uint64			  serial;
	uint64			  generation;	/* as WELCOME said */
	int				  socket;
	WaitEventSet	 *wait_set;		/* latch, postmaster death, socket */
	int				  socket_event; /* position in wait_set */
	ResourceOwner	  owner;		/* while in use; NULL: no owner is current */
	StringInfoData	  in;			/* received and not yet returned, but for the
									 * message returned last, at its start */
	int				  consumed;		/* bytes of `in` returned to the caller */
	bool			  holding;		/* messages gather in `out` */
	int				  nheld;		/* messages in `out` */
	StringInfoData	  out;			/* to be sent before all else */
	int				  nfds;
	int				  fds[TB_MAX_PENDING_FDS];
	TbSlotMemory	  slot_memory;
};

#endif
