/*
 * connection.h - a backend's connections to turbined.
 *
 * A connection runs one query at a time and is worth keeping: its slot memory is
 * mapped and registered with the devices. So a backend keeps a few idle ones.
 * One in use belongs to the resource owner that was current when it was
 * acquired; if that owner goes without a release (an error), the connection is
 * closed, which cancels its query in the daemon.
 *
 * Connections live in a fixed array, so a pointer is always safe to look at;
 * tb_connection_is says whether it is still the one that was acquired.
 *
 * All waiting is on the latch and the socket, with CHECK_FOR_INTERRUPTS, for
 * sending too. Nothing here raises for the daemon's sake: a connection that
 * fails is closed and *why says why.
 */
#ifndef TURBINE_PG_BRIDGE_CONNECTION_H
#define TURBINE_PG_BRIDGE_CONNECTION_H

#include "postgres.h"

#include <sys/uio.h>

#include "turbine/wire.h"

/* Slot memory, the backend's side: mapped, and part of a connection. */
typedef struct TbSlotMemory
{
	uint64 id; /* turbined's; 0: none mapped */
	char  *base;
	uint64 size;
} TbSlotMemory;

typedef struct TbConnection TbConnection;

/* An idle connection from the pool, or a new one after its handshake; NULL
 * with *why where there is no service. A dead service is noticed at once. */
extern TbConnection *tb_connection_acquire(TbFailure *why);

/* Gives back a connection without a query. */
extern void tb_connection_release(TbConnection *conn);

/* Closes it; what it ran in the daemon is cancelled. */
extern void tb_connection_close(TbConnection *conn);

/* From now on it belongs to the session: no resource owner closes it, and it does not count
 * as in use. */
extern void tb_connection_keep(TbConnection *conn);

/* Whether its other end is there, as far as is known. */
extern bool tb_connection_is_open(const TbConnection *conn);

/* A connection's identity, never used twice in a backend. */
extern uint64 tb_connection_serial(const TbConnection *conn);
extern bool	  tb_connection_is(const TbConnection *conn, uint64 serial);

/* Of the turbined at its other end: changes with every start. */
extern uint64 tb_connection_generation(const TbConnection *conn);

/* How many connections of this backend are in use by queries. */
extern int tb_connections_in_use(void);

#define TB_MAX_MESSAGE_PARTS 20

/* Sends one message whose payload is the concatenation of `parts`, with
 * descriptors. False: closed, see *why. */
extern bool tb_connection_send(TbConnection *conn, uint32 type, const struct iovec *parts,
							   int nparts, const int *fds, int nfds, TbFailure *why);

/* While held, messages without descriptors are kept until a few have gathered or
 * the connection waits: the service wakes up once for all of them. Whoever holds it
 * flushes before it does anything long. Releasing flushes. */
extern bool tb_connection_hold(TbConnection *conn, bool hold, TbFailure *why);
extern bool tb_connection_flush(TbConnection *conn, TbFailure *why);

/* A message without descriptors whose payload is one struct (or none). */
extern bool tb_connection_send_struct(TbConnection *conn, uint32 type, const void *payload,
									  uint32 length, TbFailure *why);

typedef struct TbIncoming
{
	uint32		type;
	uint32		length;
	const char *payload; /* 8-aligned, until the next receive */
} TbIncoming;

typedef enum TbReceived
{
	TB_RECEIVED,
	TB_RECEIVED_NOTHING, /* no whole message came in time */
	TB_RECEIVED_LOST	 /* closed, see *why */
} TbReceived;

#define TB_WAIT_FOREVER (-1)

/* Waits timeout_ms (0: not at all) for a message. */
extern TbReceived tb_connection_receive(TbConnection *conn, long timeout_ms,
										TbIncoming *message, TbFailure *why);

/* Waits until there is something to receive or this process' latch is set, which is
 * reset: the caller looks at what it waits for afterwards. */
extern void tb_connection_wait(TbConnection *conn);

/* The oldest descriptor that came with messages so far, or -1; the caller
 * closes it. */
extern int tb_connection_take_fd(TbConnection *conn);

/* The connection's slot memory; empty at first. */
extern TbSlotMemory *tb_connection_slot_memory(TbConnection *conn);

/* Maps the memfd (and leaves closing it to the caller). */
extern bool tb_slot_memory_map(TbSlotMemory *memory, int fd, uint64 id, uint64 size,
							   TbFailure *why);

#endif
