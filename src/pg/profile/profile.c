/*
 * profile.c - see profile.h.
 *
 * Owns the clock and, for a trace, the backend's spans, in the executor's query
 * context; an error forgets them. Called by nodes, sources and the
 * conversation with the service. Must never
 * raise for the trace's sake.
 */
#include "postgres.h"

#include <time.h>

#include "executor/instrument.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "pg/profile/profile.h"
#include "pg/profile/trace_file.h"

/* Of the backend, before they are written to the file. */
#define SPANS_AT_ONCE 4096

/* Spans of one state that are no further apart are shown as one: a node stops its
 * clock with every row that it returns. */
#define MERGE_NS 20000

struct TbProfile
{
	MemoryContext		  context;
	bool				  traced;
	TbClock				  clock;
	uint64				  since_ns;					 /* when that state began */
	uint64				  ns[TB_CLOCK_COUNT];		 /* SERVICE: not yet shared out */
	uint64				  shared_ns[TB_PHASE_COUNT]; /* of SERVICE, shared out */
	uint64				  busy_ns; /* since READY, not waiting for the service */
	int					  track;   /* of the backend's: nodes that run within one another
									* each have their own */
	MemoryContextCallback release_track;

	TbSpan *spans; /* a trace's; room for SPANS_AT_ONCE */
	uint32	nspans;
};

#define MOST_TRACKS 64
static uint64 used_tracks;

static const TbSpanKind span_kinds[TB_CLOCK_COUNT] = {
	[TB_CLOCK_PLAN] = TB_SPAN_BACKEND_PLAN,
	[TB_CLOCK_READ] = TB_SPAN_BACKEND_FEED,
	[TB_CLOCK_DETOAST] = TB_SPAN_BACKEND_DETOAST,
	[TB_CLOCK_RESULT] = TB_SPAN_BACKEND_RESULT,
	[TB_CLOCK_SERVICE] = TB_SPAN_BACKEND_AWAIT,
	[TB_CLOCK_FALLBACK] = TB_SPAN_BACKEND_FALLBACK,
	[TB_CLOCK_STOPPED] = TB_SPAN_BACKEND_ELSEWHERE,
};

static uint64
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64) t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Threads of a trace have different numbers, whatever process they are of: the
 * service's are the kernel's, or begin at 2^30. */
static uint32
track_number(const TbProfile *profile)
{
	return ((uint32) 1 << 29) + (uint32) MyProcPid * MOST_TRACKS + profile->track;
}

static void
release_track(void *profile)
{
	used_tracks &= ~((uint64) 1 << ((TbProfile *) profile)->track);
}

/* The first that no other node has; the last is shared. An error releases it as well. */
static void
take_track(TbProfile *profile)
{
	while (profile->track < MOST_TRACKS - 1 && (used_tracks >> profile->track & 1) != 0)
		profile->track++;
	used_tracks |= (uint64) 1 << profile->track;
	profile->release_track.func = release_track;
	profile->release_track.arg = profile;
	MemoryContextRegisterResetCallback(profile->context, &profile->release_track);
}

TbProfile *
tb_profile_make(EState *estate)
{
	bool	   traced = tb_trace_file_is_set();
	TbProfile *profile;

	if (!traced && (estate->es_instrument & INSTRUMENT_TIMER) == 0)
		return NULL;
	profile = MemoryContextAllocZero(estate->es_query_cxt, sizeof(TbProfile));
	profile->context = estate->es_query_cxt;
	profile->traced = traced;
	if (traced)
		take_track(profile);
	if (traced)
		profile->spans = MemoryContextAlloc(profile->context,
											SPANS_AT_ONCE * sizeof(TbSpan));
	profile->clock = TB_CLOCK_PLAN;
	profile->since_ns = now_ns();
	return profile;
}

static void
write_spans(TbProfile *profile)
{
	TbTrack track = {.track = track_number(profile)};

	if (profile->nspans > 0)
	{
		snprintf(track.name, sizeof(track.name), "backend %d", MyProcPid);
		tb_trace_file_add(MyProcPid, profile->spans, profile->nspans, &track, 1);
	}
	profile->nspans = 0;
}

static void
add_span(TbProfile *profile, TbSpanKind kind, uint64 begin_ns, uint64 end_ns, uint64 number)
{
	TbSpan *last = profile->nspans > 0 ? &profile->spans[profile->nspans - 1] : NULL;
	TbSpan	span = {begin_ns, end_ns, kind, track_number(profile), number};

	if (last != NULL && last->kind == kind && kind != TB_SPAN_MESSAGE &&
		begin_ns - last->end_ns < MERGE_NS)
	{
		last->end_ns = end_ns;
		return;
	}
	if (profile->nspans == SPANS_AT_ONCE)
		write_spans(profile);
	profile->spans[profile->nspans++] = span;
}

TbClock
tb_profile_enter(TbProfile *profile, TbClock clock)
{
	TbClock before;
	uint64	now;

	if (profile == NULL)
		return TB_CLOCK_STOPPED;
	before = profile->clock;
	if (before == clock)
		return before;
	now = now_ns();
	if (before != TB_CLOCK_STOPPED)
	{
		uint64 passed = now - profile->since_ns;

		profile->ns[before] += passed;
	}
	if (before != TB_CLOCK_SERVICE)
		profile->busy_ns += now - profile->since_ns;
	/* Rows that come quickly one after the other are one span, without gaps. */
	if (profile->traced &&
		(before != TB_CLOCK_STOPPED || now - profile->since_ns >= MERGE_NS))
		add_span(profile, span_kinds[before], profile->since_ns, now, 0);
	profile->clock = clock;
	profile->since_ns = now;
	return before;
}

