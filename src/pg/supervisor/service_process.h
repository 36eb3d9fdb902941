/*
 * service_process.h - starts and ends the turbined process.
 */
#ifndef TURBINE_PG_SUPERVISOR_SERVICE_PROCESS_H
#define TURBINE_PG_SUPERVISOR_SERVICE_PROCESS_H

#include "postgres.h"

#include "pg/shmem/shared_state.h"

/* Forks and execs turbined as a process group of its own; its pid, or -1 with
 * errno set. The process dies with this one. */
extern pid_t tb_service_start(const uint8 nonce[TB_NONCE_BYTES]);

/* SIGTERM, and SIGKILL for the whole group after a grace period. */
extern void tb_service_stop(pid_t pid);

/* Kills whatever of the service's process group is left. */
extern void tb_service_kill_group(pid_t pid);

#endif
