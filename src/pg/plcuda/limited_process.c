/*
 * limited_process.c - see limited_process.h.
 *
 * Owns the list of processes that were killed and not reaped yet. Called by compiler.c and
 * runner.c.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2, posix_spawn_file_actions_addclosefrom_np */
#endif
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/fd.h"

#include "turbine/plcuda.h"

#include "pg/plcuda/limited_process.h"

#define MOST_UNREAPED 64

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

static int
spawn(TbLimitedProcess *process, char *const *arguments, char *const *environment,
	  int output, int socket)
{
	char					   path[MAXPGPATH];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t		   attributes;
	sigset_t				   signals;
	int						   error;

	snprintf(path, sizeof(path), "%s/pg_turbine/turbine-plcuda", pkglib_path);
	error = posix_spawn_file_actions_init(&actions);
	if (error != 0)
		return error;
	error = posix_spawnattr_init(&attributes);
	if (error != 0)
	{
		posix_spawn_file_actions_destroy(&actions);
		return error;
	}
	/* Signals as a fresh process has them, a group that can be killed. */
	sigfillset(&signals);
	posix_spawnattr_setsigdefault(&attributes, &signals);
	sigemptyset(&signals);
	posix_spawnattr_setsigmask(&attributes, &signals);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes,
							 POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
								 POSIX_SPAWN_SETPGROUP);
	/* No descriptors but these. */
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
	if (socket >= 0)
		posix_spawn_file_actions_adddup2(&actions, socket, TB_PLCUDA_SOCKET);
	posix_spawn_file_actions_addclosefrom_np(&actions,
											 TB_PLCUDA_SOCKET + (socket >= 0 ? 1 : 0));
	error = posix_spawn(&process->pid, path, &actions, &attributes, arguments, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (error != 0)
		process->pid = 0;
	return error;
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
	if (with_socket && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		error = errno;
	process->socket = ends[0];
	if (error == 0 && with_socket)
		fcntl(process->socket, F_SETFL, O_NONBLOCK);
	if (error == 0)
		error = spawn(process, arguments, environment, printed[1], ends[1]);
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
