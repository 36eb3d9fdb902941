/*
 * stat_queries_view.c - turbine.stat_queries: what queries did since the server started.
 *
 * Called by SQL; returns a materialized set: a row a counter, then a row a reason for
 * which work went back to PostgreSQL. Reads shared counters, and must never reset them.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "pg/shmem/query_counters.h"

extern PGDLLEXPORT Datum turbine_stat_queries(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_stat_queries);

static const char *const counter_names[TB_COUNTER_COUNT] = {
	[TB_COUNTER_QUERIES] = "queries",
	[TB_COUNTER_CHUNKS_EVALUATED] = "chunks_evaluated",
	[TB_COUNTER_ROWS_DEFERRED] = "rows_deferred",
	[TB_COUNTER_ROWS_UNDECIDED] = "rows_undecided",
	[TB_COUNTER_BLOCKS_BUFFERED] = "blocks_buffered",
	[TB_COUNTER_BLOCKS_DIRECT] = "blocks_direct",
	[TB_COUNTER_BLOCKS_MOVED] = "blocks_moved",
	[TB_COUNTER_BLOCKS_FED] = "blocks_fed",
	[TB_COUNTER_BLOCKS_CACHED] = "blocks_cached",
	[TB_COUNTER_SERVICE_STARTS] = "service_starts",
	[TB_COUNTER_HOST_INSTEAD] = "host_instead",
};

static void
put_counter(ReturnSetInfo *rsinfo, const char *name, uint64 value)
{
	Datum values[2];
	bool  nulls[2] = {false, false};

	values[0] = CStringGetTextDatum(name);
	values[1] = Int64GetDatum((int64) value);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* turbine.stat_queries(counter text, value bigint) */
Datum
turbine_stat_queries(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TbSharedState *shared = tb_shared_state();

	InitMaterializedSRF(fcinfo, 0);
	if (shared == NULL)
		return (Datum) 0;
	for (int i = 0; i < TB_COUNTER_COUNT; i++)
		put_counter(rsinfo, counter_names[i], pg_atomic_read_u64(&shared->counters[i]));
	for (int i = TB_FALLBACK_NONE + 1; i < TB_FALLBACK_COUNT; i++)
		put_counter(rsinfo, psprintf("fallback_%s", tb_fallback_name(i)),
					pg_atomic_read_u64(&shared->fallbacks[i]));
	return (Datum) 0;
}
