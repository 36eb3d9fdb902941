/*
 * connection.c - a backend's connections to turbined: life, pool and ownership, slot memory
 * and messages; see connection.h.
 *
 * Life. Owns the array of connections of this backend. When a transaction, subtransaction
 * or portal aborts, the resource release callback closes the connections that it left. It
 * does so before locks are released. Otherwise another backend might get the lock on a
 * relation whose files turbined still reads.
 *
 * Slot memory. turbined makes it, the backend maps it. Owns the mapping, which lives as
 * long as its connection. Memory that could shrink under a reader would kill it by SIGBUS,
 * so nothing is mapped that is not sealed against that.
 *
 * Messages. The socket never blocks; waits are on the connection's wait set, so the latch,
 * interrupts and the postmaster's death are always served. While a send waits, what comes
 * in is read, so that two full sockets can not wait for each other.
 *
 * Called by queries, feeders and the supervisor.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* F_GET_SEALS */
#endif
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "pg/bridge/connection.h"
#include "pg/bridge/failure.h"
#include "pg/compat/pg17.h"
#include "pg/shmem/service_address.h"
#include "pg/shmem/shared_state.h"

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
	bool			  kept;			/* by the session */
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

static void
unmap_slot_memory(TbSlotMemory *memory)
{
	if (memory->base != NULL)
		munmap(memory->base, memory->size);
	memset(memory, 0, sizeof(*memory));
}

bool
tb_slot_memory_map(TbSlotMemory *memory, int fd, uint64 id, uint64 size, TbFailure *why)
{
	struct stat st;
	int			seals = fcntl(fd, F_GET_SEALS);
	void	   *base;

	/* Could it shrink under us? */
	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
	{
		tb_failure_set(why, TB_FALLBACK_PROTOCOL,
					   "shared memory is not sealed against shrinking");
		return false;
	}
	/* Is all of it there? */
	if (fstat(fd, &st) != 0 || st.st_size < 0 || (uint64) st.st_size < size || size == 0)
	{
		tb_failure_set(why, TB_FALLBACK_PROTOCOL,
					   "shared memory is smaller than announced");
		return false;
	}
	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
	{
		tb_failure_set(why, TB_FALLBACK_HOST_MEMORY, "could not map shared memory: %s",
					   strerror(errno));
		return false;
	}
	/* The new memory replaces the old. */
	unmap_slot_memory(memory);
	memory->id = id;
	memory->base = base;
	memory->size = size;
	return true;
}

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
	conn->kept = false;
	/* Close socket and descriptors */
	if (conn->wait_set != NULL)
		FreeWaitEventSet(conn->wait_set);
	conn->wait_set = NULL;
	close(conn->socket);
	ReleaseExternalFD();
	for (int i = 0; i < conn->nfds; i++)
		close(conn->fds[i]);
	conn->nfds = 0;
	/* Forget what was under way */
	if (conn->in.data != NULL)
		pfree(conn->in.data);
	memset(&conn->in, 0, sizeof(conn->in));
	if (conn->out.data != NULL)
		pfree(conn->out.data);
	memset(&conn->out, 0, sizeof(conn->out));
	conn->holding = false;
	conn->nheld = 0;
	unmap_slot_memory(&conn->slot_memory);
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

