/*
 * trace_file.h - the setting pg_turbine.trace_file (defined here, since nobody else reads
 * it), and what it asks for: spans as JSON that Perfetto and
 * chrome://tracing open.
 */
#ifndef TURBINE_PG_PROFILE_TRACE_FILE_H
#define TURBINE_PG_PROFILE_TRACE_FILE_H

#include "postgres.h"

#include "turbine/profile.h"

/*
 * Adds spans of one process, and names of tracks, to the file. Many sessions may
 * write to one file: after each call it is a whole JSON array. What fails is a
 * WARNING, once for every value of the setting; kinds that nobody knows are left out.
 * `spans` and `tracks` need not be aligned.
 */
extern void tb_trace_file_add(int pid, const TbSpan *spans, uint32 nspans,
							  const TbTrack *tracks, uint32 ntracks);

/* Defines pg_turbine.trace_file; once, when the module is loaded. */
extern void tb_trace_file_init(void);

/* Whether there is a file to write to. */
extern bool tb_trace_file_is_set(void);

#endif
