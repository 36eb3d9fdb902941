/*
 * child_program.c - see child_program.h.
 *
 * Owns nothing: process and descriptors are the caller's.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* posix_spawn_file_actions_addclosefrom_np */
#endif
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "pg/files/child_program.h"

extern char **environ;

int
tb_spawn_program(char *const *arguments, char *const *environment, const int *files,
				 int nfiles, pid_t *pid)
{
	char					   path[MAXPGPATH];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t		   attributes;
	sigset_t				   signals;
	int						   error;

	snprintf(path, sizeof(path), "%s/pg_turbine/%s", pkglib_path, arguments[0]);
	error = posix_spawn_file_actions_init(&actions);
	if (error != 0)
		return error;
	error = posix_spawnattr_init(&attributes);
	if (error != 0)
	{
		posix_spawn_file_actions_destroy(&actions);
		return error;
	}
	/* Signals as a fresh process has them. */
	sigfillset(&signals);
	posix_spawnattr_setsigdefault(&attributes, &signals);
	sigemptyset(&signals);
	posix_spawnattr_setsigmask(&attributes, &signals);
	/* A group that can be killed. */
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes,
							 POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
								 POSIX_SPAWN_SETPGROUP);
	/* It inherits no other descriptors. */
	for (int i = 0; i < nfiles; i++)
	{
		if (files[i] >= 0)
			posix_spawn_file_actions_adddup2(&actions, files[i], i);
		else if (i != STDERR_FILENO)
			posix_spawn_file_actions_addopen(&actions, i, "/dev/null", O_RDWR, 0);
	}
	posix_spawn_file_actions_addclosefrom_np(&actions, Max(nfiles, STDERR_FILENO + 1));
	error = posix_spawn(pid, path, &actions, &attributes, arguments,
						environment != NULL ? environment : environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

void
tb_wait_for_program(int fd, int event)
{
	int happened = WaitLatchOrSocket(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | event,
									 fd, -1, PG_WAIT_EXTENSION);

	if (happened & WL_LATCH_SET)
		ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}
