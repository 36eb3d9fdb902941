/*
 * query_counters.c - see query_counters.h. Called by queries in any backend;
 * must never raise but for memory, and does nothing without shared memory.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "pg/shmem/query_counters.h"

#define LOG_INTERVAL_MS 1000

static const char *const fallback_names[TB_FALLBACK_COUNT] = {
	[TB_FALLBACK_NONE] = "none",
	[TB_FALLBACK_NO_SERVICE] = "no_service",
	[TB_FALLBACK_NO_DEVICE] = "no_device",
	[TB_FALLBACK_DEVICE_MEMORY] = "device_memory",
	[TB_FALLBACK_HOST_MEMORY] = "host_memory",
	[TB_FALLBACK_DEVICE_LOST] = "device_lost",
	[TB_FALLBACK_COMPILE] = "compile",
	[TB_FALLBACK_ADMISSION] = "admission",
	[TB_FALLBACK_VALUE] = "value",
	[TB_FALLBACK_RAISED] = "raised",
	[TB_FALLBACK_PROTOCOL] = "protocol",
};

const char *
tb_fallback_name(uint32 reason)
{
	return reason < TB_FALLBACK_COUNT ? fallback_names[reason] : "unknown";
}

void
tb_stat_add(TbCounter counter, uint64 count)
{
	TbSharedState *shared = tb_shared_state();

	Assert(counter >= 0 && counter < TB_COUNTER_COUNT);
	if (shared != NULL && count > 0)
		pg_atomic_fetch_add_u64(&shared->counters[counter], (int64) count);
}

/* Whoever moves the time stamp on may write the line. */
static bool
may_log(pg_atomic_uint64 *logged)
{
	TimestampTz now = GetCurrentTimestamp();
	uint64		last = pg_atomic_read_u64(logged);

	if (!TimestampDifferenceExceeds((TimestampTz) last, now, LOG_INTERVAL_MS))
		return false;
	return pg_atomic_compare_exchange_u64(logged, &last, (uint64) now);
}

void
tb_stat_fallback(const TbFailure *why, const char *relation)
{
	TbSharedState *shared = tb_shared_state();
	uint32		   reason = why->reason;

	if (shared == NULL)
		return;
	if (reason >= TB_FALLBACK_COUNT)
		reason = TB_FALLBACK_PROTOCOL;
	pg_atomic_fetch_add_u64(&shared->fallbacks[reason], 1);
	if (may_log(&shared->fallback_logged[reason]))
		ereport(LOG,
				(errmsg("pg_turbine: work on \"%s\" went back to PostgreSQL (%s): %s",
						relation, tb_fallback_name(reason), why->message),
				 errhidestmt(true), errhidecontext(true)));
}

void
tb_stat_host_instead(uint32 reason, const char *relation)
{
	TbSharedState *shared = tb_shared_state();

	if (shared == NULL)
		return;
	tb_stat_add(TB_COUNTER_HOST_INSTEAD, 1);
	if (may_log(&shared->host_instead_logged))
		ereport(
			LOG,
			(errmsg(
				 "pg_turbine: the host device does the work on \"%s\" instead of a GPU (%s)",
				 relation, tb_fallback_name(reason)),
			 errhidestmt(true), errhidecontext(true)));
}
