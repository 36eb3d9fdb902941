/*
 * message_io.c - sends and receives the messages of wire.h over a connection.
 *
 * The socket never blocks; waits are on the connection's wait set, so the
 * latch, interrupts and the postmaster's death are always served. While a
 * send waits, what comes in is read, so that two full sockets can not wait for
 * each other. Called by queries and the supervisor, through connection.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MSG_CMSG_CLOEXEC */
#endif
#include "postgres.h"

#include <sys/socket.h>
#include <unistd.h>

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "pg/bridge/connection_internal.h"
#include "pg/bridge/failure.h"

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
