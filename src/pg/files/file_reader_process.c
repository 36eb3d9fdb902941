/*
 * file_reader_process.c - starts readers, speaks with them and ends them: see
 * file_reader_process.h.
 *
 * Owns processes and both ends of their socket and pipe. A process inherits nothing but
 * these and standard error; it is in a group of its own, so that signals for the backend's
 * group do not reach it before the backend knows. Every wait ends at an interrupt.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* F_SETPIPE_SZ, pipe2 */
#endif
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "pg/files/child_program.h"
#include "pg/files/file_reader_process.h"
#include "pg/settings/guc.h"

#define PIPE_BYTES (1024 * 1024)
#define FDS_OF_READER 2

struct TbFileReader
{
	pid_t		  pid; /* 0: reaped */
	int			  socket;
	int			  pipe;
	ResourceOwner owner;	  /* NULL: idle */
	int			  unanswered; /* requests */
	bool		  is_amid;	  /* a request or a frame was sent or received in part */
	int			  memory_mb;  /* that it was started with */
	char		 *buffer;
	uint32		  buffer_size;
	TbFileReader *next;
};

static TbFileReader *readers = NULL;
static bool			 callback_registered = false;

static void
end_reader(TbFileReader *reader)
{
	/* Out of the list. */
	for (TbFileReader **place = &readers; *place != NULL; place = &(*place)->next)
	{
		if (*place == reader)
		{
			*place = reader->next;
			break;
		}
	}
	/* Descriptors. */
	close(reader->socket);
	close(reader->pipe);
	for (int i = 0; i < FDS_OF_READER; i++)
		ReleaseExternalFD();
	/* No zombie stays behind. */
	if (reader->pid > 0)
	{
		(void) kill(reader->pid, SIGKILL);
		while (waitpid(reader->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (reader->buffer != NULL)
		pfree(reader->buffer);
	pfree(reader);
}

void
tb_file_reader_release(TbFileReader *reader)
{
	bool has_idle = false;

	for (TbFileReader *other = readers; other != NULL; other = other->next)
		has_idle = has_idle || other->owner == NULL;
	if (has_idle || reader->unanswered > 0 || reader->is_amid)
	{
		end_reader(reader);
		return;
	}
	/* A large row's memory is not kept for the next one. */
	if (reader->buffer_size > 4 * TB_READER_FRAME_BYTES)
	{
		pfree(reader->buffer);
		reader->buffer = NULL;
		reader->buffer_size = 0;
	}
	reader->owner = NULL;
}

static void
release_callback(ResourceReleasePhase phase, bool isCommit, bool isTopLevel, void *arg)
{
	TbFileReader *next;

	if (phase != RESOURCE_RELEASE_BEFORE_LOCKS)
		return;
	for (TbFileReader *reader = readers; reader != NULL; reader = next)
	{
		next = reader->next;
		if (reader->owner == NULL || reader->owner != CurrentResourceOwner)
			continue;
		if (isCommit)
			elog(WARNING, "pg_turbine: a file reader was not released");
		tb_file_reader_release(reader);
	}
}

static int
spawn_reader(int socket, int pipe, pid_t *pid)
{
	char  memory[32];
	char *arguments[] = {"turbine-file-reader", "--memory", memory, NULL};
	int	  files[] = {socket, pipe};

	snprintf(memory, sizeof(memory), INT64_FORMAT,
			 (int64) tb_guc_file_reader_memory * 1024 * 1024);
	return tb_spawn_program(arguments, NULL, files, lengthof(files), pid);
}

/* Starts a process and fills in its end of socket and pipe; an error number or 0. */
static int
start_process(TbFileReader *reader)
{
	int sockets[2], pipes[2];
	int error;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
		return errno;
	if (pipe2(pipes, O_CLOEXEC) != 0)
	{
		error = errno;
		close(sockets[0]);
		close(sockets[1]);
		return error;
	}
	error = spawn_reader(sockets[1], pipes[1], &reader->pid);
	close(sockets[1]);
	close(pipes[1]);
	if (error != 0)
	{
		close(sockets[0]);
		close(pipes[0]);
		return error;
	}
	reader->socket = sockets[0];
	reader->pipe = pipes[0];
	fcntl(reader->socket, F_SETFL, O_NONBLOCK);
	fcntl(reader->pipe, F_SETFL, O_NONBLOCK);
	(void) fcntl(reader->pipe, F_SETPIPE_SZ, PIPE_BYTES); /* a smaller one does, too */
	return 0;
}

/* An idle reader, or NULL. */
static TbFileReader *
take_idle(void)
{
	TbFileReader *next;

	for (TbFileReader *reader = readers; reader != NULL; reader = next)
	{
		next = reader->next;
		if (reader->owner != NULL)
			continue;
		if (reader->memory_mb == tb_guc_file_reader_memory &&
			waitpid(reader->pid, NULL, WNOHANG) == 0)
			return reader;
		end_reader(reader);
	}
	return NULL;
}

TbFileReader *
tb_file_reader_start(void)
{
	TbFileReader *reader = take_idle();
	int			  acquired = 0;
	int			  error;

	/* An idle one will do */
	if (reader != NULL)
	{
		reader->owner = CurrentResourceOwner;
		return reader;
	}
	if (!callback_registered)
	{
		RegisterResourceReleaseCallback(release_callback, NULL);
		callback_registered = true;
	}
	/* Start another process */
	reader = MemoryContextAllocZero(TopMemoryContext, sizeof(TbFileReader));
	while (acquired < FDS_OF_READER && AcquireExternalFD())
		acquired++;
	error = acquired == FDS_OF_READER ? start_process(reader) : EMFILE;
	if (error != 0)
	{
		while (acquired-- > 0)
			ReleaseExternalFD();
		pfree(reader);
		errno = error;
		ereport(ERROR,
				(errcode(ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION),
				 errmsg("could not start turbine-file-reader: %m")));
	}
	/* Give it to its owner */
	reader->memory_mb = tb_guc_file_reader_memory;
	reader->owner = CurrentResourceOwner;
	reader->next = readers;
	readers = reader;
	return reader;
}

void
tb_reader_request_number(StringInfo request, uint32 number)
{
	appendBinaryStringInfo(request, (const char *) &number, sizeof(number));
}

void
tb_reader_request_text(StringInfo request, const char *text)
{
	tb_reader_request_number(request, strlen(text));
	appendStringInfoString(request, text);
}

void
tb_reader_request_begin(StringInfo request, TbReaderRequest kind, const char *name)
{
	initStringInfo(request);
	tb_reader_request_number(request, 0); /* the length, known when it is sent */
	tb_reader_request_number(request, kind);
	tb_reader_request_text(request, name);
}

/* The process has ended, or has closed the pipe. */
static _Noreturn void
raise_ended(TbFileReader *reader)
{
	int	  status = 0;
	pid_t ended;

	/* It may have closed the pipe a moment before it is gone. */
	(void) kill(reader->pid, SIGKILL);
	do
		ended = waitpid(reader->pid, &status, 0);
	while (ended < 0 && errno == EINTR);
	reader->pid = 0;
	if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == TB_EXIT_NOT_STARTED)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION),
				 errmsg("could not start turbine-file-reader"),
				 errdetail("It, or a library it needs, is not installed in "
						   "\"%s/pg_turbine\".",
						   pkglib_path)));
	ereport(ERROR,
			(errcode(ERRCODE_FDW_ERROR), errmsg("the file reader ended unexpectedly"),
			 ended > 0 && WIFSIGNALED(status) ?
				 errdetail("It was ended by signal %d.", WTERMSIG(status)) :
				 errdetail("It exited with status %d.", WEXITSTATUS(status))));
}

