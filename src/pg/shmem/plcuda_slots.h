/*
 * plcuda_slots.h - which sessions have a process for LANGUAGE plcuda: as many as
 * pg_turbine.plcuda_processes at a time.
 *
 * A session takes a slot before it starts its process, keeps it while the process is idle,
 * and loses it to a session that would have to wait otherwise: that one kills the idle
 * process. The owner finds out at its next call. It frees its slot before it reaps the
 * process, so the number of a process in a slot is that process, or its zombie.
 */
#ifndef TURBINE_PG_SHMEM_PLCUDA_SLOTS_H
#define TURBINE_PG_SHMEM_PLCUDA_SLOTS_H

#include "postgres.h"

#include "pg/settings/plcuda_settings.h"

typedef struct TbPlcudaSlot
{
	int	  backend; /* 0: free */
	pid_t runner;  /* 0: not started yet */
	bool  busy;
} TbPlcudaSlot;

#define TB_NO_PLCUDA_SLOT (-1)

/* A slot for this backend, busy; TB_NO_PLCUDA_SLOT: all are busy. */
extern int	tb_plcuda_slot_take(void);
extern void tb_plcuda_slot_set_runner(int slot, pid_t runner);

/* Makes this backend's slot busy again. False: it belongs to somebody else now. */
extern bool tb_plcuda_slot_resume(int slot, pid_t runner);
extern void tb_plcuda_slot_rest(int slot);

/* Kills all idle processes; how many there were. Their owners find out at their next call.
 */
extern int tb_plcuda_slots_end_idle(void);

/* If it is this backend's still. */
extern void tb_plcuda_slot_free(int slot, pid_t runner);

#endif
