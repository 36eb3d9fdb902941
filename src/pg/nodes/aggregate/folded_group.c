/*
 * folded_group.c - see folded_group.h.
 *
 * Owns the layout of a folded group: the columns of a TbResultBatch of one row, of which
 * those of keys are empty, and 16 bytes for each state. A text is a TbStoredText there,
 * whose bytes grow as texts take its place. Called by set_fold.c.
 */
#include "postgres.h"

#include "pg/convert/numeric_format.h"
#include "pg/nodes/aggregate/fold_state.h"
#include "pg/nodes/aggregate/folded_group.h"
#include "turbine/mutant.h"

struct TbFoldedGroups
{
	const TbGroupingSets *sets;
	TbAgg				 *states;	 /* the program's, then those of DISTINCT */
	int					  nstates;
	int					  naggs;	 /* of the program */
	bool				  has_texts; /* among the states */
	TbResultBatch		 *empty;	 /* a group of no rows; every group begins as a copy */
	Size				  group_size;
	Size				  valid_offset;
};

static bool
is_text(const TbFoldedGroups *groups, int state)
{
	return tb_type_is_text(tb_agg_state_type(&groups->states[state]));
}

/* COUNT is never NULL, and 0 of nothing; the others are NULL until there is a value.
 * Keys have no values here; only whether they belong to the set is told. */
static void
make_empty(TbFoldedGroups *groups)
{
	int	 ncolumns = groups->sets->nkeys + groups->nstates;
	Size values = TYPEALIGN(16,
							offsetof(TbResultBatch, columns) +
								ncolumns * sizeof(groups->empty->columns[0]));
	Size valid = values + (Size) ncolumns * 16;

	groups->valid_offset = valid;
	groups->group_size = valid + ncolumns;
	groups->empty = palloc0(groups->group_size);
	groups->empty->nrows = 1;
	groups->empty->ncolumns = ncolumns;
	for (int i = 0; i < ncolumns; i++)
		groups->empty->columns[i].values = values + (Size) i * 16;
	for (int i = 0; i < ncolumns; i++)
		if (i < groups->sets->nkeys ||
			groups->states[i - groups->sets->nkeys].kind != TB_AGG_COUNT)
			groups->empty->columns[i].valid = valid + i;
}

static void
make_states(TbFoldedGroups *groups, const TbProgram *program)
{
	const TbAgg *aggs = (const TbAgg *) ((const char *) program + program->aggs.offset);

	groups->naggs = program->aggs.count;
	/* One of the two. */
	groups->nstates = groups->naggs + groups->sets->ndistincts +
		groups->sets->ncomputed_states;
	groups->states = palloc0(sizeof(TbAgg) * Max(groups->nstates, 1));
	for (int i = 0; i < groups->naggs; i++)
		groups->states[i] = aggs[i];
	for (int i = 0; i < groups->sets->ndistincts; i++)
	{
		groups->states[groups->naggs + i].kind = groups->sets->distincts[i].kind;
		groups->states[groups->naggs + i].type = groups->sets->distincts[i].type;
	}
	for (int i = 0; i < groups->sets->ncomputed_states; i++)
	{
		const TbComputedState *state = &groups->sets->computed_states[i];

		if (state->filtered)
			groups->states[groups->naggs + i] = aggs[state->column - groups->sets->nkeys];
		else
		{
			groups->states[groups->naggs + i].kind = state->kind;
			groups->states[groups->naggs + i].type = state->type;
		}
	}
	for (int i = 0; i < groups->nstates; i++)
		groups->has_texts = groups->has_texts || is_text(groups, i);
}

TbFoldedGroups *
tb_folded_groups_make(const TbGroupingSets *sets, const TbProgram *program)
{
	TbFoldedGroups *groups = palloc0(sizeof(TbFoldedGroups));

	groups->sets = sets;
	make_states(groups, program);
	make_empty(groups);
	return groups;
}

Size
tb_folded_group_bytes(int ncolumns)
{
	/* A state a column, where it is, whether it is valid. */
	return sizeof(TbResultBatch) + (Size) ncolumns * 40;
}

