/*
 * set_fold.c - see set_fold.h.
 *
 * A folded group is a TbResultBatch of one row without keys, so that final functions are
 * those of any other group; its keys are in the hash table's tuple, texts in memory of
 * their own until the group is returned. A set without
 * keys has its one group from the start, for it returns a row even of no input.
 * Sums stay exact; one that overflows, or a table that outgrows hash_mem, sends the
 * query to PostgreSQL, which nobody has seen a row of by then. Called by exec.c.
 */
#include "postgres.h"

#include <math.h>

#include "common/int.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/float.h"
#include "utils/memutils.h"

#include "pg/nodes/aggregate/computed_columns.h"
#include "pg/nodes/aggregate/set_fold.h"
#include "pg/convert/numeric_format.h"

/* Groups between two looks at the memory that tables take. */
#define MEMORY_CHECK 1024

/* Tables grow; most sets have few groups. */
#define FIRST_BUCKETS 64

typedef struct SetTable
{
	int				  number; /* of the set */
	TupleHashTable	  groups; /* NULL: the set has no keys */
	TbResultBatch	 *total;  /* of a set without keys */
	TupleHashIterator position;
	bool			  begun;  /* returning rows */
} SetTable;

/* MIN, MAX of a text, in place of a view. */
typedef struct StoredText
{
	char  *bytes;
	uint32 length;
	uint32 capacity;
} StoredText;

StaticAssertDecl(sizeof(StoredText) == sizeof(TbTextView), "a text's place in a group");

struct TbSetFold
{
	MemoryContext		  context;
	const TbGroupingSets *sets;
	const TbOutput		 *outputs;
	int					  noutputs;
	TbAgg				 *states;	 /* the program's, then those of DISTINCT */
	int					  nstates;
	int					  naggs;	 /* of the program */
	bool				  has_texts; /* among the states */
	TbResultBatch		 *empty;	 /* a group of no rows; every group begins as a copy */
	Size				  group_size;
	Size				  valid_offset;
	SetTable			 *tables; /* of the sets without some key */
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
	return sizeof(TbResultBatch) + sizeof(TupleHashEntryData) + 128 + (Size) ncolumns * 40;
}

static bool
is_text(const TbSetFold *fold, int state)
{
	return tb_type_is_text(tb_agg_state_type(&fold->states[state]));
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

/* COUNT is never NULL, and 0 of nothing; the others are NULL until there is a value.
 * Keys have no values here; only whether they belong to the set is told. */
static void
make_empty(TbSetFold *fold)
{
	int	 ncolumns = fold->sets->nkeys + fold->nstates;
	Size values = TYPEALIGN(16,
							offsetof(TbResultBatch, columns) +
								ncolumns * sizeof(fold->empty->columns[0]));
	Size valid = values + (Size) ncolumns * 16;

	fold->valid_offset = valid;
	fold->group_size = valid + ncolumns;
	fold->empty = palloc0(fold->group_size);
	fold->empty->nrows = 1;
	fold->empty->ncolumns = ncolumns;
	for (int i = 0; i < ncolumns; i++)
		fold->empty->columns[i].values = values + (Size) i * 16;
	for (int i = 0; i < ncolumns; i++)
		if (i < fold->sets->nkeys ||
			fold->states[i - fold->sets->nkeys].kind != TB_AGG_COUNT)
			fold->empty->columns[i].valid = valid + i;
}

static TbResultBatch *
make_group(const TbSetFold *fold, uint64 set)
{
	TbResultBatch *group = MemoryContextAlloc(fold->context, fold->group_size);

	memcpy(group, fold->empty, fold->group_size);
	for (int key = 0; key < fold->sets->nkeys; key++)
		((char *) group)[fold->valid_offset + key] = (set & (UINT64CONST(1) << key)) != 0;
	return group;
}

static TupleHashTable
make_table(TbSetFold *fold, PlanState *node, uint64 set)
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
		if ((set & (UINT64CONST(1) << key)) == 0)
			continue;
		columns[count] = key + 1;
		operators[count] = fold->sets->operators[key];
		collations[count] = TupleDescAttr(desc, key)->attcollation;
		count++;
	}
	execTuplesHashPrepare(count, operators, &functions, &hashes);
	return BuildTupleHashTableExt(node, desc, count, columns, functions, hashes, collations,
								  FIRST_BUCKETS, 0, fold->context, fold->context,
								  fold->per_row, false);
}

