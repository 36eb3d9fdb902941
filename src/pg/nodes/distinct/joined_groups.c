/*
 * joined_groups.c - see joined_groups.h. Called by exec.c.
 *
 * Hashing: the first plan's row is the tuple of the hash table's entry. Columns that later
 * plans bring lie in an array beside it.
 *
 * Sorting: rows of all plans are sorted by the keys, with what the hash table had when it
 * became too large. Rows of equal keys then follow each other, and become one: of each
 * column, the value that is not NULL.
 *
 * Owns a memory context with the table and the rows. Raises nothing but what PostgreSQL's
 * comparisons, sorts and temporary files raise.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/tuplesort.h"

#include "turbine/mutant.h"

#include "pg/compat/pg18.h"
#include "pg/nodes/distinct/joined_groups.h"

/* Rows between two looks at the memory that the table takes. */
#define MEMORY_CHECK 1024

/* The table grows; most queries have few groups. */
#define FIRST_BUCKETS 64

/* Columns of a group, as far as some plan has brought them. */
typedef struct JoinedColumns
{
	Datum *values;
	bool  *isnull;
} JoinedColumns;

struct TbJoinedGroups
{
	PlanState		  *node;
	TupleDesc		   desc;
	const TbGroupKeys *keys;
	MemoryContext	   context; /* of all of it */
	MemoryContext	   per_row;
	TupleTableSlot	  *stored;	/* a tuple of the table, or of the sort */

	/* Hashing. Without keys there is one group, and no table. */
	MemoryContext	  table_context;
	TupleHashTable	  table;
	TupleHashIterator position;
	JoinedColumns	 *total;
	bool			  begun;
	uint32			  unchecked;

	/* Sorting. */
	Tuplesortstate *sort; /* NULL: not yet */
	SortSupport		compared;
	MemoryContext	per_group;
	JoinedColumns	group;
	bool			performed;
	bool			pending; /* `stored` has the next row */
};

/* All NULL. */
static JoinedColumns *
make_columns(const TbJoinedGroups *groups, MemoryContext context)
{
	int			   count = groups->desc->natts;
	JoinedColumns *columns = MemoryContextAlloc(context,
												sizeof(JoinedColumns) +
													count * (sizeof(Datum) + sizeof(bool)));

	columns->values = (Datum *) (columns + 1);
	columns->isnull = (bool *) (columns->values + count);
	memset(columns->isnull, true, count * sizeof(bool));
	return columns;
}

/* Copies the row's values that are not NULL, unless there is one already. */
static void
fill_columns(const TbJoinedGroups *groups, JoinedColumns *columns, MemoryContext context,
			 TupleTableSlot *row)
{
	MemoryContext old = MemoryContextSwitchTo(context);

	slot_getallattrs(row);
	for (int i = 0; i < groups->desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(groups->desc, i);

		if (row->tts_isnull[i] || !columns->isnull[i])
			continue;
		columns->values[i] = datumCopy(row->tts_values[i], att->attbyval, att->attlen);
		columns->isnull[i] = false;
	}
	MemoryContextSwitchTo(old);
}

/* The columns that are there, over those that the slot has. */
static void
overlay(const TbJoinedGroups *groups, const JoinedColumns *columns, TupleTableSlot *slot)
{
	for (int i = 0; i < groups->desc->natts; i++)
	{
		if (columns->isnull[i])
			continue;
		slot->tts_values[i] = columns->values[i];
		slot->tts_isnull[i] = false;
	}
}

/* ---- Hashing ---- */

static Oid *
collations_of(const TbJoinedGroups *groups)
{
	Oid *collations = palloc(sizeof(Oid) * groups->keys->count);

	for (int key = 0; key < groups->keys->count; key++)
		collations[key] = TupleDescAttr(groups->desc, groups->keys->columns[key] - 1)
							  ->attcollation;
	return collations;
}