void
tb_file_reader_send(TbFileReader *reader, const StringInfo request, int fd)
{
	uint32 length = request->len - sizeof(uint32);
	int	   sent = 0;

	/* Put its length in front */
	memcpy(request->data, &length, sizeof(length));
	reader->unanswered++;
	reader->is_amid = true;
	while (sent < request->len)
	{
		struct iovec  part = {request->data + sent, request->len - sent};
		struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
		union
		{
			struct cmsghdr header;
			char		   bytes[CMSG_SPACE(sizeof(int))];
		} control;
		ssize_t count;

		/* The descriptor goes first */
		if (sent == 0)
		{
			memset(&control, 0, sizeof(control));
			control.header.cmsg_level = SOL_SOCKET;
			control.header.cmsg_type = SCM_RIGHTS;
			control.header.cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
			message.msg_control = &control;
			message.msg_controllen = sizeof(control.bytes);
		}
		/* Send what the socket takes */
		count = sendmsg(reader->socket, &message, MSG_NOSIGNAL);
		if (count > 0)
			sent += count;
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			tb_wait_for_program(reader->socket, WL_SOCKET_WRITEABLE);
		else if (errno != EINTR)
			raise_ended(reader);
	}
	reader->is_amid = false;
}

static void
receive_bytes(TbFileReader *reader, char *data, uint32 length)
{
	while (length > 0)
	{
		ssize_t count = read(reader->pipe, data, length);

		if (count > 0)
		{
			data += count;
			length -= count;
		}
		else if (count == 0)
			raise_ended(reader);
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			tb_wait_for_program(reader->pipe, WL_SOCKET_READABLE);
		else if (errno != EINTR)
			raise_ended(reader);
	}
}

