/*
 * connection.c - life, pool and ownership of connections: see connection.h.
 *
 * Owns the array of connections of this backend. When a transaction, subtransaction or
 * portal aborts, the resource release callback closes the connections that it left. It
 * does so before locks are released. Otherwise another backend might get the lock on a
 * relation whose files turbined still reads.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* struct ucred */
#endif
#include "postgres.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "pg/bridge/connection_internal.h"
#include "pg/bridge/failure.h"
#include "pg/shmem/service_address.h"
#include "pg/shmem/shared_state.h"

#define MAX_CONNECTIONS 64
#define MAX_IDLE 2
#define HANDSHAKE_TIMEOUT_MS 2000

/* A full accept queue is not a dead service: some patience. */
#define CONNECT_RETRIES 20
#define CONNECT_RETRY_MS 5

static TbConnection connections[MAX_CONNECTIONS];
static uint64		last_serial = 0;
static bool			callback_registered = false;

static void
release_callback(ResourceReleasePhase phase, bool isCommit, bool isTopLevel, void *arg)
{
	if (phase != RESOURCE_RELEASE_BEFORE_LOCKS)
		return;
	for (int i = 0; i < MAX_CONNECTIONS; i++)
	{
		TbConnection *conn = &connections[i];

		if (conn->state != TB_CONNECTION_IN_USE || conn->owner == NULL ||
			conn->owner != CurrentResourceOwner)
			continue;
		if (isCommit)
			elog(WARNING, "pg_turbine: connection to the service was not released");
		tb_connection_close(conn);
	}
}

void
tb_connection_close(TbConnection *conn)
{
	if (conn->state == TB_CONNECTION_CLOSED)
		return;
	conn->state = TB_CONNECTION_CLOSED;
	conn->owner = NULL;
	if (conn->wait_set != NULL)
		FreeWaitEventSet(conn->wait_set);
	conn->wait_set = NULL;
	close(conn->socket);
	ReleaseExternalFD();
	for (int i = 0; i < conn->nfds; i++)
		close(conn->fds[i]);
	conn->nfds = 0;
	if (conn->in.data != NULL)
		pfree(conn->in.data);
	memset(&conn->in, 0, sizeof(conn->in));
	if (conn->out.data != NULL)
		pfree(conn->out.data);
	memset(&conn->out, 0, sizeof(conn->out));
	conn->holding = false;
	conn->nheld = 0;
	tb_slot_memory_unmap(&conn->slot_memory);
}

void
tb_connection_release(TbConnection *conn)
{
	int nidle = 0;

	Assert(conn->state == TB_CONNECTION_IN_USE);
	for (int i = 0; i < MAX_CONNECTIONS; i++)
		nidle += connections[i].state == TB_CONNECTION_IDLE;
	/* Bytes or descriptors left over belong to no query: not worth trusting. */
	if (nidle >= MAX_IDLE || conn->consumed != conn->in.len || conn->nfds > 0 ||
		conn->holding)
	{
		tb_connection_close(conn);
		return;
	}
	conn->owner = NULL;
	conn->state = TB_CONNECTION_IDLE;
}

uint64
tb_connection_serial(const TbConnection *conn)
{
	return conn->serial;
}

uint64
tb_connection_generation(const TbConnection *conn)
{
	return conn->generation;
}

bool
tb_connection_is(const TbConnection *conn, uint64 serial)
{
	return conn->state == TB_CONNECTION_IN_USE && conn->serial == serial;
}

int
tb_connections_in_use(void)
{
	int count = 0;

	for (int i = 0; i < MAX_CONNECTIONS; i++)
		count += connections[i].state == TB_CONNECTION_IN_USE;
	return count;
}

TbSlotMemory *
tb_connection_slot_memory(TbConnection *conn)
{
	return &conn->slot_memory;
}

int
tb_connection_take_fd(TbConnection *conn)
{
	int fd;

	if (conn->nfds == 0)
		return -1;
	fd = conn->fds[0];
	conn->nfds--;
	memmove(conn->fds, conn->fds + 1, conn->nfds * sizeof(int));
	return fd;
}

/* An idle connection may have died with its daemon: no byte may be there to
 * read, and no end of file. */
