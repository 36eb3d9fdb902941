/*
 * child_program.h - starts our own programs that a backend uses: file readers and writers,
 * and the process of functions of LANGUAGE plcuda.
 */
#ifndef TURBINE_PG_FILES_CHILD_PROGRAM_H
#define TURBINE_PG_FILES_CHILD_PROGRAM_H

#include "postgres.h"

/* The exit status of a process whose program, or a library that it needs, is not there. */
#define TB_EXIT_NOT_STARTED 127

/*
 * Starts a program of pkglib_path/pg_turbine: arguments[0], with arguments that end with
 * NULL, and this environment, which does so too (NULL: the backend's). `files` become its
 * descriptors 0, 1 and so on; -1 leaves standard error as it is, and makes another one
 * /dev/null. It inherits nothing else, and is in a process group of its own, so that
 * signals for the backend's group do not reach it before the backend knows. An error
 * number, or 0.
 */
extern int tb_spawn_program(char *const *arguments, char *const *environment,
							const int *files, int nfiles, pid_t *pid);

/* Waits until the pipe or socket to it is ready for `event` (WL_SOCKET_*), or something
 * else has happened; ends at an interrupt. */
extern void tb_wait_for_program(int fd, int event);

#endif
