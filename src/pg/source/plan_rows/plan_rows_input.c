/*
 * plan_rows_input.c - see plan_rows_input.h.
 *
 * The input has nothing to choose. Its source sends chunks of columns: rows gather in a
 * chunk of columns; a full one is written to a free slot and sent, while the plan goes on.
 * Owns the chunk. The plan runs the user's functions: messages must never be held
 * meanwhile, and the connection may be gone afterwards. Called through the methods of
 * input.h and source.h.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "pg/conversation/column_chunk.h"
#include "pg/source/plan_rows/plan_rows_input.h"

typedef struct PlanRowsInput
{
	TbInput		 base;
	const int32 *columns;
	int			 ncolumns;
} PlanRowsInput;

typedef struct PlanRowsSource
{
	TbSource			 base;
	const PlanRowsInput *input;
	TbServiceQuery		*query; /* from announce() on */
	TbSlots				*slots;
	TbColumnChunk		*chunk;
	Datum				*values; /* of one row */
	bool				*nulls;
	bool				 full;	 /* that row waits for the next chunk */
	bool				 ended;	 /* the plan has no more */
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

/* The columns that a program wants of the plan's next row; false at the end. What nodes
 * allocate when they first run must outlive our query. Raises what the plan raises. */
static bool
next_row(PlanRowsSource *rows)
{
	PlanState	   *plan = rows->input->base.plan;
	MemoryContext	old = MemoryContextSwitchTo(plan->state->es_query_cxt);
	TupleTableSlot *slot = ExecProcNode(plan);

	MemoryContextSwitchTo(old);
	if (TupIsNull(slot))
		return false;
	for (int i = 0; i < rows->input->ncolumns; i++)
		rows->values[i] = slot_getattr(slot, rows->input->columns[i] + 1, &rows->nulls[i]);
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
		rows->ended = !next_row(rows);
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

static bool
plan_rows_is_empty(const TbInput *input)
{
	return false;
}

static bool
plan_rows_choose(TbInput *input)
{
	return true;
}

static bool
plan_rows_open(TbInput *input, const TbInputUse *use, List **sources, TbFailure *why)
{
	PlanRowsSource *rows = palloc0(sizeof(PlanRowsSource));

	rows->base.methods = &plan_rows_methods;
	rows->input = (const PlanRowsInput *) input;
	*sources = lappend(*sources, rows);
	return true;
}

static const TbInputMethods plan_rows_input_methods = {
	.is_empty = plan_rows_is_empty,
	.choose = plan_rows_choose,
	.open = plan_rows_open,
};

TbInput *
tb_plan_rows_input_make(CustomScanState *css, Plan *plan, const int32 *columns,
						int ncolumns, int eflags)
{
	PlanRowsInput *input = palloc0(sizeof(PlanRowsInput));

	input->base.methods = &plan_rows_input_methods;
	input->base.name = "rows of a plan";
	input->base.plan = ExecInitNode(plan, css->ss.ps.state, eflags);
	css->custom_ps = lappend(css->custom_ps, input->base.plan);
	input->columns = columns;
	input->ncolumns = ncolumns;
	return &input->base;
}