static void
make_tables(TbSetFold *fold, PlanState *node)
{
	const TbGroupingSets *sets = fold->sets;

	fold->tables = palloc0(sizeof(SetTable) * sets->nsets);
	for (int i = 0; i < sets->nsets; i++)
	{
		SetTable *table = &fold->tables[fold->ntables];

		if (has_all_keys(sets, i))
			continue;
		fold->ntables++;
		table->number = i;
		if (sets->sets[i] == 0)
			table->total = make_group(fold, 0);
		else
			table->groups = make_table(fold, node, sets->sets[i]);
	}
}

static void
make_states(TbSetFold *fold, const TbProgram *program)
{
	const TbAgg *aggs = (const TbAgg *) ((const char *) program + program->aggs.offset);

	fold->naggs = program->aggs.count;
	fold->nstates = fold->naggs + fold->sets->ndistincts;
	fold->states = palloc0(sizeof(TbAgg) * Max(fold->nstates, 1));
	for (int i = 0; i < fold->naggs; i++)
		fold->states[i] = aggs[i];
	for (int i = 0; i < fold->sets->ndistincts; i++)
	{
		fold->states[fold->naggs + i].kind = fold->sets->distincts[i].kind;
		fold->states[fold->naggs + i].type = fold->sets->distincts[i].type;
	}
	for (int i = 0; i < fold->nstates; i++)
		fold->has_texts = fold->has_texts || is_text(fold, i);
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

	fold->context = context;
	fold->sets = sets;
	fold->outputs = outputs;
	fold->noutputs = noutputs;
	make_states(fold, program);
	fold->per_row = AllocSetContextCreate(context, "pg_turbine folded group",
										  ALLOCSET_SMALL_SIZES);
	for (int key = 0; key < all_keys(sets); key++)
		TupleDescCopyEntry(key_desc, key + 1, desc, key + 1);
	fold->keys = MakeSingleTupleTableSlot(key_desc, &TTSOpsVirtual);
	fold->stored_keys = MakeSingleTupleTableSlot(key_desc, &TTSOpsMinimalTuple);
	make_empty(fold);
	make_tables(fold, node);
	MemoryContextSwitchTo(old);
	return fold;
}

static bool
add_int64(char *to, const char *from)
{
	int64 a;
	int64 b;

	memcpy(&a, to, sizeof(a));
	memcpy(&b, from, sizeof(b));
	if (pg_add_s64_overflow(a, b, &a))
		return false;
	memcpy(to, &a, sizeof(a));
	return true;
}

static bool
add_int128(char *to, const char *from)
{
	tb_int128 a;
	tb_int128 b;

	memcpy(&a, to, sizeof(a));
	memcpy(&b, from, sizeof(b));
	if (__builtin_add_overflow(a, b, &a))
		return false;
	memcpy(to, &a, sizeof(a));
	return true;
}

/* Overflows of no finite values: see tb_float_sum_limit(). */
static bool
add_float8(char *to, const char *from)
{
	float8 a;
	float8 b;

	memcpy(&a, to, sizeof(a));
	memcpy(&b, from, sizeof(b));
	a += b;
	memcpy(to, &a, sizeof(a));
	return true;
}

/* In PostgreSQL's order, NaN above all. */
static bool
is_less(uint32 type, const char *left, const char *right)
{
	switch (type)
	{
		case TB_TYPE_INT2:
			return *(const int16 *) left < *(const int16 *) right;
		case TB_TYPE_INT4:
		case TB_TYPE_DATE:
			return *(const int32 *) left < *(const int32 *) right;
		case TB_TYPE_FLOAT4:
			return float4_lt(*(const float4 *) left, *(const float4 *) right);
		case TB_TYPE_FLOAT8:
			return float8_lt(*(const float8 *) left, *(const float8 *) right);
		case TB_TYPE_NUM128:
		{
			tb_int128 a;
			tb_int128 b;

			memcpy(&a, left, sizeof(a));
			memcpy(&b, right, sizeof(b));
			return a < b;
		}
		default: /* int8, timestamps, numerics of 64 bits; no text */
			return *(const int64 *) left < *(const int64 *) right;
	}
}

/* False: the sum does not fit. */
static bool
combine_values(const TbAgg *agg, char *to, const char *from)
{
	uint32 type = tb_agg_state_type(agg);

	switch (agg->kind)
	{
		case TB_AGG_COUNT:
		case TB_AGG_SUM_INT:
			return add_int64(to, from);
		case TB_AGG_SUM_WIDE:
			return add_int128(to, from);
		case TB_AGG_SUM_FLOAT:
			return add_float8(to, from);
		case TB_AGG_MIN:
			if (is_less(type, from, to))
				memcpy(to, from, tb_type_width(type));
			return true;
		case TB_AGG_MAX:
			if (is_less(type, to, from))
				memcpy(to, from, tb_type_width(type));
			return true;
		default:
			elog(ERROR, "unknown aggregate state %u", agg->kind);
	}
	return false;
}

