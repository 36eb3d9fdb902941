/*
 * limited_process.h - a process of turbine-plcuda: the compiler with limits, or a runner
 * (src/plcuda).
 */
#ifndef TURBINE_PG_PLCUDA_LIMITED_PROCESS_H
#define TURBINE_PG_PLCUDA_LIMITED_PROCESS_H

#include "postgres.h"

#include "lib/stringinfo.h"

#define TB_MOST_PROCESS_FILES 2

typedef struct TbLimitedProcess
{
	pid_t pid;		 /* 0: none, or reaped */
	int	  output;	 /* what it prints, -1: closed; does not block */
	int	  socket;	 /* to its descriptor 3, or -1; does not block */
	int	  nexternal; /* descriptors that fd.c counts */
} TbLimitedProcess;

/*
 * Starts turbine-plcuda with these arguments, its name first, and this environment (both
 * end with NULL), in a process group of its own. It inherits nothing but a pipe for its
 * output and, if `with_socket`, a socket. Raises errors.
 */
extern void tb_limited_process_start(TbLimitedProcess *process, char *const *arguments,
									 char *const *environment, bool with_socket);

/* Kills the group and closes what is open. Does not wait: a process whose kernel runs may
 * take a while to end. It is reaped later. Raises nothing. */
extern void tb_limited_process_end(TbLimitedProcess *process);

/* Whether it has ended, with its status. It is reaped then. */
extern bool tb_limited_process_has_ended(TbLimitedProcess *process, int *status);

/* Moves what it has printed to `to`, of which the first `most` bytes are kept. False: it
 * prints no more. */
extern bool tb_limited_process_read(TbLimitedProcess *process, StringInfo to, int most);

#endif
