/*
 * service_process.c - fork, exec and end of turbined.
 *
 * The child inherits nothing of the server's but standard error: descriptors
 * are closed, signal handlers and mask reset, no core dump (its memory holds
 * table data by the gigabyte), and it is offered to the OOM killer before any
 * backend. It dies with the supervisor, whatever kills that: PR_SET_PDEATHSIG.
 * Between fork and exec only async-signal-safe calls are made.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* close_range */
#endif
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libpq/pqsignal.h"
#include "miscadmin.h"

#include "pg/settings/service_settings.h"
#include "pg/shmem/export_address.h"
#include "pg/shmem/service_address.h"
#include "pg/supervisor/service_process.h"
#include "pg/supervisor/supervisor.h"

#define NONCE_FD 3
#define OOM_SCORE_ADJ "500"
#define STOP_GRACE_MS 3000
#define STOP_POLL_MS 10

/* argv of turbined, in static memory: made before the fork. */
typedef struct ServiceCommand
{
	char  path[MAXPGPATH];
	char  nonce_fd[12];
	char  host_threads[12];
	char  memory_budget[16];
	char  column_store[16];
	char  gpu_cache[16];
	char *argv[22];
} ServiceCommand;

static void
make_command(ServiceCommand *command)
{
	int n = 0;

	/* Which program? */
	if (tb_service_path != NULL && tb_service_path[0] != '\0')
		strlcpy(command->path, tb_service_path, sizeof(command->path));
	else
		snprintf(command->path, sizeof(command->path), "%s/pg_turbine/turbined",
				 pkglib_path);
	/* Arguments as text. */
	snprintf(command->nonce_fd, sizeof(command->nonce_fd), "%d", NONCE_FD);
	snprintf(command->host_threads, sizeof(command->host_threads), "%d", tb_host_threads);
	snprintf(command->memory_budget, sizeof(command->memory_budget), "%dMB",
			 tb_memory_budget_mb);
	snprintf(command->column_store, sizeof(command->column_store), "%dMB",
			 tb_cache_size_host_mb);
	snprintf(command->gpu_cache, sizeof(command->gpu_cache), "%dMB", tb_cache_size_gpu_mb);
	/* What it always gets. */
	command->argv[n++] = "turbined";
	command->argv[n++] = "--data-dir";
	command->argv[n++] = ".";
	command->argv[n++] = "--socket";
	command->argv[n++] = TB_SOCKET_PATH;
	command->argv[n++] = "--cache-dir";
	command->argv[n++] = TB_CACHE_DIRECTORY;
	command->argv[n++] = "--nonce-fd";
	command->argv[n++] = command->nonce_fd;
	/* Otherwise the service has defaults. */
	if (tb_host_threads > 0)
	{
		command->argv[n++] = "--host-threads";
		command->argv[n++] = command->host_threads;
	}
	if (tb_memory_budget_mb > 0)
	{
		command->argv[n++] = "--memory-budget";
		command->argv[n++] = command->memory_budget;
	}
	if (tb_cache_size_host_mb >= 0)
	{
		command->argv[n++] = "--column-store";
		command->argv[n++] = command->column_store;
	}
	if (tb_cache_size_gpu_mb >= 0)
	{
		command->argv[n++] = "--gpu-cache";
		command->argv[n++] = command->gpu_cache;
	}
	if (tb_export_socket_path() != NULL)
	{
		command->argv[n++] = "--export-socket";
		command->argv[n++] = unconstify(char *, tb_export_socket_path());
	}
	command->argv[n] = NULL;
	Assert(n < (int) lengthof(command->argv));
}

static void
write_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY);

	if (fd < 0)
		return;
	/* Raising the own score is always allowed; not to matters little. */
	if (write(fd, OOM_SCORE_ADJ, strlen(OOM_SCORE_ADJ)) < 0)
		errno = 0;
	close(fd);
}

static void
reset_signals(void)
{
	sigset_t none;

	for (int signum = 1; signum < NSIG; signum++)
		(void) signal(signum, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void
become_service(const ServiceCommand *command, int nonce_fd, pid_t parent)
{
	struct rlimit no_core = {0, 0};
	int			  null_fd;

	setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(1);
	setrlimit(RLIMIT_CORE, &no_core);
	write_oom_score();

	null_fd = open("/dev/null", O_RDONLY);
	if (null_fd >= 0)
		dup2(null_fd, STDIN_FILENO);
	if (nonce_fd == NONCE_FD)
		fcntl(nonce_fd, F_SETFD, 0);
	else if (dup2(nonce_fd, NONCE_FD) < 0)
		_exit(1);
	if (close_range(NONCE_FD + 1, ~0U, 0) != 0)
	{
		/* an older kernel */
		long limit = sysconf(_SC_OPEN_MAX);

		for (int fd = NONCE_FD + 1; fd < limit; fd++)
			close(fd);
	}
	reset_signals();
	execv(command->path, command->argv);
	_exit(127);
}

/* A pipe that holds the nonce and its end; its reading end, or -1. */
static int
nonce_pipe(const uint8 nonce[TB_NONCE_BYTES])
{
	int ends[2];

	if (pipe(ends) != 0)
		return -1;
	if (write(ends[1], nonce, TB_NONCE_BYTES) != TB_NONCE_BYTES)
	{
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	close(ends[1]);
	return ends[0];
}

pid_t
tb_service_start(const uint8 nonce[TB_NONCE_BYTES])
{
	static ServiceCommand command;
	int					  nonce_fd;
	pid_t				  parent = getpid();
	pid_t				  pid;
	sigset_t			  all, saved;

	make_command(&command);
	if (access(command.path, X_OK) != 0)
		return -1;
	nonce_fd = nonce_pipe(nonce);
	if (nonce_fd < 0)
		return -1;

	/* The server's handlers must not run in the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &saved);
	pid = fork();
	if (pid == 0)
		become_service(&command, nonce_fd, parent);
	sigprocmask(SIG_SETMASK, &saved, NULL);
	close(nonce_fd);
	/* Also here, so that the group exists whoever runs first. */
	if (pid > 0)
		setpgid(pid, pid);
	return pid;
}

void
tb_service_kill_group(pid_t pid)
{
	(void) kill(-pid, SIGKILL);
}

void
tb_service_stop(pid_t pid)
{
	(void) kill(pid, SIGTERM);
	for (int waited = 0; waited < STOP_GRACE_MS; waited += STOP_POLL_MS)
	{
		pid_t ended = waitpid(pid, NULL, WNOHANG);

		if (ended == pid || (ended < 0 && errno == ECHILD))
		{
			tb_service_kill_group(pid);
			return;
		}
		pg_usleep(STOP_POLL_MS * 1000L);
	}
	tb_service_kill_group(pid);
	(void) waitpid(pid, NULL, 0);
}