/* Whether the text comes before the stored one, byte by byte. */
static bool
text_is_less(const char *bytes, uint32 length, const StoredText *text)
{
	int order = memcmp(bytes, text->bytes, Min(length, text->length));

	return order != 0 ? order < 0 : length < text->length;
}

static bool
text_is_greater(const char *bytes, uint32 length, const StoredText *text)
{
	int order = memcmp(bytes, text->bytes, Min(length, text->length));

	return order != 0 ? order > 0 : length > text->length;
}

static void
combine_text(const TbSetFold *fold, const TbAgg *agg, char *to, bool is_first,
			 const TbResultBatch *batch, const char *from)
{
	StoredText	text;
	TbTextView	view;
	const char *bytes;

	memcpy(&view, from, sizeof(view));
	bytes = (const char *) batch + batch->bytes_offset + view.offset;
	memcpy(&text, to, sizeof(text));
	if (!is_first &&
		!(agg->kind == TB_AGG_MIN ? text_is_less(bytes, view.length, &text) :
									text_is_greater(bytes, view.length, &text)))
		return;
	if (view.length > text.capacity || text.bytes == NULL)
	{
		if (text.bytes != NULL)
			pfree(text.bytes);
		text.capacity = Max(view.length, 8);
		text.bytes = MemoryContextAlloc(fold->context, text.capacity);
	}
	memcpy(text.bytes, bytes, view.length);
	text.length = view.length;
	memcpy(to, &text, sizeof(text));
}

static bool
is_valid(const TbResultBatch *batch, uint32 column, uint32 row)
{
	uint64 valid = batch->columns[column].valid;

	return valid == 0 || ((const char *) batch)[valid + row] != 0;
}

/* A value that is not NULL into the group's state; a text's place is in the batch. */
static bool
combine_state(const TbSetFold *fold, int state, TbResultBatch *group,
			  const TbResultBatch *batch, const char *from)
{
	const TbAgg *agg = &fold->states[state];
	int			 column = fold->sets->nkeys + state;
	char		*to = (char *) group + group->columns[column].values;
	char		*to_valid = group->columns[column].valid == 0 ?
			   NULL :
			   (char *) group + group->columns[column].valid;

	if (is_text(fold, state))
	{
		combine_text(fold, agg, to, *to_valid == 0, batch, from);
		*to_valid = 1;
	}
	else if (to_valid != NULL && *to_valid == 0)
	{
		memcpy(to, from, tb_type_width(tb_agg_state_type(agg)));
		*to_valid = 1;
	}
	else
		return combine_values(agg, to, from);
	return true;
}

/* Whether some row of the group has passed the aggregate's FILTER, with a value. */
static bool
takes_part(const TbSetFold *fold, const TbDistinct *distinct, const TbResultBatch *batch,
		   uint32 row)
{
	int64 count;

#ifndef TB_MUTANT_NULL_IS_DISTINCT
	if (!is_valid(batch, fold->sets->nkeys - 1, row))
		return false;
#endif
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

static bool
combine(const TbSetFold *fold, TbResultBatch *group, const TbResultBatch *batch, uint32 row)
{
	for (int i = 0; i < fold->naggs; i++)
	{
		int	 column = fold->sets->nkeys + i;
		Size place = (Size) row * tb_type_width(tb_agg_state_type(&fold->states[i]));

		if (is_valid(batch, column, row) &&
			!combine_state(fold, i, group, batch,
						   (const char *) batch + batch->columns[column].values + place))
			return false;
	}
	for (int i = 0; i < fold->sets->ndistincts; i++)
	{
		const TbDistinct *distinct = &fold->sets->distincts[i];
		tb_int128		  value;

		if (!takes_part(fold, distinct, batch, row))
			continue;
		distinct_value(distinct, batch, row, &value);
		if (!combine_state(fold, fold->naggs + i, group, batch, (const char *) &value))
			return false;
	}
	return true;
}

/* The group's keys in fold->keys, those that are not of the set as NULLs, which keeps
 * them out of stored tuples. */
static void
mask_keys(TbSetFold *fold, uint64 set, const bool *isnull)
{
	ExecClearTuple(fold->keys);
	for (int key = 0; key < all_keys(fold->sets); key++)
#ifdef TB_MUTANT_ABSENT_KEY_SHOWN
		fold->keys->tts_isnull[key] = isnull[key];
#else
		fold->keys->tts_isnull[key] = isnull[key] || (set & (UINT64CONST(1) << key)) == 0;
#endif
	ExecStoreVirtualTuple(fold->keys);
}

/* NULL if it has a key that is equal and looks different. */
static TbResultBatch *
find_group(TbSetFold *fold, SetTable *table, const bool *isnull)
{
	uint64		   set = fold->sets->sets[table->number];
	TupleHashEntry entry;
	bool		   isnew;

	if (table->groups == NULL)
		return table->total;
	mask_keys(fold, set, isnull);
	entry = LookupTupleHashEntry(table->groups, fold->keys, &isnew, NULL);
	if (isnew)
		entry->additional = make_group(fold, set);
#ifndef TB_MUTANT_ANY_EQUAL_KEY
	else if (fold->sets->ncomputed > 0)
	{
		ExecStoreMinimalTuple(entry->firstTuple, fold->stored_keys, false);
		if (!tb_computed_keys_are_alike(fold->stored_keys, fold->keys, fold->sets->nkeys))
			return NULL;
	}
#endif
	return entry->additional;
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
		TbResultBatch *group = find_group(fold, &fold->tables[i], isnull);

		if (group == NULL)
		{
			*why = "equal grouping keys look different";
			return false;
		}
		if (!combine(fold, group, batch, row))
		{
			*why = "a sum over folded groups is out of range";
			return false;
		}
	}
	if (++fold->unchecked < MEMORY_CHECK)
		return true;
	fold->unchecked = 0;
	*why = "the folded groups take more memory than hash_mem";
	return MemoryContextMemAllocated(fold->context, true) <= get_hash_memory_limit();
}

