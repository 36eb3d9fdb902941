/*
 * row_query.c - see row_query.h.
 *
 * Rows gather in a chunk of columns; a full one is written to a free slot and
 * sent, while the plan goes on. Owns the query for the call. Called by the nodes'
 * stage runner.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "pg/source/heap/query_state.h"
#include "pg/source/plan_rows/row_query.h"
#include "pg/source/service/column_chunk.h"

typedef struct RowInput
{
	TbHeapQuery *query;
	TbRowsChunk *rows;
	TbNextRow	next;
	void	   *source;
	Datum	   *values;
	bool	   *nulls;
} RowInput;

static TbHeapQuery *
make_query(const TbHeapQuerySpec *spec)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pg_turbine row query",
												  ALLOCSET_DEFAULT_SIZES);
	TbHeapQuery *query = MemoryContextAllocZero(context, sizeof(TbHeapQuery));

	query->context = context;
	query->spec = *spec;
	query->current_slot = -1;
	return query;
}

/* Frees the slots of chunks that are done; waits for one if asked to. */
static bool
serve_messages(TbHeapQuery *query, bool wait)
{
	TbIncoming	message;

	for (;;)
	{
		switch (tb_query_receive(query, wait, &message))
		{
			case TB_RECEIVED_LOST:
				return false;
			case TB_RECEIVED_NOTHING:
				return true;
			case TB_RECEIVED:
				break;
		}
		if (!tb_chunks_message(query, &message))
			return false;
		for (uint32 i = 0; i < query->ready.nslots; i++)
			if (query->slots[i].state == TB_SLOT_DONE)
				query->slots[i].state = TB_SLOT_FREE;
		wait = false;
	}
}

/* Sends the rows that have gathered. */
static bool
send_rows(RowInput *input)
{
	TbHeapQuery *query = input->query;
	int			slot;

	if (!tb_query_connected(query) || !serve_messages(query, false))
		return false;
	while ((slot = tb_chunks_free_slot(query)) < 0)
		if (!serve_messages(query, true))
			return false;
	tb_rows_chunk_write(input->rows, tb_chunks_slot(query, slot));
	return tb_chunks_issue_columns(query, slot);
}

static bool
add_row(RowInput *input)
{
	TbHeapQuery *query = input->query;

	for (;;)
	{
		switch (tb_rows_chunk_add_values(input->rows, input->values, input->nulls,
										 &query->failure))
		{
			case TB_ROW_ADDED:
				return true;
			case TB_ROW_NO_SPACE:
				if (!send_rows(input))
					return false;
				break;
			case TB_ROW_IMPOSSIBLE:
				if (tb_query_connected(query))
					tb_connection_close(query->conn);
				query->conn = NULL;
				return false;
		}
	}
}

static bool
run_input(RowInput *input)
{
	TbHeapQuery *query = input->query;

	while (input->next(input->source, input->values, input->nulls))
	{
		CHECK_FOR_INTERRUPTS();
		if (!add_row(input))
			return false;
	}
	if (tb_rows_chunk_count(input->rows) > 0 && !send_rows(input))
		return false;
	if (!tb_query_connected(query))
		return false;
	while (query->in_flight > 0)
		if (!serve_messages(query, true))
			return false;
	return true;
}

static bool
run(TbHeapQuery *query, TbNextRow next, void *source)
{
	RowInput	input = {.query = query,.next = next,.source = source};
	uint32		ncolumns = query->spec.program->columns.count;
	TbIncoming	message;

	if (!tb_query_start(query))
		return false;
	input.rows = tb_rows_chunk_make(query->spec.program,
									(Size) query->ready.slot_pages * TB_PAGE_SIZE);
	input.values = palloc0(sizeof(Datum) * Max(ncolumns, 1));
	input.nulls = palloc0(sizeof(bool) * Max(ncolumns, 1));
	if (!run_input(&input) ||
		!tb_query_send(query, TB_MSG_INPUT_END, NULL, 0) ||
		tb_query_receive(query, true, &message) != TB_RECEIVED)
		return false;
	if (message.type != TB_MSG_QUERY_DONE)
		return tb_query_protocol_error(query, "unexpected message at the end of a query");
	return tb_query_take_done(query, &message, 0);
}

bool
tb_row_query_build(const TbHeapQuerySpec *spec, TbNextRow next, void *source,
				   TbHeapQueryStats *stats, TbFailure *why)
{
	TbHeapQuery *query = make_query(spec);
	MemoryContext old = MemoryContextSwitchTo(query->context);
	TbClock		before = tb_profile_enter(spec->profile, TB_CLOCK_READ);
	bool		ok = run(query, next, source);

	(void) tb_profile_enter(spec->profile, before);
	MemoryContextSwitchTo(old);
	if (!ok)
	{
		tb_query_note_fallback(query);
		*why = query->failure;
	}
	if (tb_query_connected(query) && !ok)
		tb_connection_close(query->conn);
	*stats = query->stats;
	MemoryContextDelete(query->context);
	return ok;
}