static void
make_join_table(TbJoinedGroups *groups)
{
	const TbGroupKeys *keys = groups->keys;
	Oid				  *functions;
	FmgrInfo		  *hashes;

	groups->table_context = AllocSetContextCreate(groups->context,
												  "pg_turbine joined groups table",
												  ALLOCSET_DEFAULT_SIZES);
	execTuplesHashPrepare(keys->count, keys->equal, &functions, &hashes);
	groups->table = TB_BUILD_TUPLE_HASH_TABLE(groups->node, groups->desc, keys->count,
											  keys->columns, functions, hashes,
											  collations_of(groups), FIRST_BUCKETS,
											  groups->table_context, groups->per_row);
}

static void
add_to_table(TbJoinedGroups *groups, TupleTableSlot *row)
{
	bool		   isnew;
	TupleHashEntry entry = LookupTupleHashEntry(groups->table, row, &isnew, NULL);

	/* A new entry has a copy of the row. */
	if (isnew)
	{
		TB_ENTRY_DATA(groups->table, entry) = NULL;
		return;
	}
	if (TB_ENTRY_DATA(groups->table, entry) == NULL)
		TB_ENTRY_DATA(groups->table, entry) = make_columns(groups, groups->table_context);
	fill_columns(groups, TB_ENTRY_DATA(groups->table, entry), groups->table_context, row);
}

static bool
next_of_table(TbJoinedGroups *groups, TupleTableSlot *slot)
{
	TupleHashEntry entry;

	if (!groups->begun)
		InitTupleHashIterator(groups->table, &groups->position);
	groups->begun = true;
	entry = ScanTupleHashTable(groups->table, &groups->position);
	if (entry == NULL)
		return false;
	/* The first plan's columns and the keys, then the others'. */
	ExecStoreMinimalTuple(entry->firstTuple, groups->stored, false);
	slot_getallattrs(groups->stored);
	memcpy(slot->tts_values, groups->stored->tts_values,
		   sizeof(Datum) * groups->desc->natts);
	memcpy(slot->tts_isnull, groups->stored->tts_isnull,
		   sizeof(bool) * groups->desc->natts);
	if (TB_ENTRY_DATA(groups->table, entry) != NULL)
		overlay(groups, TB_ENTRY_DATA(groups->table, entry), slot);
	return true;
}

/* ---- Sorting ---- */

static void
begin_sort(TbJoinedGroups *groups)
{
	const TbGroupKeys *keys = groups->keys;
	Oid				  *collations = collations_of(groups);
	bool			  *nulls_first = palloc0(sizeof(bool) * keys->count);

	groups->sort = tuplesort_begin_heap(groups->desc, keys->count, keys->columns,
										keys->less, collations, nulls_first, work_mem, NULL,
										TUPLESORT_NONE);
	/* For rows that follow each other. */
	groups->compared = palloc0(sizeof(SortSupportData) * keys->count);
	for (int key = 0; key < keys->count; key++)
	{
		groups->compared[key].ssup_cxt = groups->context;
		groups->compared[key].ssup_collation = collations[key];
		groups->compared[key].ssup_attno = keys->columns[key];
		PrepareSortSupportFromOrderingOp(keys->less[key], &groups->compared[key]);
	}
	groups->per_group = AllocSetContextCreate(groups->context, "pg_turbine joined group",
											  ALLOCSET_SMALL_SIZES);
	groups->group = *make_columns(groups, groups->context);
}

/* What the table has becomes rows of the sort. */
static void
sort_instead(TbJoinedGroups *groups)
{
	TupleTableSlot *row = MakeSingleTupleTableSlot(groups->desc, &TTSOpsVirtual);

	begin_sort(groups);
	while (next_of_table(groups, row))
	{
		CHECK_FOR_INTERRUPTS();
		ExecStoreVirtualTuple(row);
		tuplesort_puttupleslot(groups->sort, row);
		ExecClearTuple(row);
	}
	ExecDropSingleTupleTableSlot(row);
	ExecClearTuple(groups->stored);
	groups->table = NULL;
	MemoryContextDelete(groups->table_context);
}

