/*
 * limited_process.c - see limited_process.h.
 *
 * Owns the list of processes that were killed and not reaped yet. Called by compiler.c and
 * runner.c.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2, F_SETPIPE_SZ */
#endif
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/stringinfo.h"
#include "storage/fd.h"

#include "turbine/plcuda.h"

#include "pg/files/child_program.h"
#include "pg/plcuda/limited_process.h"

#define MOST_UNREAPED 64
#define PIPE_BYTES (1024 * 1024)

static pid_t unreaped[MOST_UNREAPED];
static int	 nunreaped = 0;

static void
reap_later(pid_t pid)
{
	int nleft = 0;

	for (int i = 0; i < nunreaped; i++)
		if (waitpid(unreaped[i], NULL, WNOHANG) == 0)
			unreaped[nleft++] = unreaped[i];
	nunreaped = nleft;
	if (waitpid(pid, NULL, WNOHANG) == 0 && nunreaped < MOST_UNREAPED)
		unreaped[nunreaped++] = pid;
}

/* An error number, or 0. */
static int
open_and_spawn(TbLimitedProcess *process, char *const *arguments, char *const *environment,
			   bool with_socket)
{
	int printed[2];
	int ends[2] = {-1, -1};
	int error = 0;

	if (pipe2(printed, O_CLOEXEC) != 0)
		return errno;
	process->output = printed[0];
	fcntl(process->output, F_SETFL, O_NONBLOCK);
	/* It is read now and then only; a smaller one does, too. */
	(void) fcntl(process->output, F_SETPIPE_SZ, PIPE_BYTES);
	if (with_socket && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		error = errno;
	process->socket = ends[0];
	if (error == 0 && with_socket)
		fcntl(process->socket, F_SETFL, O_NONBLOCK);
	/* Descriptors 0 to 2, and the socket behind them. */
	if (error == 0)
	{
		const int files[] = {-1, printed[1], printed[1], ends[1]};

		error = tb_spawn_program(arguments, environment, files,
								 with_socket ? TB_PLCUDA_SOCKET + 1 : TB_PLCUDA_SOCKET,
								 &process->pid);
		if (error != 0)
			process->pid = 0;
	}
	close(printed[1]);
	if (ends[1] >= 0)
		close(ends[1]);
	return error;
}

void
tb_limited_process_start(TbLimitedProcess *process, char *const *arguments,
						 char *const *environment, bool with_socket)
{
	int error = EMFILE;

	*process = (TbLimitedProcess) {.output = -1, .socket = -1};
	while (process->nexternal < TB_MOST_PROCESS_FILES && AcquireExternalFD())
		process->nexternal++;
	if (process->nexternal == TB_MOST_PROCESS_FILES)
		error = open_and_spawn(process, arguments, environment, with_socket);
	if (error != 0)
	{
		tb_limited_process_end(process);
		errno = error;
		ereport(ERROR,
				(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
				 errmsg("could not start turbine-plcuda: %m")));
	}
}

void
tb_limited_process_end(TbLimitedProcess *process)
{
	if (process->socket >= 0)
		close(process->socket);
	if (process->output >= 0)
		close(process->output);
	process->socket = process->output = -1;
	while (process->nexternal > 0)
	{
		ReleaseExternalFD();
		process->nexternal--;
	}
	if (process->pid > 0)
	{
		(void) kill(-process->pid, SIGKILL);
		reap_later(process->pid);
	}
	process->pid = 0;
}

bool
tb_limited_process_has_ended(TbLimitedProcess *process, int *status)
{
	if (process->pid <= 0 || waitpid(process->pid, status, WNOHANG) != process->pid)
		return false;
	/* What it may have left behind in its group. */
	(void) kill(-process->pid, SIGKILL);
	process->pid = 0;
	return true;
}

bool
tb_limited_process_read(TbLimitedProcess *process, StringInfo to, int most)
{
	char buffer[4096];

	while (process->output >= 0)
	{
		ssize_t n = read(process->output, buffer, sizeof(buffer));

		if (n > 0)
			appendBinaryStringInfo(to, buffer, Max(Min(n, most - to->len), 0));
		else if (n < 0 && errno == EINTR)
			continue;
		else
			return n != 0;
	}
	return false;
}
