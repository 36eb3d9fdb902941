/*
 * table_input.c - see table_input.h.
 *
 * Owns the index scan that says which blocks can match, and what it said. The executor
 * closes the relation. Called through the methods of input.h, and by stage_input.c for
 * leaves. It must look at parameters in choose() only, and only where something is read: to
 * compute them may raise.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"

#include "pg/cache/cache_load.h"
#include "pg/compat/pg18.h"
#include "pg/source/heap/block_index_scan.h"
#include "pg/source/heap/heap_source.h"
#include "pg/source/heap/table_input.h"

typedef struct TableInput
{
	TbInput			 base;
	EState			*estate;
	TbBlockIndexScan block_index;
	TbBlockSet		*blocks; /* that are read in this run; NULL: all */
} TableInput;

static Relation
relation_of(const TbInput *input)
{
	const TableInput *table = (const TableInput *) input;

	return ExecGetRangeTableRelation(table->estate, table->base.rti, false);
}

static bool
table_input_is_empty(const TbInput *input)
{
	return RelationGetNumberOfBlocks(relation_of(input)) == 0;
}

static bool
table_input_choose(TbInput *input)
{
	TableInput *table = (TableInput *) input;
	BlockNumber first;
	BlockNumber end;

	table->blocks = NULL;
	if (table_input_is_empty(input))
		return false;
	/* A load has no filter, and may be of a part of the table. */
	if (tb_cache_load_range(&first, &end))
	{
		BlockNumber nblocks = RelationGetNumberOfBlocks(relation_of(input));

		table->blocks = tb_block_set_of_range(Min(first, nblocks), Min(end, nblocks),
											  nblocks);
	}
	else
		table->blocks = tb_block_index_scan_run(&table->block_index, relation_of(input));
	return table->blocks == NULL || tb_block_set_count(table->blocks) > 0;
}

static bool
table_input_open(TbInput *input, const TbInputUse *use, List **sources, TbFailure *why)
{
	TbHeapInput heap = {.rel = relation_of(input),
						.snapshot = use->snapshot,
						.blocks = ((TableInput *) input)->blocks,
						.attributes = use->attributes,
						.engine_us = use->engine_us};

	*sources = lappend(*sources, tb_heap_source_make(&heap));
	return true;
}

static void
table_input_close(TbInput *input)
{
	TableInput *table = (TableInput *) input;

	if (table->blocks != NULL)
		tb_block_set_free(table->blocks);
	table->blocks = NULL;
}

static TbIndexUse
table_input_index_use(const TbInput *input)
{
	return ((const TableInput *) input)->block_index.use;
}

static const TbInputMethods table_input_methods = {
	.is_empty = table_input_is_empty,
	.choose = table_input_choose,
	.open = table_input_open,
	.close = table_input_close,
	.index_use = table_input_index_use,
};

TbInput *
tb_table_input_make(CustomScanState *css, Index rti, Plan *index_scan, int eflags)
{
	TableInput *table = palloc0(sizeof(TableInput));

	table->estate = css->ss.ps.state;
	table->base.methods = &table_input_methods;
	table->base.name = get_rel_name(exec_rt_fetch(rti, table->estate)->relid);
	table->base.rti = rti;
	tb_block_index_scan_init(&table->block_index, css, index_scan, eflags);
	return &table->base;
}

bool
tb_table_input_leaf(const TbInput *input, TbHeapLeaf *leaf)
{
	if (input->methods != &table_input_methods)
		return false;
	leaf->rel = relation_of(input);
	leaf->blocks = ((const TableInput *) input)->blocks;
	return true;
}
