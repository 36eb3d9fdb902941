/*
 * set_fold.c - see set_fold.h.
 *
 * Groups of all keys are added only to sets that no other set contains. Every other set
 * is made when its rows are asked for, from the smallest earlier set that contains it.
 * Sets with more keys come earlier, so a ROLLUP folds fewer groups with every step. A set
 * is freed when no later set will be made from it.
 *
 * A folded group has its keys in the hash table's tuple. It is a TbResultBatch of one row
 * without values of keys, so that final functions are those of any other group: 16 bytes
 * for each state (fold_state.h), in which the bytes of a text grow as others take its
 * place. A set without keys has its one group from the start, since it returns a row even
 * of no input.
 *
 * Sums stay exact. If a sum overflows, or a table outgrows hash_mem, PostgreSQL's plan
 * runs: nobody has seen a row by then. Called by exec.c.
 *
 * Values that PostgreSQL computes come first, then folded groups, then the tables of sets.
 */
#include "postgres.h"

#include <math.h>

#include "common/int.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/date.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "turbine/mutant.h"

#include "pg/compat/pg18.h"
#include "pg/convert/numeric_format.h"
#include "pg/nodes/aggregate/fold_state.h"
#include "pg/nodes/aggregate/set_fold.h"

/* Groups between two looks at the memory that tables take. */
#define MEMORY_CHECK 1024

#define OUT_OF_RANGE "a sum over folded groups is out of range"
#define KEYS_DIFFER "equal grouping keys look different"

/* Tables grow; most sets have few groups. */
#define FIRST_BUCKETS 64

/* What a group of a device adds to a state whose argument PostgreSQL computes: a number at
 * `from`, or a text of so many bytes. */
typedef struct ComputedValue
{
	tb_int128	number;
	const char *from;
	uint32		length;
} ComputedValue;

/* An integer, date or time as it is. */
static int64
integer_of(const TbComputedState *state, Datum argument)
{
	if (state->is_bool)
		return DatumGetBool(argument);
	switch (state->type)
	{
		case TB_TYPE_INT2:
			return DatumGetInt16(argument);
		case TB_TYPE_INT4:
		case TB_TYPE_DATE:
			return DatumGetInt32(argument);
		default:
			return DatumGetInt64(argument);
	}
}

static void
set_number(ComputedValue *result, const void *bytes, Size size)
{
	memcpy(&result->number, bytes, size);
	result->from = (const char *) &result->number;
}

static void
set_extreme(const TbComputedState *state, Datum argument, ComputedValue *result)
{
	int64 value;
	int32 narrow;

	if (tb_type_is_text(state->type))
	{
		struct varlena *text = PG_DETOAST_DATUM_PACKED(argument);

		result->from = VARDATA_ANY(text);
		result->length = VARSIZE_ANY_EXHDR(text);
		return;
	}
	value = integer_of(state, argument);
	narrow = (int32) value;
	if (tb_type_width(state->type) == sizeof(int16))
		set_number(result, &(int16) {(int16) value}, sizeof(int16));
	else if (tb_type_width(state->type) == sizeof(int32))
		set_number(result, &narrow, sizeof(narrow));
	else
		set_number(result, &value, sizeof(value));
}

/* Of an argument that is not NULL, in a group of so many rows. What it points to lives as
 * long as the argument and *result. False: it does not fit. */
static bool
computed_value(const TbComputedState *state, Datum argument, int64 rows,
			   ComputedValue *result)
{
	tb_int128 wide;
	int64	  sum;

	if (TB_MUTANT(rows_forgotten))
		rows = 1;
	result->length = 0;
	switch (state->kind)
	{
		case TB_AGG_COUNT:
			set_number(result, &rows, sizeof(rows));
			return true;
		case TB_AGG_SUM_INT:
			if (pg_mul_s64_overflow(integer_of(state, argument), rows, &sum))
				return false;
			set_number(result, &sum, sizeof(sum));
			return true;
		case TB_AGG_SUM_WIDE:
			/* Two numbers of 64 bits. */
			wide = (tb_int128) integer_of(state, argument) * rows;
			set_number(result, &wide, sizeof(wide));
			return true;
		case TB_AGG_MIN:
		case TB_AGG_MAX:
			set_extreme(state, argument, result);
			return true;
		default:
			elog(ERROR, "unknown state %u of a computed argument", state->kind);
	}
	return false;
}

