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

typedef struct TbPlcudaRun
{
	const char			 *name;		 /* of the function, for messages */
	const char			 *library;
	const StringInfoData *arguments; /* TbPlcudaArgument, and their bytes */
	uint32				  nargs;
	/* Takes a row's values. */
	void				  (*row)(struct TbPlcudaRun *run, const char *bytes, uint32 length);
	void				 *context;
} TbPlcudaRun;

/* Calls the function and waits for its end. Raises errors. */
extern void tb_plcuda_run(TbPlcudaRun *run);

#endif