TbResultBatch *
tb_folded_group_make(const TbFoldedGroups *groups, MemoryContext context, uint64 set)
{
	TbResultBatch *group = MemoryContextAlloc(context, groups->group_size);

	memcpy(group, groups->empty, groups->group_size);
	for (int key = 0; key < groups->sets->nkeys; key++)
		((char *) group)[groups->valid_offset + key] = (set & (UINT64CONST(1) << key)) != 0;
	return group;
}

static bool
is_valid(const TbResultBatch *batch, uint32 column, uint32 row)
{
	uint64 valid = batch->columns[column].valid;

	return valid == 0 || ((const char *) batch)[valid + row] != 0;
}

static TbStoredText
stored_text(const TbFoldedGroups *groups, const TbResultBatch *group, int state)
{
	TbStoredText text;

	Assert(is_text(groups, state));
	memcpy(&text, (const char *) group + group->columns[groups->sets->nkeys + state].values,
		   sizeof(text));
	return text;
}

/* A value that is not NULL into the group's state: a number at `from`, or a text of so many
 * bytes there. False: the sum does not fit. */
static bool
fold_value(const TbFoldedGroups *groups, MemoryContext context, TbResultBatch *group,
		   int state, const char *from, uint32 length)
{
	const TbAgg *agg = &groups->states[state];
	int			 column = groups->sets->nkeys + state;
	char		*to = (char *) group + group->columns[column].values;
	char		*to_valid = group->columns[column].valid == 0 ?
			   NULL :
			   (char *) group + group->columns[column].valid;

	if (is_text(groups, state))
		tb_fold_text(context, agg, to, *to_valid == 0, from, length);
	else if (to_valid == NULL || *to_valid != 0)
		return tb_fold_value(agg, to, from);
	else
		memcpy(to, from, tb_type_width(tb_agg_state_type(agg)));
	if (to_valid != NULL)
		*to_valid = 1;
	return true;
}

/* Whether some row of the group has passed the aggregate's FILTER, with a value. */
static bool
takes_part(const TbFoldedGroups *groups, const TbDistinct *distinct,
		   const TbResultBatch *batch, uint32 row)
{
	int64 count;

	if (!is_valid(batch, groups->sets->nkeys - 1, row) && !TB_MUTANT(null_is_distinct))
		return false;
	if (distinct->counter == TB_NONE)
		return true;
	memcpy(&count,
		   (const char *) batch + batch->columns[distinct->counter].values +
			   (Size) row * sizeof(count),
		   sizeof(count));
	return count != 0;
}

/* What the group adds to such a state, in the state's own type. */
static void
distinct_value(const TbDistinct *distinct, const TbResultBatch *batch, uint32 row,
			   tb_int128 *value)
{
	const char *values = (const char *) batch + batch->columns[distinct->column].values;
	int64		number = 1;

	switch (distinct->kind)
	{
		case TB_AGG_COUNT:
			break;
		case TB_AGG_SUM_INT:
			number = distinct->type == TB_TYPE_INT2 ? ((const int16 *) values)[row] :
													  ((const int32 *) values)[row];
			break;
		case TB_AGG_SUM_WIDE:
			if (distinct->type == TB_TYPE_NUM128)
				memcpy(value, values + (Size) row * sizeof(*value), sizeof(*value));
			else
				*value = ((const int64 *) values)[row];
			return;
		case TB_AGG_MAX:
			memcpy(value, values + (Size) row * sizeof(int32), sizeof(int32));
			return;
		default:
			elog(ERROR, "unknown state %u of an aggregate with DISTINCT", distinct->kind);
	}
	memcpy(value, &number, sizeof(number));
}

/* A state of the device's group into one of the folded group. */
static bool
add_device_state(const TbFoldedGroups *groups, MemoryContext context, TbResultBatch *group,
				 int state, const TbResultBatch *batch, uint32 column, uint32 row)
{
	const char *from = (const char *) batch + batch->columns[column].values +
		(Size) row * tb_type_width(tb_agg_state_type(&groups->states[state]));
	TbTextView view = {0};

	if (!is_valid(batch, column, row))
		return true;
	if (is_text(groups, state))
	{
		memcpy(&view, from, sizeof(view));
		from = (const char *) batch + batch->bytes_offset + view.offset;
	}
	return fold_value(groups, context, group, state, from, view.length);
}