/* Whether the row in `stored` has the keys of the group. */
static bool
is_of_group(const TbJoinedGroups *groups)
{
	if (TB_MUTANT(sorted_groups_apart))
		return false;
	for (int key = 0; key < groups->keys->count; key++)
	{
		SortSupport compared = &groups->compared[key];
		int			column = compared->ssup_attno - 1;
		bool		isnull;
		Datum		value = slot_getattr(groups->stored, column + 1, &isnull);

		if (ApplySortComparator(groups->group.values[column], groups->group.isnull[column],
								value, isnull, compared) != 0)
			return false;
	}
	return true;
}

static bool
next_sorted(TbJoinedGroups *groups, TupleTableSlot *slot)
{
	/* The first row of the next group. */
	if (!groups->performed)
	{
		tuplesort_performsort(groups->sort);
		groups->performed = true;
		groups->pending = tuplesort_gettupleslot(groups->sort, true, false, groups->stored,
												 NULL);
	}
	if (!groups->pending)
		return false;
	MemoryContextReset(groups->per_group);
	memset(groups->group.isnull, true, sizeof(bool) * groups->desc->natts);
	/* All rows of the group. */
	do
	{
		CHECK_FOR_INTERRUPTS();
		fill_columns(groups, &groups->group, groups->per_group, groups->stored);
		groups->pending = tuplesort_gettupleslot(groups->sort, true, false, groups->stored,
												 NULL);
	} while (groups->pending && is_of_group(groups));
	overlay(groups, &groups->group, slot);
	return true;
}

/* ---- Both ---- */

TbJoinedGroups *
tb_joined_groups_begin(PlanState *node, TupleDesc desc, const TbGroupKeys *keys)
{
	MemoryContext	context = AllocSetContextCreate(CurrentMemoryContext,
													"pg_turbine joined groups",
													ALLOCSET_DEFAULT_SIZES);
	MemoryContext	old = MemoryContextSwitchTo(context);
	TbJoinedGroups *groups = palloc0(sizeof(TbJoinedGroups));

	groups->node = node;
	groups->desc = desc;
	groups->keys = keys;
	groups->context = context;
	groups->per_row = AllocSetContextCreate(context, "pg_turbine joined row",
											ALLOCSET_SMALL_SIZES);
	groups->stored = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	if (keys->count > 0 && keys->hashable)
		make_join_table(groups);
	else if (keys->count > 0)
		begin_sort(groups);
	MemoryContextSwitchTo(old);
	return groups;
}

static bool
outgrows_memory(TbJoinedGroups *groups)
{
	if (++groups->unchecked < MEMORY_CHECK)
		return false;
	groups->unchecked = 0;
	return MemoryContextMemAllocated(groups->table_context, true) > get_hash_memory_limit();
}

void
tb_joined_groups_add(TbJoinedGroups *groups, TupleTableSlot *row)
{
	MemoryContext old = MemoryContextSwitchTo(groups->context);

	MemoryContextReset(groups->per_row);
	if (groups->sort != NULL)
		tuplesort_puttupleslot(groups->sort, row);
	else if (groups->table != NULL)
	{
		add_to_table(groups, row);
		if (outgrows_memory(groups))
			sort_instead(groups);
	}
	else
	{
		if (groups->total == NULL)
			groups->total = make_columns(groups, groups->context);
		fill_columns(groups, groups->total, groups->context, row);
	}
	MemoryContextSwitchTo(old);
}

bool
tb_joined_groups_next(TbJoinedGroups *groups, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(groups->context);
	bool		  found;

	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, sizeof(bool) * groups->desc->natts);
	if (groups->sort != NULL)
		found = next_sorted(groups, slot);
	else if (groups->table != NULL)
		found = next_of_table(groups, slot);
	else
	{
		found = groups->total != NULL && !groups->begun;
		groups->begun = true;
		if (found)
			overlay(groups, groups->total, slot);
	}
	MemoryContextSwitchTo(old);
	return found;
}

bool
tb_joined_groups_are_sorted(const TbJoinedGroups *groups)
{
	return groups->sort != NULL;
}

void
tb_joined_groups_end(TbJoinedGroups *groups)
{
	ExecDropSingleTupleTableSlot(groups->stored);
	if (groups->sort != NULL)
		tuplesort_end(groups->sort);
	MemoryContextDelete(groups->context);
}
