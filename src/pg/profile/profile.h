/*
 * profile.h - where a node's wall time goes, by phase, and the spans of its trace.
 *
 * A clock that is always in one state. The node starts it when it is called and stops
 * it when it returns; what runs in between says when something else begins. Time
 * spent waiting for the service is shared out as the service says it has spent it.
 *
 * Everything takes NULL for a profile that nobody asked for, and does nothing then.
 */
#ifndef TURBINE_PG_PROFILE_PROFILE_H
#define TURBINE_PG_PROFILE_PROFILE_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "turbine/profile.h"
#include "turbine/wire.h"

typedef struct TbProfile TbProfile;

/* States of the clock. */
typedef enum TbClock
{
	TB_CLOCK_PLAN,
	TB_CLOCK_READ, /* blocks are chosen, copied, confirmed and sent */
	TB_CLOCK_DETOAST,
	TB_CLOCK_RESULT,
	TB_CLOCK_SERVICE,  /* nothing to do but wait for the service */
	TB_CLOCK_FALLBACK, /* PostgreSQL's plan runs */
	TB_CLOCK_STOPPED,  /* other nodes run */
	TB_CLOCK_COUNT
} TbClock;

/* Of a node that begins now; NULL unless EXPLAIN wants times, or a trace is written.
 * Lives as long as the executor's state. The clock runs, for TB_CLOCK_PLAN. */
extern TbProfile *tb_profile_make(EState *estate);

/* Switches the clock; returns its state before. */
extern TbClock tb_profile_enter(TbProfile *profile, TbClock clock);

/* TB_QUERY_PROFILE, TB_QUERY_TRACE, or 0. */
extern uint32 tb_profile_query_flags(const TbProfile *profile);

/* A query is about to be sent: waiting for one that had no end stays waiting. */
extern void tb_profile_query_begins(TbProfile *profile);

/* The service is ready: what it says of the wait for that. */
extern void tb_profile_ready(TbProfile *profile, const TbReady *ready);

/* The query is done: the waiting since READY is shared out. `fed`: while the service
 * had nothing to do, parallel workers read. */
extern void tb_profile_query_done(TbProfile *profile, const TbQueryDone *done, bool fed);

/* A message came or went. */
extern void tb_profile_message(TbProfile *profile, uint32 type);

/* A TRACE message of the service; false if it is malformed. */
extern bool tb_profile_take_trace(TbProfile *profile, const char *payload, uint32 length);

/* Nanoseconds so far by phase. Waiting that is not shared out yet counts as WAIT. */
extern void tb_profile_phases(TbProfile *profile, uint64 phases[TB_PHASE_COUNT],
							  uint64 *fallback);

/* The node ends: writes what is left of its trace. */
extern void tb_profile_end(TbProfile *profile);

#endif