/* A text of an ERROR frame, in the server's encoding. */
static char *
error_text(const char **at, const char *end)
{
	uint32 length = 0;
	char  *text;

	if (end - *at >= sizeof(length))
		memcpy(&length, *at, sizeof(length));
	*at += sizeof(length);
	if (*at > end || length > end - *at)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("malformed answer of the file reader")));
	text = pnstrdup(*at, length);
	*at += length;
	/* It may quote a broken file. */
	if (GetDatabaseEncoding() != PG_UTF8 || !pg_verifymbstr(text, length, true))
	{
		for (uint32 i = 0; i < length; i++)
		{
			if (IS_HIGHBIT_SET(text[i]) || text[i] == '\0')
				text[i] = '?';
		}
	}
	return text;
}

static _Noreturn void
raise_error_frame(const char *data, uint32 length)
{
	const char *at = data + 5;
	const char *end = data + length;
	char	   *message, *detail, *hint;

	if (length < 5)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("malformed answer of the file reader")));
	message = error_text(&at, end);
	detail = error_text(&at, end);
	hint = error_text(&at, end);
	ereport(ERROR,
			(errcode(MAKE_SQLSTATE(data[0], data[1], data[2], data[3], data[4])),
			 errmsg("%s", message), detail[0] != '\0' ? errdetail("%s", detail) : 0,
			 hint[0] != '\0' ? errhint("%s", hint) : 0));
}

TbReaderAnswer
tb_file_reader_receive(TbFileReader *reader)
{
	TbReaderFrame  frame;
	TbReaderAnswer answer;

	CHECK_FOR_INTERRUPTS();
	reader->is_amid = true;
	/* Receive and check the head */
	receive_bytes(reader, (char *) &frame, sizeof(frame));
	if (frame.length > TB_READER_MAX_FRAME || frame.kind < TB_FRAME_ROWS ||
		frame.kind > TB_FRAME_ERROR)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("malformed answer of the file reader")));
	/* Make room for it */
	if (frame.length > reader->buffer_size || reader->buffer == NULL)
	{
		uint32 wanted = Max(frame.length, 2 * TB_READER_FRAME_BYTES);

		if (reader->buffer != NULL)
			pfree(reader->buffer);
		reader->buffer = NULL;
		reader->buffer = MemoryContextAlloc(TopMemoryContext, wanted);
		reader->buffer_size = wanted;
	}
	/* Receive the frame */
	receive_bytes(reader, reader->buffer, frame.length);
	reader->is_amid = false;
	if (frame.kind == TB_FRAME_DONE || frame.kind == TB_FRAME_ERROR)
		reader->unanswered--;
	if (frame.kind == TB_FRAME_ERROR)
		raise_error_frame(reader->buffer, frame.length);
	answer.kind = frame.kind;
	answer.data = reader->buffer;
	answer.length = frame.length;
	return answer;
}
