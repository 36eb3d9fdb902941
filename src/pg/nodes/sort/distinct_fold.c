/*
 * distinct_fold.c - see distinct_fold.h. Called by GpuSort's planning.
 *
 * The groups of GROUP BY are partitions of a window pass. Its functions, over whole
 * partitions, count and add distinct values and combine the states of plain aggregates;
 * then the first row of each partition stays. Backends do the same in a hash table
 * (aggregate/set_fold.h), one group after the other and within hash_mem; the engine with
 * all threads, before anything is returned, so that an order with a limit can follow.
 */
#include "postgres.h"

#include "pg/nodes/sort/distinct_fold.h"

static const TbProgram *
program_of(const TbAggAnalysis *groups)
{
	return ((const TbStage *) llast(groups->stages))->program;
}

bool
tb_distinct_fold_qualifies(const TbAggAnalysis *groups, const char **reason)
{
	const TbOutput *distinct = &groups->outputs[list_length(groups->keys) - 1];
	ListCell	   *lc;

	if (groups->folds || groups->request.sets != NIL || list_length(groups->keys) < 2)
	{
		*reason =
			"values of aggregates with DISTINCT are made of groups when these have come back";
		return false;
	}
	foreach(lc, groups->distincts)
		if (((const TbDistinct *) lfirst(lc))->counter != TB_NONE ||
			distinct->display != TB_NONE)
		{
			*reason =
				"DISTINCT aggregates of several filters, or of numerics that print differently";
			return false;
		}
	return true;
}

typedef struct Folder
{
	TbSortInput		*input;
	TbResultBuilder *builder;
	int				 nkeys; /* that of DISTINCT included */
} Folder;

static uint32
add_fold_function(const Folder *folder, TbWindowKind kind, uint32 column, bool narrow)
{
	TbWindowFunction function = {.kind = kind,
								 .arg = column,
								 .other = TB_NONE,
								 .filter = TB_NONE,
								 .n = narrow};

	return tb_result_add_function(folder->builder, &function);
}

static uint32
fold_state(const Folder *folder, uint32 kind, uint32 column, bool narrow)
{
	switch (kind)
	{
		case TB_AGG_MIN:
			return add_fold_function(folder, TB_WINDOW_MIN, column, false);
		case TB_AGG_MAX:
			return add_fold_function(folder, TB_WINDOW_MAX, column, false);
		default:
			return add_fold_function(folder, TB_WINDOW_SUM, column, narrow);
	}
}

/* The column of the folded value: of a state of the program, or one of DISTINCT. */
static uint32
fold_column(const Folder *folder, uint32 column)
{
	const TbAggAnalysis *groups = folder->input->groups;
	const TbProgram		*program = program_of(groups);
	const TbAgg *aggs = (const TbAgg *) ((const char *) program + program->aggs.offset);
	uint32		 state = column - folder->nkeys;
	const TbDistinct *distinct;

	Assert(column >= folder->nkeys);
	if (state < program->aggs.count)
		return fold_state(folder, aggs[state].kind, column,
						  aggs[state].kind == TB_AGG_COUNT ||
							  aggs[state].kind == TB_AGG_SUM_INT);
	distinct = list_nth(groups->distincts, state - program->aggs.count);
	if (distinct->kind == TB_AGG_COUNT)
		return add_fold_function(folder, TB_WINDOW_COUNT, distinct->column, false);
	return fold_state(folder, distinct->kind, distinct->column, false);
}

static void
fold_output(const Folder *folder, TbOutput *output, bool is_key)
{
	if (!is_key)
	{
		output->first = fold_column(folder, output->first);
		if (output->kind == TB_OUT_AVG_NUMERIC || output->kind == TB_OUT_AVG_FLOAT8 ||
			output->kind == TB_OUT_EXTREME_NUMERIC)
			output->second = fold_column(folder, output->second);
	}
	else if (output->first == folder->nkeys - 1)
		/* Nobody sees the key of DISTINCT, of which a row has any. */
		output->kind = TB_OUT_COMPUTED_KEY;
	if (output->display == TB_NONE)
		return;
	output->display = fold_column(folder, output->display);
	if (is_key)
		output->least_display = fold_column(folder, output->least_display);
}

void
tb_distinct_fold_add(TbSortInput *input, TbResultBuilder *builder)
{
	Folder			  folder = {.input = input,
								.builder = builder,
								.nkeys = list_length(input->groups->keys)};
	TbWindowPass	  pass = {.npartition = folder.nkeys - 1,
							  .start_limit = TB_NONE,
							  .end_limit = TB_NONE,
							  .frame_mode = TB_FRAME_ROWS,
							  .start_bound = TB_BOUND_UNBOUNDED_PRECEDING,
							  .end_bound = TB_BOUND_UNBOUNDED_FOLLOWING};
	TbResultCondition first = {.bound = 1};
	List			 *keys = NIL;
	ListCell		 *lc;

	for (int i = 0; i < folder.nkeys - 1; i++)
	{
		TbSortKey *key = palloc0(sizeof(TbSortKey));

		key->column = i;
		keys = lappend(keys, key);
	}
	tb_result_add_pass(builder, &pass, keys);
	foreach(lc, input->columns.outputs)
		fold_output(&folder, lfirst(lc), foreach_current_index(lc) < folder.nkeys);
	first.column = add_fold_function(&folder, TB_WINDOW_ROW_NUMBER, TB_NONE, false);
	tb_result_add_condition(builder, &first);
}
