/*
 * set_fold.c - see set_fold.h.
 *
 * Groups of all keys are added only to sets that no other set contains. Every other set
 * is made when its rows are asked for, from the smallest earlier set that contains it.
 * Sets with more keys come earlier, so a ROLLUP folds fewer groups with every step. A set
 * is freed when no later set will be made from it.
 *
 * A folded group (folded_group.h) has its keys in the hash table's tuple. A set without
 * keys has its one group from the start, since it returns a row even of no input. Sums
 * stay exact. If a sum overflows, or a table outgrows hash_mem, PostgreSQL's plan runs:
 * nobody has seen a row by then. Called by exec.c.
 */
#include "postgres.h"

#include <math.h>

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "pg/nodes/aggregate/computed_columns.h"
#include "pg/nodes/aggregate/folded_group.h"
#include "pg/nodes/aggregate/set_fold.h"
#include "turbine/mutant.h"

/* Groups between two looks at the memory that tables take. */
#define MEMORY_CHECK 1024

#define OUT_OF_RANGE "a sum over folded groups is out of range"
#define KEYS_DIFFER "equal grouping keys look different"

/* Tables grow; most sets have few groups. */
#define FIRST_BUCKETS 64

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
	TbFoldedGroups		 *folded;
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
	/* With the stored keys. */
	return tb_folded_group_bytes(ncolumns) + sizeof(TupleHashEntryData) + 128;
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
	return BuildTupleHashTableExt(fold->node, desc, count, columns, functions, hashes,
								  collations, FIRST_BUCKETS, 0, table->context,
								  table->context, fold->per_row, false);
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
		table->total = tb_folded_group_make(fold->folded, table->context, table->set);
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

	fold->context = context;
	fold->node = node;
	fold->sets = sets;
	fold->outputs = outputs;
	fold->noutputs = noutputs;
	fold->folded = tb_folded_groups_make(sets, program);
	fold->per_row = AllocSetContextCreate(context, "pg_turbine folded group",
										  ALLOCSET_SMALL_SIZES);
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
		entry->additional = tb_folded_group_make(fold->folded, table->context, table->set);
	else if (fold->sets->ncomputed > 0)
	{
		ExecStoreMinimalTuple(entry->firstTuple, fold->stored_keys, false);
		if (!tb_computed_keys_are_alike(fold->stored_keys, fold->keys, fold->sets->nkeys))
			return NULL;
	}
	return entry->additional;
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
			!tb_folded_group_add_whole(fold->folded, table->context, group, batch, row,
									   values + fold->sets->nkeys,
									   isnull + fold->sets->nkeys))
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
	return *entry != NULL ? (*entry)->additional : NULL;
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

	make_table(fold, table);
	from->begun = false;
	while ((group = next_table_group(from, &entry)) != NULL)
	{
		bool isnull[TB_MAX_KEYS];

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(fold->per_row);
		get_keys(fold, from, entry, fold->keys->tts_values, isnull);
		to = find_group(fold, table, isnull);
		if (to == NULL || !tb_folded_group_add(fold->folded, table->context, to, group))
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
					 tb_folded_group_view(fold->folded, group), 0, values + nkeys,
					 isnull + nkeys);
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
