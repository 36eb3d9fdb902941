/*
 * result_batches.c - see result_batches.h.
 *
 * Each batch is copied out of its slot once, then checked: every offset,
 * length and text view, so that readers of the copy need not. The copy is a
 * TbResultBatch whose offsets count from its own start. Owns copies and file; must never
 * look at a slot again after its batch was copied. Called by the program's run.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

#include "pg/conversation/result_batches.h"

#define SECTION_ALIGN 16
#define ALIGN_SECTION(n) TYPEALIGN(SECTION_ALIGN, (n))

typedef struct Batch
{
	Size		   size;
	TbResultBatch *groups; /* NULL: in the file, in order */
} Batch;

struct TbResultBatches
{
	uint32		   ncolumns;
	uint32		  *types;  /* TbType of each column */
	uint64		   unread; /* as TbQuery says */
	List		  *batches;
	int			   next;
	Size		   memory; /* of batches kept there */
	BufFile		  *file;
	bool		   rewound;
	TbResultBatch *current; /* batch from the file, handed out */
	TbResultBatch *taken;	/* where a taker finds a batch */
	Size		   taken_size;
};

static const void *
section(const TbProgram *program, TbSection s)
{
	return (const char *) program + s.offset;
}

/* The types of the window functions' values, behind those of the columns. */
static void
add_function_types(uint32 *types, const TbResultPlan *result)
{
	const TbWindowFunction *functions =
		(const TbWindowFunction *) ((const char *) result + result->functions.offset);

	for (uint32 i = 0; i < result->functions.count; i++)
		types[result->ncolumns + i] = tb_window_type(functions[i].kind,
													 functions[i].arg == TB_NONE ?
														 TB_TYPE_INVALID :
														 types[functions[i].arg]);
}

static bool
is_unread(const TbResultBatches *batches, uint32 column)
{
	return column < 64 && (batches->unread & (UINT64CONST(1) << column)) != 0;
}

static TbResultBatches *
make_batches(const TbProgram *program, const TbResultPlan *result)
{
	TbResultBatches *batches = palloc0(sizeof(TbResultBatches));
	bool			 projects = program->sink == TB_SINK_PROJECT;
	TbSection		 direct = projects ? program->outputs : program->keys;
	const uint32	*keys = section(program, direct);
	const TbExpr	*exprs = section(program, program->exprs);
	const TbAgg		*aggs = section(program, program->aggs);
	uint32			 nkeys = direct.count;
	uint32			 naggs = projects ? 0 : program->aggs.count;

	uint32 nfunctions = result != NULL ? result->functions.count : 0;

	batches->ncolumns = nkeys + naggs + nfunctions;
	batches->types = palloc(Max(batches->ncolumns, 1) * sizeof(uint32));
	for (uint32 i = 0; i < nkeys; i++)
		batches->types[i] = exprs[keys[i]].type;
	for (uint32 i = 0; i < naggs; i++)
		batches->types[nkeys + i] = tb_agg_state_type(&aggs[i]);
	if (result != NULL)
		add_function_types(batches->types, result);
	return batches;
}

static bool
within(uint64 offset, uint64 size, uint64 limit)
{
	return offset <= limit && size <= limit - offset;
}

/* The size of the batch's copy, or 0 if something lies outside of the slot. */
static Size
check_bounds(const TbResultBatches *batches, const TbResultBatch *groups, uint64 slot_size)
{
	uint64 size = offsetof(TbResultBatch, columns) +
		batches->ncolumns * sizeof(groups->columns[0]);

	/* The columns that are read. */
	for (uint32 i = 0; i < batches->ncolumns; i++)
	{
		uint64 bytes = (uint64) groups->nrows * tb_type_width(batches->types[i]);

		if (is_unread(batches, i))
			continue;
		if (!within(groups->columns[i].values, bytes, slot_size))
			return 0;
		size = ALIGN_SECTION(size) + bytes;
		if (groups->columns[i].valid == 0)
			continue;
		if (!within(groups->columns[i].valid, groups->nrows, slot_size))
			return 0;
		size = ALIGN_SECTION(size) + groups->nrows;
	}
	/* Bytes of the texts. */
	if (!within(groups->bytes_offset, groups->bytes_size, slot_size))
		return 0;
	size = ALIGN_SECTION(size) + groups->bytes_size;
	return size < MaxAllocSize - SECTION_ALIGN ? size : 0;
}