static bool
still_open(TbConnection *conn)
{
	char	byte;
	ssize_t n = recv(conn->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

static TbConnection *
take_idle(void)
{
	for (int i = 0; i < MAX_CONNECTIONS; i++)
	{
		if (connections[i].state != TB_CONNECTION_IDLE)
			continue;
		if (still_open(&connections[i]))
			return &connections[i];
		tb_connection_close(&connections[i]);
	}
	return NULL;
}

/* Two descriptors: the socket and its wait set's. Raising over the second
 * would be an error for the device's sake, so both are asked for first. */
static bool
reserve_descriptors(void)
{
	if (!AcquireExternalFD())
		return false;
	if (!AcquireExternalFD())
	{
		ReleaseExternalFD();
		return false;
	}
	ReleaseExternalFD();
	return true;
}

static int
connect_socket(TbFailure *why)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int				   fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
	{
		tb_failure_set(why, TB_FALLBACK_NO_SERVICE, "socket: %s", strerror(errno));
		return -1;
	}
	strlcpy(address.sun_path, TB_SOCKET_PATH, sizeof(address.sun_path));
	for (int attempt = 0;; attempt++)
	{
		if (connect(fd, (struct sockaddr *) &address, sizeof(address)) == 0)
			return fd;
		if (errno != EAGAIN || attempt >= CONNECT_RETRIES)
			break;
		(void) WaitLatch(MyLatch, WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, CONNECT_RETRY_MS,
						 PG_WAIT_EXTENSION);
	}
	tb_failure_set(why, TB_FALLBACK_NO_SERVICE, "could not connect to turbined: %s",
				   strerror(errno));
	close(fd);
	return -1;
}

/* The daemon runs as we do; anything else at the socket is an impostor. */
static bool
peer_is_ours(int fd, TbFailure *why)
{
	struct ucred peer;
	socklen_t	 length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
		peer.uid != geteuid())
	{
		tb_failure_set(why, TB_FALLBACK_NO_SERVICE,
					   "the service's socket belongs to another user");
		return false;
	}
	return true;
}

static bool
handshake(TbConnection *conn, TbFailure *why)
{
	TbSharedState *shared = tb_shared_state();
	TbHello		   hello = {.magic = TB_WIRE_MAGIC, .version = TB_WIRE_VERSION};
	TbIncoming	   message;

	LWLockAcquire(shared->lock, LW_SHARED);
	memcpy(hello.nonce, shared->nonce, TB_NONCE_BYTES);
	LWLockRelease(shared->lock);
	hello.pid = MyProcPid;
	if (!tb_connection_send_struct(conn, TB_MSG_HELLO, &hello, sizeof(hello), why))
		return false;
	switch (tb_connection_receive(conn, HANDSHAKE_TIMEOUT_MS, &message, why))
	{
		case TB_RECEIVED_LOST:
			return false;
		case TB_RECEIVED_NOTHING:
			tb_failure_set(why, TB_FALLBACK_NO_SERVICE, "turbined does not answer");
			return false;
		case TB_RECEIVED:
			break;
	}
	if (message.type != TB_MSG_WELCOME || message.length != sizeof(TbWelcome) ||
		((const TbWelcome *) message.payload)->version != TB_WIRE_VERSION)
	{
		tb_failure_set(why, TB_FALLBACK_PROTOCOL, "turbined speaks another protocol");
		return false;
	}
	conn->generation = ((const TbWelcome *) message.payload)->generation;
	return true;
}

static TbConnection *
free_connection(void)
{
	for (int i = 0; i < MAX_CONNECTIONS; i++)
		if (connections[i].state == TB_CONNECTION_CLOSED)
			return &connections[i];
	return NULL;
}

/* Makes the socket a connection that its owner holds. Memory errors leave it
 * to the release callback. */
static void
open_connection(TbConnection *conn, int fd)
{
	MemoryContext old;

	memset(conn, 0, sizeof(*conn));
	conn->socket = fd;
	conn->serial = ++last_serial;
	conn->owner = CurrentResourceOwner;
	conn->state = TB_CONNECTION_IN_USE;

	old = MemoryContextSwitchTo(TopMemoryContext);
	initStringInfo(&conn->in);
	initStringInfo(&conn->out);
	conn->wait_set = CreateWaitEventSet(TopMemoryContext, 3);
	AddWaitEventToSet(conn->wait_set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(conn->wait_set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
	conn->socket_event = AddWaitEventToSet(conn->wait_set, WL_SOCKET_READABLE, fd, NULL,
										   NULL);
	MemoryContextSwitchTo(old);
}

static TbConnection *
connect_new(TbFailure *why)
{
	TbConnection *conn = free_connection();
	int			  fd;

	if (conn == NULL || !reserve_descriptors())
	{
		tb_failure_set(why, TB_FALLBACK_HOST_MEMORY,
					   "too many connections or files open in this session");
		return NULL;
	}
	fd = connect_socket(why);
	if (fd < 0 || !peer_is_ours(fd, why))
	{
		if (fd >= 0)
			close(fd);
		ReleaseExternalFD();
		return NULL;
	}
	open_connection(conn, fd);
	if (!handshake(conn, why))
	{
		tb_connection_close(conn);
		return NULL;
	}
	return conn;
}

TbConnection *
tb_connection_acquire(TbFailure *why)
{
	TbConnection *conn;

	if (tb_shared_state() == NULL)
	{
		tb_failure_set(why, TB_FALLBACK_NO_SERVICE,
					   "pg_turbine is not in shared_preload_libraries");
		return NULL;
	}
	if (!callback_registered)
	{
		RegisterResourceReleaseCallback(release_callback, NULL);
		callback_registered = true;
	}
	conn = take_idle();
	if (conn == NULL)
		return connect_new(why);
	conn->serial = ++last_serial;
	conn->owner = CurrentResourceOwner;
	conn->state = TB_CONNECTION_IN_USE;
	return conn;
}
