/*
 * plan_rows_source.c - see plan_rows_source.h.
 *
 * Rows gather in a chunk of columns; a full one is written to a free slot and sent, while
 * the plan goes on. Owns the chunk. The plan runs the user's functions: messages must
 * never be held meanwhile, and the connection may be gone afterwards. Called through the
 * methods of source.h.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "pg/source/plan_rows/plan_rows_source.h"
#include "pg/conversation/column_chunk.h"

typedef struct PlanRowsSource
{
	TbSource		base;
	TbNextRow		next;
	void		   *plan;
	TbServiceQuery *query; /* from announce() on */
	TbSlots		   *slots;
	TbColumnChunk  *chunk;
	Datum		   *values; /* of one row */
	bool		   *nulls;
	bool			full;	/* that row waits for the next chunk */
	bool			ended;	/* the plan has no more */
} PlanRowsSource;

static bool
plan_rows_announce(TbSource *source, TbServiceQuery *query, TbInputSize *size)
{
	((PlanRowsSource *) source)->query = query;
	return true;
}

static bool
plan_rows_begin(TbSource *source, TbServiceQuery *query, TbSlots *slots)
{
	PlanRowsSource	*rows = (PlanRowsSource *) source;
	const TbProgram *program = tb_service_query_spec(query)->program;

	rows->slots = slots;
	rows->chunk = tb_column_chunk_make(program,
									   (Size) tb_slots_pages(slots) * TB_PAGE_SIZE);
	rows->values = palloc0(sizeof(Datum) * Max(program->columns.count, 1));
	rows->nulls = palloc0(sizeof(bool) * Max(program->columns.count, 1));
	return true;
}

/* Adds the row at hand; if there is no room, it waits, and the chunk is full. */
static bool
add_row(PlanRowsSource *rows)
{
	TbFailure  why;
	TbRowAdded added = tb_column_chunk_add_values(rows->chunk, rows->values, rows->nulls,
												  &why);

	rows->full = added == TB_ROW_NO_SPACE;
	return added != TB_ROW_IMPOSSIBLE || tb_service_query_give_up(rows->query, &why);
}

/* Runs the plan until the chunk is full or there are no more rows. */
static bool
gather(PlanRowsSource *rows)
{
	while (!rows->full && !rows->ended)
	{
		CHECK_FOR_INTERRUPTS();
		rows->ended = !rows->next(rows->plan, rows->values, rows->nulls);
		if (!rows->ended && !add_row(rows))
			return false;
	}
	return true;
}

static TbSourceFill
plan_rows_fill(TbSource *source, int slot)
{
	PlanRowsSource *rows = (PlanRowsSource *) source;

	if (!rows->full && !rows->ended &&
		(!tb_service_query_flush(rows->query) || !gather(rows)))
		return TB_FILL_LOST;
	/* What the plan has run may have taken the connection with it. */
	if (!tb_service_query_connected(rows->query))
		return TB_FILL_LOST;
	if (slot < 0 || tb_column_chunk_count(rows->chunk) == 0)
		return TB_FILL_NOTHING;
	tb_column_chunk_write(rows->chunk, tb_slots_memory(rows->slots, slot));
	if (!tb_slots_send_columns(rows->slots, slot))
		return TB_FILL_LOST;
	/* The row that found no room begins the next chunk. */
	return !rows->full || add_row(rows) ? TB_FILL_SENT : TB_FILL_LOST;
}

static bool
plan_rows_chunk_done(TbSource *source, uint32 slot)
{
	tb_slots_free(((PlanRowsSource *) source)->slots, slot);
	return true;
}

static const TbSourceMethods plan_rows_methods = {
	.announce = plan_rows_announce,
	.begin = plan_rows_begin,
	.fill = plan_rows_fill,
	.chunk_done = plan_rows_chunk_done,
};

TbSource *
tb_plan_rows_source_make(TbNextRow next, void *plan)
{
	PlanRowsSource *rows = palloc0(sizeof(PlanRowsSource));

	rows->base.methods = &plan_rows_methods;
	rows->next = next;
	rows->plan = plan;
	return &rows->base;
}