/* Copies one section behind what is there; returns its offset. */
static uint64
copy_section(char *copy, Size *used, const char *from, Size bytes)
{
	uint64 offset = ALIGN_SECTION(*used);

	memcpy(copy + offset, from, bytes);
	*used = offset + bytes;
	return offset;
}

static bool
views_are_inside(const TbResultBatch *groups, uint32 column)
{
	const TbTextView *views = (const TbTextView *) ((const char *) groups +
													groups->columns[column].values);
	const uint8		 *valid = groups->columns[column].valid == 0 ?
			 NULL :
			 (const uint8 *) groups + groups->columns[column].valid;

	for (uint32 row = 0; row < groups->nrows; row++)
		if ((valid == NULL || valid[row]) &&
			!within(views[row].offset, views[row].length, groups->bytes_size))
			return false;
	return true;
}

/* `copy`: of so many bytes. False if it is malformed. */
static bool
copy_batch(const TbResultBatches *batches, const TbResultBatch *groups, const char *slot,
		   Size size, TbResultBatch *copy)
{
	Size used = offsetof(TbResultBatch, columns) +
		batches->ncolumns * sizeof(groups->columns[0]);
	char *to = (char *) copy;

	/* The head, then columns, then texts. */
	memcpy(copy, groups, used);
	for (uint32 i = 0; i < batches->ncolumns; i++)
	{
		if (is_unread(batches, i))
			continue;
		copy->columns[i].values = copy_section(to, &used, slot + groups->columns[i].values,
											   (Size) groups->nrows *
												   tb_type_width(batches->types[i]));
		if (groups->columns[i].valid != 0)
			copy->columns[i].valid = copy_section(to, &used,
												  slot + groups->columns[i].valid,
												  groups->nrows);
	}
	copy->bytes_offset = copy_section(to, &used, slot + groups->bytes_offset,
									  groups->bytes_size);
	/* Check texts in the copy. */
	Assert(used == size);
	for (uint32 i = 0; i < batches->ncolumns; i++)
	{
		if (tb_type_is_text(batches->types[i]) && !is_unread(batches, i) &&
			!views_are_inside(copy, i))
			return false;
	}
	return true;
}

/* Takes a RESULT_BATCH message and its slot's content; false if it is malformed. */
static bool
add_batch(TbResultBatches *batches, const TbIncoming *message, const char *slot,
		  uint64 slot_size, TbBatchTaker *taker)
{
	const TbResultBatch *groups = (const TbResultBatch *) message->payload;
	Batch				*batch;
	Size				 size;
	TbResultBatch		*copy;

	/* Check it, copy it. */
	if (message->length < offsetof(TbResultBatch, columns) ||
		groups->ncolumns != batches->ncolumns ||
		message->length !=
			offsetof(TbResultBatch, columns) +
				batches->ncolumns * sizeof(groups->columns[0]))
		return false;
	size = check_bounds(batches, groups, slot_size);
	if (size == 0)
		return false;
	/* A taker is done with it at once: the next one's copy takes its place. */
	if (taker != NULL)
	{
		if (batches->taken_size < size)
		{
			if (batches->taken != NULL)
				pfree(batches->taken);
			batches->taken = palloc(size);
			batches->taken_size = size;
		}
		if (!copy_batch(batches, groups, slot, size, batches->taken))
			return false;
		taker->take(taker, batches->taken);
		return true;
	}
	copy = palloc(size);
	if (!copy_batch(batches, groups, slot, size, copy))
	{
		pfree(copy);
		return false;
	}

	/* Keep it in memory or file. */
	batch = palloc0(sizeof(Batch));
	batch->size = size;
	batches->batches = lappend(batches->batches, batch);
	if (batches->file == NULL && batches->memory + size <= work_mem * (Size) 1024)
	{
		batch->groups = copy;
		batches->memory += size;
		return true;
	}
	if (batches->file == NULL)
		batches->file = BufFileCreateTemp(false);
	BufFileWrite(batches->file, copy, size);
	pfree(copy);
	return true;
}