uint32
tb_profile_query_flags(const TbProfile *profile)
{
	if (profile == NULL)
		return 0;
	return profile->traced ? TB_QUERY_PROFILE | TB_QUERY_TRACE : TB_QUERY_PROFILE;
}

/* Moves at most `wanted` of the waiting to a phase. */
static void
share(TbProfile *profile, TbPhase phase, uint64 wanted)
{
	uint64 taken = Min(wanted, profile->ns[TB_CLOCK_SERVICE]);

	profile->ns[TB_CLOCK_SERVICE] -= taken;
	profile->shared_ns[phase] += taken;
}

/* The service's word, so it may be anything, NaN too. */
static uint64
as_ns(float ms)
{
	return ms > 0 ? (uint64) (Min((double) ms, 1e9) * 1e6) : 0;
}

void
tb_profile_query_begins(TbProfile *profile)
{
	if (profile != NULL)
		share(profile, TB_PHASE_WAIT, PG_UINT64_MAX);
}

void
tb_profile_ready(TbProfile *profile, const TbReady *ready)
{
	TbClock before = tb_profile_enter(profile, TB_CLOCK_STOPPED);

	if (profile == NULL)
		return;
	share(profile, TB_PHASE_COMPILE, as_ns(ready->compile_ms));
	share(profile, TB_PHASE_WAIT, as_ns(ready->queue_ms));
	share(profile, TB_PHASE_PLAN, PG_UINT64_MAX);
	profile->busy_ns = 0;
	(void) tb_profile_enter(profile, before);
}

void
tb_profile_query_done(TbProfile *profile, const TbQueryDone *done, bool fed)
{
	TbClock before = tb_profile_enter(profile, TB_CLOCK_STOPPED);
	double	parts[TB_PHASE_COUNT];
	double	sum = 0;
	double	waited;

	if (profile == NULL)
		return;
	waited = (double) profile->ns[TB_CLOCK_SERVICE];
	for (int i = 0; i < TB_PHASE_COUNT; i++)
		parts[i] = (double) done->phase_ns[i];
	/* While this process was busy the service may have had nothing to do: that is
	 * no wait. */
	parts[TB_PHASE_WAIT] = Max(parts[TB_PHASE_WAIT] - (double) profile->busy_ns, 0);
	if (fed)
	{
		parts[TB_PHASE_READ] += parts[TB_PHASE_WAIT];
		parts[TB_PHASE_WAIT] = 0;
	}
	for (int i = 0; i < TB_PHASE_COUNT; i++)
		sum += parts[i];
	for (int i = 0; i < TB_PHASE_COUNT && sum > 0; i++)
		share(profile, i, (uint64) (waited * (parts[i] / sum)));
	/* What rounding has left. */
	share(profile, TB_PHASE_WAIT, PG_UINT64_MAX);
	profile->busy_ns = 0;
	(void) tb_profile_enter(profile, before);
}

void
tb_profile_message(TbProfile *profile, uint32 type)
{
	uint64 now;

	if (profile == NULL || !profile->traced)
		return;
	now = now_ns();
	add_span(profile, TB_SPAN_MESSAGE, now, now, type);
}

bool
tb_profile_take_trace(TbProfile *profile, const char *payload, uint32 length)
{
	TbTrace header;
	uint64	spans_size;

	if (length < sizeof(header))
		return false;
	memcpy(&header, payload, sizeof(header));
	spans_size = (uint64) header.nspans * sizeof(TbSpan);
	if (length != sizeof(header) + spans_size + (uint64) header.ntracks * sizeof(TbTrack))
		return false;
	if (profile == NULL || !profile->traced)
		return false;
	tb_trace_file_add(header.pid, (const TbSpan *) (payload + sizeof(header)),
					  header.nspans,
					  (const TbTrack *) (payload + sizeof(header) + spans_size),
					  header.ntracks);
	if (header.lost > 0)
		ereport(WARNING,
				(errmsg("the trace lacks %u spans of a query", header.lost),
				 errdetail("A query's trace has at most about a million.")));
	return true;
}

void
tb_profile_phases(TbProfile *profile, uint64 phases[TB_PHASE_COUNT], uint64 *fallback)
{
	TbClock before = tb_profile_enter(profile, TB_CLOCK_STOPPED);

	memcpy(phases, profile->shared_ns, TB_PHASE_COUNT * sizeof(uint64));
	phases[TB_PHASE_PLAN] += profile->ns[TB_CLOCK_PLAN];
	phases[TB_PHASE_READ] += profile->ns[TB_CLOCK_READ];
	phases[TB_PHASE_DECODE] += profile->ns[TB_CLOCK_DETOAST];
	phases[TB_PHASE_RESULT] += profile->ns[TB_CLOCK_RESULT];
	phases[TB_PHASE_WAIT] += profile->ns[TB_CLOCK_SERVICE];
	*fallback = profile->ns[TB_CLOCK_FALLBACK];
	(void) tb_profile_enter(profile, before);
}

void
tb_profile_end(TbProfile *profile)
{
	(void) tb_profile_enter(profile, TB_CLOCK_STOPPED);
	if (profile != NULL && profile->traced)
		write_spans(profile);
}