void
tb_connection_keep(TbConnection *conn)
{
	Assert(conn->state == TB_CONNECTION_IN_USE);
	conn->owner = NULL;
	conn->kept = true;
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
		count += connections[i].state == TB_CONNECTION_IN_USE && !connections[i].kept;
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

bool
tb_connection_is_open(const TbConnection *conn)
{
	char	byte;
	ssize_t n;

	if (conn->state != TB_CONNECTION_IN_USE)
		return false;
	n = recv(conn->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
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
	/* Connect, with some patience */
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
	TbWelcome	   welcome;
	TbIncoming	   message;

	/* Show the cluster's secret */
	LWLockAcquire(shared->lock, LW_SHARED);
	memcpy(hello.nonce, shared->nonce, TB_NONCE_BYTES);
	LWLockRelease(shared->lock);
	hello.pid = MyProcPid;
	if (!tb_connection_send_struct(conn, TB_MSG_HELLO, &hello, sizeof(hello), why))
		return false;
	/* Await the answer */
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
	if (message.type != TB_MSG_WELCOME || message.length != sizeof(TbWelcome))
	{
		tb_failure_set(why, TB_FALLBACK_PROTOCOL, "turbined speaks another protocol");
		return false;
	}
	/* Compare the versions */
	memcpy(&welcome, message.payload, sizeof(welcome));
	if (welcome.version != TB_WIRE_VERSION)
	{
		tb_failure_set(
			why, TB_FALLBACK_PROTOCOL,
			"turbined is of another release: it speaks version %u of the protocol, "
			"the server's library speaks %u",
			welcome.version, TB_WIRE_VERSION);
		return false;
	}
	conn->generation = welcome.generation;
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
	conn->wait_set = TB_CREATE_WAIT_EVENT_SET(3);
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
	/* Connect to our own service */
	fd = connect_socket(why);
	if (fd < 0 || !peer_is_ours(fd, why))
	{
		if (fd >= 0)
			close(fd);
		ReleaseExternalFD();
		return NULL;
	}
	/* Greet it */
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

#define READ_SIZE (64 * 1024)

/* Held messages that go even if more are to come. */
#define MAX_HELD 4

/* More than a message unread: only a send that waits lets it come to that. */
#define MAX_UNREAD (2 * (int) TB_MAX_MESSAGE)

typedef enum Filled
{
	FILLED_SOME,
	FILLED_NOTHING,
	FILLED_LOST
} Filled;

static bool
lose(TbConnection *conn, TbFailure *why, TbFallback reason, const char *what)
{
	tb_connection_close(conn);
	tb_failure_set(why, reason, "%s", what);
	return false;
}

/* Waits for the events or the timeout; serves the latch and interrupts. */
static void
wait_for(TbConnection *conn, uint32 events, long timeout_ms)
{
	WaitEvent event;

	ModifyWaitEvent(conn->wait_set, conn->socket_event, events, NULL);
	if (WaitEventSetWait(conn->wait_set, timeout_ms, &event, 1, PG_WAIT_EXTENSION) == 1 &&
		(event.events & WL_LATCH_SET))
		ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

void
tb_connection_wait(TbConnection *conn)
{
	Assert(conn->nheld == 0);
	wait_for(conn, WL_SOCKET_READABLE, -1);
}

/* Keeps the descriptors of one recvmsg; false if there are more than any
 * message has. */
static bool
keep_descriptors(TbConnection *conn, struct msghdr *header)
{
	bool ok = (header->msg_flags & MSG_CTRUNC) == 0;

	/* A message may carry several. */
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c))
	{
		int count;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (int i = 0; i < count; i++)
		{
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			/* Too many are a protocol error. */
			if (conn->nfds < TB_MAX_PENDING_FDS)
				conn->fds[conn->nfds++] = fd;
			else
			{
				close(fd);
				ok = false;
			}
		}
	}
	return ok;
}

/* Reads what is there, without waiting. */
static Filled
fill(TbConnection *conn, TbFailure *why)
{
	union
	{
		struct cmsghdr align;
		char		   space[CMSG_SPACE(TB_MAX_PENDING_FDS * sizeof(int))];
	} control;
	struct iovec  part;
	struct msghdr header = {0};
	ssize_t		  n;

	if (conn->in.len > MAX_UNREAD)
	{
		lose(conn, why, TB_FALLBACK_PROTOCOL, "turbined sends without end");
		return FILLED_LOST;
	}
	/* Receive what is there */
	enlargeStringInfo(&conn->in, READ_SIZE);
	part.iov_base = conn->in.data + conn->in.len;
	part.iov_len = READ_SIZE;
	header.msg_iov = &part;
	header.msg_iovlen = 1;
	header.msg_control = control.space;
	header.msg_controllen = sizeof(control.space);
	n = recvmsg(conn->socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return FILLED_NOTHING;
	if (n <= 0)
	{
		lose(conn, why, TB_FALLBACK_NO_SERVICE, "turbined closed the connection");
		return FILLED_LOST;
	}
	/* Keep bytes and descriptors */
	conn->in.len += n;
	conn->in.data[conn->in.len] = '\0';
	if (!keep_descriptors(conn, &header))
	{
		lose(conn, why, TB_FALLBACK_PROTOCOL, "unexpected descriptors from turbined");
		return FILLED_LOST;
	}
	return FILLED_SOME;
}

/* Drops the message returned last, so that the next starts aligned. */
static void
forget_consumed(TbConnection *conn)
{
	if (conn->consumed == 0)
		return;
	conn->in.len -= conn->consumed;
	memmove(conn->in.data, conn->in.data + conn->consumed, conn->in.len);
	conn->consumed = 0;
}

/* Whether `in` starts with a whole message; *lost if it never will. */
static bool
whole_message(TbConnection *conn, TbIncoming *message, TbFailure *why, bool *lost)
{
	TbMessage header;

	*lost = false;
	if (conn->in.len < (int) sizeof(header))
		return false;
	memcpy(&header, conn->in.data, sizeof(header));
	if (header.length > TB_MAX_MESSAGE)
	{
		lose(conn, why, TB_FALLBACK_PROTOCOL, "oversized message from turbined");
		*lost = true;
		return false;
	}
	if ((uint32) conn->in.len < sizeof(header) + header.length)
		return false;
	message->type = header.type;
	message->length = header.length;
	message->payload = conn->in.data + sizeof(header);
	conn->consumed = sizeof(header) + header.length;
	return true;
}

TbReceived
tb_connection_receive(TbConnection *conn, long timeout_ms, TbIncoming *message,
					  TbFailure *why)
{
	instr_time start;
	bool	   lost;

	if (timeout_ms > 0)
		INSTR_TIME_SET_CURRENT(start);
	forget_consumed(conn);
	while (!whole_message(conn, message, why, &lost))
	{
		long left = timeout_ms;

		if (lost)
			return TB_RECEIVED_LOST;
		switch (fill(conn, why))
		{
			case FILLED_SOME:
				continue;
			case FILLED_LOST:
				return TB_RECEIVED_LOST;
			case FILLED_NOTHING:
				break;
		}
		if (timeout_ms > 0)
		{
			instr_time now;

			INSTR_TIME_SET_CURRENT(now);
			INSTR_TIME_SUBTRACT(now, start);
			left = timeout_ms - (long) INSTR_TIME_GET_MILLISEC(now);
		}
		if (left <= 0 && timeout_ms != TB_WAIT_FOREVER)
			return TB_RECEIVED_NOTHING;
		if (conn->nheld > 0)
		{
			/* Sending may take in what would be waited for: look again. */
			if (!tb_connection_flush(conn, why))
				return TB_RECEIVED_LOST;
			continue;
		}
		wait_for(conn, WL_SOCKET_READABLE, left);
	}
	return TB_RECEIVED;
}

/* One sendmsg; descriptors go with the first byte. Bytes sent, 0 if it would
 * block, -1 if the connection is gone. */
static ssize_t
send_some(TbConnection *conn, struct iovec *parts, int nparts, const int *fds, int nfds)
{
	union
	{
		struct cmsghdr align;
		char		   space[CMSG_SPACE(TB_MAX_FDS * sizeof(int))];
	} control;
	struct msghdr header = {0};
	ssize_t		  n;

	header.msg_iov = parts;
	header.msg_iovlen = nparts;
	/* Attach the descriptors */
	if (nfds > 0)
	{
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		header.msg_control = control.space;
		header.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c = CMSG_FIRSTHDR(&header);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	/* Send what the socket takes */
	n = sendmsg(conn->socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return 0;
	return n;
}

/* Skips `sent` bytes of the parts; returns how many parts are used up. */
static int
advance(struct iovec *parts, int nparts, size_t sent)
{
	int i = 0;

	while (i < nparts && sent >= parts[i].iov_len)
		sent -= parts[i++].iov_len;
	if (i < nparts)
	{
		parts[i].iov_base = (char *) parts[i].iov_base + sent;
		parts[i].iov_len -= sent;
	}
	return i;
}

/* Sends all bytes of the parts, which it uses up. */
static bool
send_all(TbConnection *conn, struct iovec *parts, int nparts, const int *fds, int nfds,
		 TbFailure *why)
{
	int first = 0;

	while (first < nparts)
	{
		ssize_t sent = send_some(conn, parts + first, nparts - first, fds, nfds);

		if (sent < 0)
			return lose(conn, why, TB_FALLBACK_NO_SERVICE,
						"turbined closed the connection");
		if (sent > 0)
		{
			nfds = 0;
			first += advance(parts + first, nparts - first, sent);
			continue;
		}
		wait_for(conn, WL_SOCKET_READABLE | WL_SOCKET_WRITEABLE, TB_WAIT_FOREVER);
		if (fill(conn, why) == FILLED_LOST)
			return false;
	}
	return true;
}

bool
tb_connection_flush(TbConnection *conn, TbFailure *why)
{
	struct iovec part;

	if (conn->nheld == 0)
		return true;
	part.iov_base = conn->out.data;
	part.iov_len = conn->out.len;
	if (!send_all(conn, &part, 1, NULL, 0, why))
		return false;
	resetStringInfo(&conn->out);
	conn->nheld = 0;
	return true;
}

bool
tb_connection_hold(TbConnection *conn, bool hold, TbFailure *why)
{
	conn->holding = hold;
	return hold || tb_connection_flush(conn, why);
}

bool
tb_connection_send(TbConnection *conn, uint32 type, const struct iovec *parts, int nparts,
				   const int *fds, int nfds, TbFailure *why)
{
	struct iovec whole[TB_MAX_MESSAGE_PARTS + 1];
	TbMessage	 header = {.type = type};
	size_t		 length = 0;

	Assert(nparts <= TB_MAX_MESSAGE_PARTS && nfds <= TB_MAX_FDS);
	/* Put the header in front */
	for (int i = 0; i < nparts; i++)
	{
		whole[i + 1] = parts[i];
		length += parts[i].iov_len;
	}
	if (length > TB_MAX_MESSAGE)
		return lose(conn, why, TB_FALLBACK_PROTOCOL, "message is too large");
	header.length = (uint32) length;
	whole[0].iov_base = &header;
	whole[0].iov_len = sizeof(header);
	nparts++;

	/* Send it, or hold it */
	if (!conn->holding || nfds > 0 || length > READ_SIZE)
		return tb_connection_flush(conn, why) &&
			send_all(conn, whole, nparts, fds, nfds, why);
	for (int i = 0; i < nparts; i++)
		appendBinaryStringInfo(&conn->out, whole[i].iov_base, (int) whole[i].iov_len);
	return ++conn->nheld < MAX_HELD || tb_connection_flush(conn, why);
}

bool
tb_connection_send_struct(TbConnection *conn, uint32 type, const void *payload,
						  uint32 length, TbFailure *why)
{
	struct iovec part;

	part.iov_base = unconstify(void *, payload);
	part.iov_len = length;
	return tb_connection_send(conn, type, &part, length > 0 ? 1 : 0, NULL, 0, why);
}