/* RESULT_LEFT, for a query that asked for it; false if it is malformed. */
static bool
take_left(TbLeftColumns *left, const TbIncoming *message)
{
	const TbResultLeft *result = (const TbResultLeft *) message->payload;

	if (left == NULL || left->are_left ||
		message->length !=
			offsetof(TbResultLeft, nulls) + sizeof(uint64) * left->ncolumns ||
		result->ncolumns != (uint32) left->ncolumns)
		return false;
	for (int i = 0; i < left->ncolumns; i++)
		if (result->nulls[i] > result->rows)
			return false;
	memcpy(left->result, result, message->length);
	left->are_left = true;
	return true;
}

TbResultBatches *
tb_result_batches_collect(TbServiceQuery *query, bool fed)
{
	const TbReady		*ready = tb_service_query_ready(query);
	const TbProgramSpec *spec = tb_service_query_spec(query);
	TbResultBatches		*batches = make_batches(tb_results_program(spec),
												tb_results_plan(spec));
	uint64				 nrows = 0;

	batches->unread = spec->unread_columns;
	for (;;)
	{
		TbIncoming message;
		TbSlotFree slot_free = {0};

		if (tb_service_query_receive(query, true, &message) != TB_RECEIVED)
			break;
		/* The last message. */
		if (message.type == TB_MSG_QUERY_DONE)
		{
			if (tb_service_query_take_done(query, &message, nrows, fed))
				return batches;
			break;
		}
		if (message.type == TB_MSG_RESULT_LEFT && take_left(spec->left, &message))
		{
			nrows = spec->left->result->rows;
			continue;
		}
		if (message.type != TB_MSG_RESULT_BATCH || spec->left != NULL ||
			message.length < offsetof(TbResultBatch, columns))
		{
			(void) tb_service_query_protocol_error(query,
												   "unexpected message instead of groups");
			break;
		}
		/* Take the rows out. */
		memcpy(&slot_free.slot, message.payload + offsetof(TbResultBatch, slot),
			   sizeof(slot_free.slot));
		if (slot_free.slot >= ready->nslots ||
			!add_batch(batches, &message, tb_service_query_slot(query, slot_free.slot),
					   ready->slot_size, spec->taker))
		{
			(void) tb_service_query_protocol_error(query, "groups outside of their slot");
			break;
		}
		nrows += ((const TbResultBatch *) message.payload)->nrows;
		/* The slot is turbined's again. */
		if (!tb_service_query_send(query, TB_MSG_SLOT_FREE, &slot_free, sizeof(slot_free)))
			break;
	}
	tb_result_batches_end(batches);
	return NULL;
}

static TbResultBatch *
read_batch(TbResultBatches *batches, Size size)
{
	TbResultBatch *groups = palloc(size);

	if (!batches->rewound && BufFileSeek(batches->file, 0, 0, SEEK_SET) != 0)
		elog(ERROR, "could not rewind temporary file of groups");
	batches->rewound = true;
	if (BufFileRead(batches->file, groups, size) != size)
		elog(ERROR, "unexpected end of temporary file of groups");
	return groups;
}

const TbResultBatch *
tb_result_batches_next(TbResultBatches *batches)
{
	Batch *batch;

	if (batches->current != NULL)
		pfree(batches->current);
	batches->current = NULL;
	if (batches->next >= list_length(batches->batches))
		return NULL;
	batch = list_nth(batches->batches, batches->next++);
	batches->current = batch->groups != NULL ? batch->groups :
											   read_batch(batches, batch->size);
	batch->groups = NULL;
	return batches->current;
}

void
tb_result_batches_end(TbResultBatches *batches)
{
	if (batches->file != NULL)
		BufFileClose(batches->file);
	batches->file = NULL;
}