/* What the groups of all sets of a plan have in common. */
typedef struct FoldedGroups
{
	const TbGroupingSets *sets;
	TbAgg				 *states;	 /* the program's, then those of DISTINCT */
	int					  nstates;
	int					  naggs;	 /* of the program */
	bool				  has_texts; /* among the states */
	TbResultBatch		 *empty;	 /* a group of no rows; every group begins as a copy */
	Size				  group_size;
	Size				  valid_offset;
} FoldedGroups;

static bool
is_text(const FoldedGroups *groups, int state)
{
	return tb_type_is_text(tb_agg_state_type(&groups->states[state]));
}

/* COUNT is never NULL, and 0 of nothing; the others are NULL until there is a value.
 * Keys have no values here; only whether they belong to the set is told. */
static void
make_empty(FoldedGroups *groups)
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
make_states(FoldedGroups *groups, const TbProgram *program)
{
	const TbAgg *aggs = (const TbAgg *) ((const char *) program + program->aggs.offset);

	/* How many there are. */
	groups->naggs = program->aggs.count;
	/* One of the two. */
	groups->nstates = groups->naggs + groups->sets->ndistincts +
		groups->sets->ncomputed_states;
	groups->states = palloc0(sizeof(TbAgg) * Max(groups->nstates, 1));
	/* The program's. */
	for (int i = 0; i < groups->naggs; i++)
		groups->states[i] = aggs[i];
	/* Of DISTINCT. */
	for (int i = 0; i < groups->sets->ndistincts; i++)
	{
		groups->states[groups->naggs + i].kind = groups->sets->distincts[i].kind;
		groups->states[groups->naggs + i].type = groups->sets->distincts[i].type;
	}
	/* Of what PostgreSQL computes. */
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

/* In the current context. */
static FoldedGroups *
make_folded_groups(const TbGroupingSets *sets, const TbProgram *program)
{
	FoldedGroups *groups = palloc0(sizeof(FoldedGroups));

	groups->sets = sets;
	make_states(groups, program);
	make_empty(groups);
	return groups;
}

/* A group of no rows, of the set with these keys. */
static TbResultBatch *
make_folded_group(const FoldedGroups *groups, MemoryContext context, uint64 set)
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
stored_text(const FoldedGroups *groups, const TbResultBatch *group, int state)
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
fold_value(const FoldedGroups *groups, MemoryContext context, TbResultBatch *group,
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
takes_part(const FoldedGroups *groups, const TbDistinct *distinct,
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
add_device_state(const FoldedGroups *groups, MemoryContext context, TbResultBatch *group,
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
add_computed_state(const FoldedGroups *groups, MemoryContext context, TbResultBatch *group,
				   int number, const TbResultBatch *batch, uint32 row, Datum computed)
{
	const TbComputedState *state = &groups->sets->computed_states[number];
	int					   index = groups->naggs + number;
	ComputedValue		   value;
	int64				   rows;

	if (state->filtered)
		return !DatumGetBool(computed) ||
			add_device_state(groups, context, group, index, batch, state->column, row);
	memcpy(&rows,
		   (const char *) batch + batch->columns[state->column].values +
			   (Size) row * sizeof(rows),
		   sizeof(rows));
	return computed_value(state, computed, rows, &value) &&
		fold_value(groups, context, group, index, value.from, value.length);
}

/* Adds a group of all keys, row number `row` of a device's, with its computed keys; texts
 * are copied to the context of `group`. False: a sum does not fit. */
static bool
add_whole_group(const FoldedGroups *groups, MemoryContext context, TbResultBatch *group,
				const TbResultBatch *batch, uint32 row, const Datum *computed,
				const bool *isnull)
{
	/* The program's states. */
	for (int i = 0; i < groups->naggs; i++)
		if (!add_device_state(groups, context, group, i, batch, groups->sets->nkeys + i,
							  row))
			return false;
	/* What PostgreSQL has computed. */
	for (int i = 0; i < groups->sets->ncomputed_states; i++)
	{
		const TbComputedState *state = &groups->sets->computed_states[i];

		if (!isnull[state->computed] &&
			!add_computed_state(groups, context, group, i, batch, row,
								computed[state->computed]))
			return false;
	}
	/* The value of DISTINCT. */
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

/* The same of a folded group. */
static bool
add_folded_group(const FoldedGroups *groups, MemoryContext context, TbResultBatch *group,
				 const TbResultBatch *from)
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

/* The group, or a copy of it in which texts are as in any TbResultBatch: views of bytes
 * behind it. */
static const TbResultBatch *
view_of(const FoldedGroups *groups, const TbResultBatch *group)
{
	Size		   size = groups->group_size;
	TbResultBatch *copy;

	/* How long are the texts? */
	if (!groups->has_texts)
		return group;
	for (int i = 0; i < groups->nstates; i++)
		if (is_text(groups, i))
			size += stored_text(groups, group, i).length;
	/* Copy the group, then its texts. */
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

typedef struct SetTable
{
	int				  number;  /* of the set */
	uint64			  set;	   /* its keys */
	bool			  is_root; /* made of groups of all keys */
	MemoryContext	  context; /* of its groups; NULL: not made yet, or let go */
	TupleHashTable	  groups;  /* NULL: the set has no keys */
	TbResultBatch	 *total;   /* of a set without keys */
	TupleHashIterator position;
	bool			  begun;   /* returning rows */
} SetTable;

struct TbSetFold
{
	MemoryContext		  context;
	const TbGroupingSets *sets;
	const TbOutput		 *outputs;
	int					  noutputs;
	FoldedGroups		 *folded;
	PlanState			 *node;
	SetTable			 *tables; /* of the sets without some key, most keys first */
	int					  ntables;
	int					  next_table;
	TupleTableSlot		 *keys; /* of a group that is added */
	TupleTableSlot		 *stored_keys;
	MemoryContext		  per_row;
	uint32				  unchecked;
};

Size
tb_set_fold_group_bytes(int ncolumns)
{
	/* A state a column, where it is, whether it is valid; the stored keys. */
	return sizeof(TbResultBatch) + (Size) ncolumns * 40 + sizeof(TupleHashEntryData) + 128;
}

static int
all_keys(const TbGroupingSets *sets)
{
	return sets->nkeys + sets->ncomputed;
}

/* Whether the set's groups are those of the device; never where keys are computed. */
static bool
has_all_keys(const TbGroupingSets *sets, int set)
{
	if (sets->ncomputed > 0)
		return false;
	for (int key = 0; key < sets->nkeys; key++)
		if ((sets->sets[set] & (UINT64CONST(1) << key)) == 0)
			return false;
	return true;
}

static TupleHashTable
make_groups(TbSetFold *fold, const SetTable *table)
{
	int			nkeys = all_keys(fold->sets);
	AttrNumber *columns = palloc(sizeof(AttrNumber) * nkeys);
	Oid		   *operators = palloc(sizeof(Oid) * nkeys);
	Oid		   *collations = palloc(sizeof(Oid) * nkeys);
	TupleDesc	desc = fold->keys->tts_tupleDescriptor;
	Oid		   *functions;
	FmgrInfo   *hashes;
	int			count = 0;

	for (int key = 0; key < nkeys; key++)
	{
		if ((table->set & (UINT64CONST(1) << key)) == 0)
			continue;
		columns[count] = key + 1;
		operators[count] = fold->sets->operators[key];
		collations[count] = TupleDescAttr(desc, key)->attcollation;
		count++;
	}
	execTuplesHashPrepare(count, operators, &functions, &hashes);
	return TB_BUILD_TUPLE_HASH_TABLE(fold->node, desc, count, columns, functions, hashes,
									 collations, FIRST_BUCKETS, table->context,
									 fold->per_row);
}

/* A table without groups, or with the one of a set without keys. */
static void
make_table(TbSetFold *fold, SetTable *table)
{
	MemoryContext old;

	table->context = AllocSetContextCreate(fold->context, "pg_turbine grouping set",
										   ALLOCSET_START_SMALL_SIZES);
	old = MemoryContextSwitchTo(table->context);
	if (table->set == 0)
		table->total = make_folded_group(fold->folded, table->context, table->set);
	else
		table->groups = make_groups(fold, table);
	MemoryContextSwitchTo(old);
}

static bool
contains(const SetTable *table, const SetTable *smaller)
{
	return (smaller->set & ~table->set) == 0;
}

static int
by_keys(const void *left, const void *right)
{
	const SetTable *a = left;
	const SetTable *b = right;
	int				more = pg_popcount64(b->set) - pg_popcount64(a->set);

	return more != 0 ? more : a->number - b->number;
}

static void
make_tables(TbSetFold *fold)
{
	const TbGroupingSets *sets = fold->sets;

	fold->tables = palloc0(sizeof(SetTable) * sets->nsets);
	for (int i = 0; i < sets->nsets; i++)
	{
		if (has_all_keys(sets, i))
			continue;
		fold->tables[fold->ntables].number = i;
		fold->tables[fold->ntables++].set = sets->sets[i];
	}
	qsort(fold->tables, fold->ntables, sizeof(SetTable), by_keys);
	for (int i = 0; i < fold->ntables; i++)
	{
		SetTable *table = &fold->tables[i];

		table->is_root = true;
		for (int before = 0; before < i && table->is_root; before++)
			table->is_root = !contains(&fold->tables[before], table);
		if (table->is_root)
			make_table(fold, table);
	}
}

TbSetFold *
tb_set_fold_begin(PlanState *node, const TbGroupingSets *sets, const TbProgram *program,
				  const TbOutput *outputs, int noutputs, TupleDesc desc)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pg_turbine grouping sets",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	TbSetFold	 *fold = palloc0(sizeof(TbSetFold));
	TupleDesc	  key_desc = CreateTemplateTupleDesc(all_keys(sets));

	/* What all sets have in common. */
	fold->context = context;
	fold->node = node;
	fold->sets = sets;
	fold->outputs = outputs;
	fold->noutputs = noutputs;
	fold->folded = make_folded_groups(sets, program);
	fold->per_row = AllocSetContextCreate(context, "pg_turbine folded group",
										  ALLOCSET_SMALL_SIZES);
	/* Keys alone make a tuple. */
	for (int key = 0; key < all_keys(sets); key++)
		TupleDescCopyEntry(key_desc, key + 1, desc, key + 1);
	fold->keys = MakeSingleTupleTableSlot(key_desc, &TTSOpsVirtual);
	fold->stored_keys = MakeSingleTupleTableSlot(key_desc, &TTSOpsMinimalTuple);
	make_tables(fold);
	MemoryContextSwitchTo(old);
	return fold;
}

/* The group's keys in fold->keys, those that are not of the set as NULLs, which keeps
 * them out of stored tuples. */
static void
mask_keys(TbSetFold *fold, uint64 set, const bool *isnull)
{
	ExecClearTuple(fold->keys);
	for (int key = 0; key < all_keys(fold->sets); key++)
		fold->keys->tts_isnull[key] = isnull[key] ||
			((set & (UINT64CONST(1) << key)) == 0 && !TB_MUTANT(absent_key_shown));
	ExecStoreVirtualTuple(fold->keys);
}

/* Whether equal computed keys, from that column on, are the same bit for bit: else it
 * depends on PostgreSQL's plan which of them it shows. Keys that are not of the set are
 * NULL in both. */
static bool
computed_keys_are_alike(TupleTableSlot *stored, TupleTableSlot *added, int first)
{
	TupleDesc desc = added->tts_tupleDescriptor;

	for (int key = first; key < desc->natts; key++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, key);
		bool			  isnull;
		Datum			  value = slot_getattr(stored, key + 1, &isnull);

		if (!isnull &&
			!datum_image_eq(value, added->tts_values[key], att->attbyval, att->attlen))
			return false;
	}
	return true;
}

/* The group with the keys that fold->keys has the values of; NULL if it has a key that is
 * equal and looks different. */
static TbResultBatch *
find_group(TbSetFold *fold, const SetTable *table, const bool *isnull)
{
	TupleHashEntry entry;
	bool		   isnew;

	if (table->groups == NULL)
		return table->total;
	mask_keys(fold, table->set, isnull);
	entry = LookupTupleHashEntry(table->groups, fold->keys, &isnew, NULL);
	if (isnew)
		TB_ENTRY_DATA(table->groups, entry) = make_folded_group(fold->folded,
																table->context, table->set);
	else if (fold->sets->ncomputed > 0)
	{
		ExecStoreMinimalTuple(entry->firstTuple, fold->stored_keys, false);
		if (!computed_keys_are_alike(fold->stored_keys, fold->keys, fold->sets->nkeys))
			return NULL;
	}
	return TB_ENTRY_DATA(table->groups, entry);
}

/* After each group; false, with *why, if there is no memory for more. */
static bool
has_room(TbSetFold *fold, const char **why)
{
	if (++fold->unchecked < MEMORY_CHECK)
		return true;
	fold->unchecked = 0;
	if (MemoryContextMemAllocated(fold->context, true) <= get_hash_memory_limit())
		return true;
	*why = "the folded groups take more memory than hash_mem";
	return false;
}

bool
tb_set_fold_add(TbSetFold *fold, const TbResultBatch *batch, uint32 row,
				const Datum *values, const bool *isnull, const char **why)
{
	/* A hash table that is being read takes nothing in. */
	Assert(fold->next_table == 0 && (fold->ntables == 0 || !fold->tables[0].begun));
	MemoryContextReset(fold->per_row);
	memcpy(fold->keys->tts_values, values, sizeof(Datum) * all_keys(fold->sets));
	for (int i = 0; i < fold->ntables; i++)
	{
		SetTable	  *table = &fold->tables[i];
		TbResultBatch *group;

		if (!table->is_root)
			continue;
		group = find_group(fold, table, isnull);
		if (group == NULL ||
			!add_whole_group(fold->folded, table->context, group, batch, row,
							 values + fold->sets->nkeys, isnull + fold->sets->nkeys))
		{
			*why = group == NULL ? KEYS_DIFFER : OUT_OF_RANGE;
			return false;
		}
	}
	return has_room(fold, why);
}

void
tb_grouping_values(const TbGroupingSets *sets, int set, const TbOutput *outputs,
				   int noutputs, Datum *values, bool *isnull)
{
	for (int i = 0; i < noutputs; i++)
	{
		if (outputs[i].kind != TB_OUT_GROUPING)
			continue;
		isnull[i] = false;
		values[i] = Int32GetDatum(sets->functions[outputs[i].second * sets->nsets + set]);
	}
}

static void
set_functions(const TbSetFold *fold, int set, Datum *values, bool *isnull)
{
	tb_grouping_values(fold->sets, set, fold->outputs, fold->noutputs, values, isnull);
}

bool
tb_set_fold_whole_row(TbSetFold *fold, int number, const TbResultBatch *batch, uint32 row,
					  Datum *values, bool *isnull)
{
	for (int set = 0; set < fold->sets->nsets; set++)
	{
		if (!has_all_keys(fold->sets, set) || number-- > 0)
			continue;
		tb_final_row(fold->outputs, fold->noutputs, batch, row, values, isnull);
		set_functions(fold, set, values, isnull);
		return true;
	}
	return false;
}

/* The keys of a stored group; of its tuple until the next call. */
static void
get_keys(TbSetFold *fold, const SetTable *table, TupleHashEntry entry, Datum *values,
		 bool *isnull)
{
	if (entry == NULL)
	{
		memset(isnull, true, sizeof(bool) * all_keys(fold->sets));
		memset(values, 0, sizeof(Datum) * all_keys(fold->sets));
		return;
	}
	ExecStoreMinimalTuple(entry->firstTuple, fold->stored_keys, false);
	slot_getallattrs(fold->stored_keys);
	memcpy(values, fold->stored_keys->tts_values, sizeof(Datum) * all_keys(fold->sets));
	memcpy(isnull, fold->stored_keys->tts_isnull, sizeof(bool) * all_keys(fold->sets));
}

/* The next group of the table; *entry is NULL for one without keys. */
static TbResultBatch *
next_table_group(SetTable *table, TupleHashEntry *entry)
{
	bool first = !table->begun;

	*entry = NULL;
	table->begun = true;
	if (table->groups == NULL)
		return first ? table->total : NULL;
	if (first)
		InitTupleHashIterator(table->groups, &table->position);
	*entry = ScanTupleHashTable(table->groups, &table->position);
	return *entry != NULL ? TB_ENTRY_DATA(table->groups, *entry) : NULL;
}

/* How many groups a table that is made has. */
static uint64
groups_in_table(const SetTable *table)
{
	return table->groups == NULL ? 1 : table->groups->hashtab->members;
}

/* The smallest table that this one can be made of. */
static SetTable *
smallest_containing(TbSetFold *fold, const SetTable *table)
{
	SetTable *best = NULL;

	for (SetTable *other = fold->tables; other < table; other++)
		if (other->context != NULL && contains(other, table) &&
			(best == NULL || groups_in_table(other) < groups_in_table(best)))
			best = other;
	Assert(best != NULL);
	return best;
}

/* False, with *why, if it can not be made. */
static bool
make_of_another(TbSetFold *fold, SetTable *table, const char **why)
{
	SetTable	  *from = smallest_containing(fold, table);
	TupleHashEntry entry;
	TbResultBatch *group, *to;

	/* Read the other from its start. */
	make_table(fold, table);
	from->begun = false;
	while ((group = next_table_group(from, &entry)) != NULL)
	{
		bool isnull[TB_MAX_KEYS];

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(fold->per_row);
		get_keys(fold, from, entry, fold->keys->tts_values, isnull);
		/* Add each of its groups. */
		to = find_group(fold, table, isnull);
		if (to == NULL || !add_folded_group(fold->folded, table->context, to, group))
		{
			*why = to == NULL ? KEYS_DIFFER : OUT_OF_RANGE;
			return false;
		}
		if (!has_room(fold, why))
			return false;
	}
	return true;
}

/* Once the rows of so many tables have been returned: frees those that none of the others
 * will be made of. */
static void
let_go(TbSetFold *fold, int returned)
{
	bool *needed = palloc0(sizeof(bool) * fold->ntables);

	for (int later = returned; later < fold->ntables; later++)
		if (fold->tables[later].context == NULL)
			needed[smallest_containing(fold, &fold->tables[later]) - fold->tables] = true;
	for (int i = 0; i < returned; i++)
	{
		if (needed[i] || fold->tables[i].context == NULL)
			continue;
		MemoryContextDelete(fold->tables[i].context);
		fold->tables[i].context = NULL;
	}
	pfree(needed);
}

bool
tb_set_fold_next(TbSetFold *fold, Datum *values, bool *isnull, const char **why)
{
	int nkeys = all_keys(fold->sets);

	*why = NULL;
	for (; fold->next_table < fold->ntables; fold->next_table++)
	{
		SetTable	  *table = &fold->tables[fold->next_table];
		TupleHashEntry entry;
		TbResultBatch *group;

		/* Made when first asked for. */
		if (table->context == NULL && !make_of_another(fold, table, why))
			return false;
		group = next_table_group(table, &entry);
		/* The set is through. */
		if (group == NULL)
		{
			let_go(fold, fold->next_table + 1);
			continue;
		}
		/* The group becomes a row. */
		get_keys(fold, table, entry, values, isnull);
		tb_final_row(fold->outputs + nkeys, fold->noutputs - nkeys,
					 view_of(fold->folded, group), 0, values + nkeys, isnull + nkeys);
		set_functions(fold, table->number, values, isnull);
		if (!tb_final_is_unambiguous(fold->outputs, fold->noutputs, group, 0))
			*why = TB_SCALES_DIFFER;
		return *why == NULL;
	}
	return false;
}

void
tb_set_fold_end(TbSetFold *fold)
{
	ExecDropSingleTupleTableSlot(fold->keys);
	ExecDropSingleTupleTableSlot(fold->stored_keys);
	MemoryContextDelete(fold->context);
}
