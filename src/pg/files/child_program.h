/*
 * child_program.h - starts our own programs that a backend uses: file readers and writers.
 */
#ifndef TURBINE_PG_FILES_CHILD_PROGRAM_H
#define TURBINE_PG_FILES_CHILD_PROGRAM_H

#include "postgres.h"

/* The exit status of a process whose program, or a library that it needs, is not there. */
#define TB_EXIT_NOT_STARTED 127

/*
 * Starts a program of pkglib_path/pg_turbine with these descriptors as standard input and
 * output, and `folder`, if it is not -1, as descriptor 3; it inherits nothing else but
 * standard error, and is in a process group of its own, so that signals for the backend's
 * group do not reach it before the backend knows. `arguments` end with NULL, at most 6. An
 * error number, or 0.
 */
extern int tb_spawn_program(const char *name, char *const *arguments, int input, int output,
							int folder, pid_t *pid);

/* Waits until the pipe or socket to it is ready for `event` (WL_SOCKET_*), or something
 * else has happened; ends at an interrupt. */
extern void tb_wait_for_program(int fd, int event);

#endif
