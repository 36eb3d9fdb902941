/*
 * heap_query.c - the interface of heap_query.h.
 *
 * Phases: begin (daemon, or local if it can not), chunks of rows or groups, end. Owns
 * the query's memory context and its connection; must never raise for the daemon's
 * sake. Called by the scan and aggregate nodes.
 */
#include "postgres.h"

#include "pgstat.h"
#include "storage/bufmgr.h"

#include "pg/source/heap/feeders.h"
#include "pg/source/heap/query_state.h"
#include "pg/source/heap/relation_statistics.h"
#include "pg/shmem/query_counters.h"

static TbHeapQuery *
make_query(Relation rel, Snapshot snapshot, const TbHeapQuerySpec *spec)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pg_turbine query",
												  ALLOCSET_DEFAULT_SIZES);
	TbHeapQuery *query = MemoryContextAllocZero(context, sizeof(TbHeapQuery));
	MemoryContext old;

	query->context = context;
	query->rel = rel;
	query->snapshot = snapshot;
	query->spec = *spec;
	query->current_slot = -1;
	old = MemoryContextSwitchTo(context);
	tb_parts_make(query);
	MemoryContextSwitchTo(old);
	/* The queries of a session are one. */
	if (spec->program->sink != TB_SINK_BUILD)
		tb_stat_add(TB_COUNTER_QUERIES, 1);
	return query;
}

TbHeapQuery *
tb_heap_query_begin(Relation rel, Snapshot snapshot, const TbHeapQuerySpec *spec,
					TbFailure *why)
{
	TbHeapQuery *query = make_query(rel, snapshot, spec);
	MemoryContext old = MemoryContextSwitchTo(query->context);
	bool		rows = spec->program->sink == TB_SINK_ROWS;
	/* Without blocks there is nothing to filter. */
	bool		ok = (rows && !tb_blocks_left(query)) || tb_query_start(query);

	if (!ok)
		tb_query_note_fallback(query);
	MemoryContextSwitchTo(old);
	if (ok || rows)
		return query;
	*why = query->failure;
	tb_heap_query_end(query);
	return NULL;
}

bool
tb_heap_query_next_chunk(TbHeapQuery *query, TbRowChunk *chunk)
{
	MemoryContext old = MemoryContextSwitchTo(query->context);
	bool		more;

	memset(chunk, 0, sizeof(*chunk));
	more = tb_rows_next(query, chunk);
	if (more)
	{
		query->stats.chunks_evaluated += chunk->evaluate;
		query->stats.rows_deferred += chunk->ndeferred;
		if (pgstat_should_count_relation(query->rel))
			query->rel->pgstat_info->t_counts.t_tuples_returned += chunk->rows_in;
	}
	MemoryContextSwitchTo(old);
	return more;
}

static void
count_rows_read(TbHeapQuery *query)
{
	for (uint32 i = 0; i < query->nparts; i++)
		tb_count_rows_read(query->parts[i].rel, query->parts[i].stats.rows);
}

TbGroupsResult
tb_heap_query_next_groups(TbHeapQuery *query, const TbGroups **groups,
						  TbFailure *why)
{
	MemoryContext old = MemoryContextSwitchTo(query->context);
	TbGroupsResult result;

	if (!query->input_done)
	{
		query->input_done = true;
		if (!tb_query_connected(query) || !tb_aggregate_run(query))
		{
			tb_query_note_fallback(query);
			*why = query->failure;
			MemoryContextSwitchTo(old);
			return TB_GROUPS_FALLBACK;
		}
		count_rows_read(query);
	}
	*groups = tb_group_batches_next(query->batches);
	result = *groups != NULL ? TB_GROUPS_BATCH : TB_GROUPS_END;
	MemoryContextSwitchTo(old);
	return result;
}

bool
tb_heap_query_build(TbHeapQuery *query, TbFailure *why)
{
	MemoryContext old = MemoryContextSwitchTo(query->context);
	bool		ok = tb_query_connected(query) && tb_build_run(query);

	if (!ok)
	{
		tb_query_note_fallback(query);
		*why = query->failure;
	}
	else
		count_rows_read(query);
	MemoryContextSwitchTo(old);
	return ok;
}

const TbHeapQueryStats *
tb_heap_query_stats(TbHeapQuery *query)
{
	return &query->stats;
}

TbPartStats
tb_heap_query_part_stats(TbHeapQuery *query, int part)
{
	return query->parts[part].stats;
}

void
tb_heap_query_shut_down(TbHeapQuery *query)
{
	tb_rows_shut_down(query);
}

void
tb_heap_query_end(TbHeapQuery *query)
{
	tb_feeders_end(query, true);
	/* Unfinished: closing cancels it. */
	if (tb_query_connected(query))
		tb_connection_close(query->conn);
	query->conn = NULL;
	if (query->batches != NULL)
		tb_group_batches_end(query->batches);
	tb_parts_end(query);
	tb_stat_add(TB_COUNTER_CHUNKS_EVALUATED, query->stats.chunks_evaluated);
	tb_stat_add(TB_COUNTER_ROWS_DEFERRED, query->stats.rows_deferred);
	tb_stat_add(TB_COUNTER_BLOCKS_BUFFERED, query->stats.blocks_buffered);
	tb_stat_add(TB_COUNTER_BLOCKS_DIRECT, query->stats.blocks_direct);
	tb_stat_add(TB_COUNTER_BLOCKS_MOVED, query->stats.blocks_moved);
	tb_stat_add(TB_COUNTER_BLOCKS_FED, query->stats.blocks_fed);
	MemoryContextDelete(query->context);
}
