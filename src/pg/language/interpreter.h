/*
 * interpreter.h - runs routines in the backend, where a query stays with PostgreSQL.
 */
#ifndef TURBINE_PG_LANGUAGE_INTERPRETER_H
#define TURBINE_PG_LANGUAGE_INTERPRETER_H

#include "postgres.h"

#include "fmgr.h"

#include "pg/language/routine.h"

typedef struct TbInterpreter TbInterpreter;

/* Prepares runs of the routine, in the given memory. Keeps nothing of the routine. */
extern TbInterpreter *tb_interpreter_create(const TbRoutine *routine, MemoryContext memory);

/* The function's value, in the current memory. Raises what its expressions raise, and
 * program_limit_exceeded after TB_MAX_STEPS runs of loops. */
extern Datum tb_interpreter_run(TbInterpreter *interpreter, const NullableDatum *args,
								bool *isnull);

#endif
