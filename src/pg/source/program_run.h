/*
 * program_run.h - one program run over its sources: the door from plan nodes to the engine
 * for programs whose results come after the end of the input (AGGREGATE, PROJECT) or stay
 * in the service (BUILD). Programs that return row ids have heap/heap_scan.h.
 *
 * A run never raises for a device's sake: what the engine can not do comes back as
 * a fallback. PostgreSQL's own errors (cancel, I/O, serialization failures) are raised as
 * ever, and the resource owner releases everything held.
 */
#ifndef TURBINE_PG_SOURCE_PROGRAM_RUN_H
#define TURBINE_PG_SOURCE_PROGRAM_RUN_H

#include "postgres.h"

#include "pg/source/run_stats.h"
#include "pg/source/source.h"

typedef struct TbProgramRun TbProgramRun;

/* Starts the program over sources (TbSource), which the run owns from now on, as it owns
 * `context`, the memory context that they were made in. NULL, with *why, if it can not
 * start. */
extern TbProgramRun *tb_program_run_begin(const TbProgramSpec *spec, List *sources,
										  const char *input_name, MemoryContext context,
										  TbFailure *why);

/* A memory context to make sources in. */
extern MemoryContext tb_program_run_context(void);

/* BUILD: runs the input to its end; the join table stays with the stages' connection.
 * False, with *why, if it could not be built. */
extern bool tb_program_run_build(TbProgramRun *run, TbFailure *why);

/*
 * AGGREGATE, PROJECT: runs the input to its end on the first call, then returns result
 * batches, each valid until the next call. Offsets in a batch have been bounds-checked,
 * text views too.
 */
typedef enum TbResultsNext
{
	TB_RESULTS_BATCH,	/* *batch is one */
	TB_RESULTS_END,
	TB_RESULTS_FALLBACK /* nothing was returned yet: run PostgreSQL's
						 * plan; *why says why */
} TbResultsNext;
extern TbResultsNext tb_program_run_next(TbProgramRun *run, const TbResultBatch **batch,
										 TbFailure *why);

/* The same of a program with a stream: the next batch of STREAM_BATCH, valid until the next
 * call; the input goes on only within these calls. A fallback may come after batches. */
extern TbResultsNext tb_program_run_next_streamed(TbProgramRun		   *run,
												  const TbStreamBatch **batch,
												  TbFailure			   *why);

/* The batch that was returned is somebody's: the service makes another one. */
extern void tb_program_run_took_streamed(TbProgramRun *run);

/* For EXPLAIN, at any time before the end. */
extern void tb_program_run_stats(const TbProgramRun *run, TbRunStats *stats);

/* Ends the run, its sources and its memory context. */
extern void tb_program_run_end(TbProgramRun *run);

#endif