/* What PostgreSQL has computed of the device's group, and is not NULL. */
static bool
add_computed_state(const TbFoldedGroups *groups, MemoryContext context,
				   TbResultBatch *group, int number, const TbResultBatch *batch, uint32 row,
				   Datum computed)
{
	const TbComputedState *state = &groups->sets->computed_states[number];
	int					   index = groups->naggs + number;
	TbComputedValue		   value;
	int64				   rows;

	if (state->filtered)
		return !DatumGetBool(computed) ||
			add_device_state(groups, context, group, index, batch, state->column, row);
	memcpy(&rows,
		   (const char *) batch + batch->columns[state->column].values +
			   (Size) row * sizeof(rows),
		   sizeof(rows));
	return tb_computed_value(state, computed, rows, &value) &&
		fold_value(groups, context, group, index, value.from, value.length);
}

bool
tb_folded_group_add_whole(const TbFoldedGroups *groups, MemoryContext context,
						  TbResultBatch *group, const TbResultBatch *batch, uint32 row,
						  const Datum *computed, const bool *isnull)
{
	for (int i = 0; i < groups->naggs; i++)
		if (!add_device_state(groups, context, group, i, batch, groups->sets->nkeys + i,
							  row))
			return false;
	for (int i = 0; i < groups->sets->ncomputed_states; i++)
	{
		const TbComputedState *state = &groups->sets->computed_states[i];

		if (!isnull[state->computed] &&
			!add_computed_state(groups, context, group, i, batch, row,
								computed[state->computed]))
			return false;
	}
	for (int i = 0; i < groups->sets->ndistincts; i++)
	{
		const TbDistinct *distinct = &groups->sets->distincts[i];
		tb_int128		  value;

		if (!takes_part(groups, distinct, batch, row))
			continue;
		distinct_value(distinct, batch, row, &value);
		if (!fold_value(groups, context, group, groups->naggs + i, (const char *) &value,
						0))
			return false;
	}
	return true;
}

bool
tb_folded_group_add(const TbFoldedGroups *groups, MemoryContext context,
					TbResultBatch *group, const TbResultBatch *from)
{
	for (int i = 0; i < groups->nstates; i++)
	{
		int			column = groups->sets->nkeys + i;
		const char *value = (const char *) from + from->columns[column].values;
		uint32		length = 0;

		if (!is_valid(from, column, 0))
			continue;
		if (is_text(groups, i))
		{
			TbStoredText text = stored_text(groups, from, i);

			value = text.bytes;
			length = text.length;
		}
		if (!fold_value(groups, context, group, i, value, length))
			return false;
	}
	return true;
}

const TbResultBatch *
tb_folded_group_view(const TbFoldedGroups *groups, const TbResultBatch *group)
{
	Size		   size = groups->group_size;
	TbResultBatch *copy;

	if (!groups->has_texts)
		return group;
	for (int i = 0; i < groups->nstates; i++)
		if (is_text(groups, i))
			size += stored_text(groups, group, i).length;
	copy = palloc(size);
	memcpy(copy, group, groups->group_size);
	copy->bytes_offset = groups->group_size;
	for (int i = 0; i < groups->nstates; i++)
	{
		TbStoredText text;
		TbTextView	 view = {0};

		if (!is_text(groups, i))
			continue;
		text = stored_text(groups, group, i);
		view.length = text.length;
		view.offset = copy->bytes_size;
		if (text.length > 0)
			memcpy((char *) copy + copy->bytes_offset + view.offset, text.bytes,
				   text.length);
		copy->bytes_size += text.length;
		memcpy((char *) copy + copy->columns[groups->sets->nkeys + i].values, &view,
			   sizeof(view));
	}
	return copy;
}