/* What GROUPING() is in rows of the set. */
static void
set_functions(const TbSetFold *fold, int set, Datum *values, bool *isnull)
{
	for (int i = 0; i < fold->noutputs; i++)
	{
		const TbOutput *out = &fold->outputs[i];

		if (out->kind != TB_OUT_GROUPING)
			continue;
		isnull[i] = false;
		values[i] = Int32GetDatum(
			fold->sets->functions[out->second * fold->sets->nsets + set]);
	}
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
next_group(SetTable *table, TupleHashEntry *entry)
{
	bool first = !table->begun;

	*entry = NULL;
	table->begun = true;
	if (table->groups == NULL)
		return first ? table->total : NULL;
	if (first)
		InitTupleHashIterator(table->groups, &table->position);
	*entry = ScanTupleHashTable(table->groups, &table->position);
	return *entry != NULL ? (*entry)->additional : NULL;
}

static StoredText
stored_text(const TbSetFold *fold, const TbResultBatch *group, int state)
{
	StoredText text;

	Assert(is_text(fold, state));
	memcpy(&text, (const char *) group + group->columns[fold->sets->nkeys + state].values,
		   sizeof(text));
	return text;
}

/* A copy of the group in which texts are as in any TbResultBatch: views of bytes behind it.
 */
static const TbResultBatch *
with_views(const TbSetFold *fold, const TbResultBatch *group)
{
	Size		   size = fold->group_size;
	TbResultBatch *copy;

	for (int i = 0; i < fold->naggs; i++)
		if (is_text(fold, i))
			size += stored_text(fold, group, i).length;
	copy = palloc(size);
	memcpy(copy, group, fold->group_size);
	copy->bytes_offset = fold->group_size;
	for (int i = 0; i < fold->naggs; i++)
	{
		StoredText text;
		TbTextView view = {0};

		if (!is_text(fold, i))
			continue;
		text = stored_text(fold, group, i);
		view.length = text.length;
		view.offset = copy->bytes_size;
		if (text.length > 0)
			memcpy((char *) copy + copy->bytes_offset + view.offset, text.bytes,
				   text.length);
		copy->bytes_size += text.length;
		memcpy((char *) copy + copy->columns[fold->sets->nkeys + i].values, &view,
			   sizeof(view));
	}
	return copy;
}

bool
tb_set_fold_next(TbSetFold *fold, Datum *values, bool *isnull, bool *ambiguous)
{
	int nkeys = all_keys(fold->sets);

	for (; fold->next_table < fold->ntables; fold->next_table++)
	{
		SetTable	  *table = &fold->tables[fold->next_table];
		TupleHashEntry entry;
		TbResultBatch *group = next_group(table, &entry);

		if (group == NULL)
			continue;
		get_keys(fold, table, entry, values, isnull);
		tb_final_row(fold->outputs + nkeys, fold->noutputs - nkeys,
					 fold->has_texts ? with_views(fold, group) : group, 0, values + nkeys,
					 isnull + nkeys);
		set_functions(fold, table->number, values, isnull);
		*ambiguous = !tb_final_is_unambiguous(fold->outputs, fold->noutputs, group, 0);
		return true;
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
