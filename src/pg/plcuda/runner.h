/*
 * runner.h - this session's process for functions of LANGUAGE plcuda.
 *
 * It is started by the first call and kept: CUDA takes a second to start. A call that fails
 * in a way that leaves the process in doubt, or is cancelled, kills it.
 */
#ifndef TURBINE_PG_PLCUDA_RUNNER_H
#define TURBINE_PG_PLCUDA_RUNNER_H

#include "postgres.h"

#include "lib/stringinfo.h"

typedef enum TbPlcudaOutcome
{
	TB_PLCUDA_RAN,
	TB_PLCUDA_AGAIN, /* nothing was called: the process had ended or lacks copies of tables.
					  * Encode the arguments anew */
	TB_PLCUDA_COMPILE_AGAIN /* likewise: the library is gone */
} TbPlcudaOutcome;

typedef struct TbPlcudaRun
{
	const char			 *name;		 /* of the function, for messages */
	const char			 *library;
	const StringInfoData *arguments; /* TbPlcudaArgument, and their bytes */
	uint32				  nargs;
	/* Takes a row's values. */
	void				  (*row)(struct TbPlcudaRun *run, const char *bytes, uint32 length);
	void				 *context;
	TbPlcudaOutcome		  outcome; /* written */
} TbPlcudaRun;

/* Gets the process, for a call of this function: arguments of type reggstore depend on it.
 * Waits if other sessions have as many as there may be. Raises errors. */
extern void tb_plcuda_begin(const char *name);

/* Tells the process to give back its copy of a table. After tb_plcuda_begin(). */
extern void tb_plcuda_drop_copy(Oid relation);

/* The call that was begun is not made. Raises nothing. */
extern void tb_plcuda_abandon(void);

/* Makes the call that was begun, and waits for its end. Raises errors. */
extern TbPlcudaOutcome tb_plcuda_run(TbPlcudaRun *run);

/* What tb_export_memory_is_short() asks: ends processes of idle sessions, and gives back
 * this session's copies. */
extern bool tb_plcuda_release_copies(void);

#endif
