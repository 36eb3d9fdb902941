/*
 * regroup.c - see regroup.h. Called by the planning of GpuPreAgg.
 *
 * The second program groups the first one's groups. For aggregates with DISTINCT it
 * groups by all keys but the last, that of DISTINCT. It counts and adds this key, and
 * combines the states of plain aggregates. For grouping sets it gets each group once per
 * set: keys that the set lacks are NULL, and the set's number is its last key.
 *
 * Must decline, with DISTINCT, states that depend on the order of additions (float sums),
 * and keys that print differently though they are equal.
 */
#include "postgres.h"

#include "pg/nodes/aggregate/regroup.h"
#include "pg/settings/guc.h"

/* Backends fold some million groups a second; a program that is not compiled yet takes tens
 * of milliseconds. */
#define LEAST_GROUPS 10000
/* Of grouping sets, whose groups of all keys backends return as they are: how often a group
 * is added to one of a set. Tests need not have as many. */
#define LEAST_ADDITIONS 100000
#define LEAST_FORCED 300

typedef struct Regrouper
{
	const TbAggAnalysis *groups;
	const TbProgram		*program; /* that makes the groups */
	const TbAgg			*aggs;
	TbBuilder			*builder;
	bool				 by_sets;
	uint32				 nkeys;		/* that of DISTINCT included */
	uint32				 new_nkeys; /* without it, and with the number of the set */
} Regrouper;

static bool
states_combine(const Regrouper *r)
{
	for (uint32 i = 0; i < r->program->aggs.count; i++)
		if (r->aggs[i].kind == TB_AGG_SUM_FLOAT)
			return false;
	return true;
}

/* Of sums over groups the order is as free as it is over rows. */
static bool
sets_qualify(const TbAggAnalysis *groups)
{
	return groups->distincts == NIL &&
		groups->folded >= (tb_guc_debug_force_offload ? LEAST_FORCED : LEAST_ADDITIONS) &&
		list_length(groups->keys) < TB_MAX_KEYS;
}

static bool
distincts_qualify(const Regrouper *r)
{
	const TbAggAnalysis *groups = r->groups;
	ListCell			*lc;

	if (groups->distincts == NIL || groups->folds || groups->groups < LEAST_GROUPS)
		return false;
	if (groups->outputs[r->nkeys - 1].display != TB_NONE)
		return false;
	foreach(lc, groups->distincts)
		if (((const TbDistinct *) lfirst(lc))->counter != TB_NONE)
			return false;
	return states_combine(r);
}

static bool
qualifies(const Regrouper *r)
{
	const TbAggAnalysis *groups = r->groups;

	if (groups->computed != NIL || groups->computed_states != NIL || groups->hidden != 0 ||
		groups->group_filters != NIL)
		return false;
	return r->by_sets ? sets_qualify(groups) : distincts_qualify(r);
}

/* A column of the groups. */
static TbValue
group_column(const Regrouper *r, uint32 column)
{
	const uint32 *keys = (const uint32 *) ((const char *) r->program +
										   r->program->keys.offset);
	const TbExpr *exprs = (const TbExpr *) ((const char *) r->program +
											r->program->exprs.offset);
	TbTypeInfo	  info = {0};

	if (column < r->nkeys)
	{
		info.type = exprs[keys[column]].type;
		info.scale = exprs[keys[column]].scale;
		return tb_builder_result_column(r->builder, column, info, true);
	}
	info.type = tb_agg_state_type(&r->aggs[column - r->nkeys]);
	/* That of the argument, which a count does not have. */
	if (tb_type_is_numeric(info.type))
		info.scale = r->aggs[column - r->nkeys].scale;
	return tb_builder_result_column(r->builder, column, info,
									r->aggs[column - r->nkeys].kind != TB_AGG_COUNT);
}

static uint32
add_state(const Regrouper *r, TbAggKind kind, uint32 column)
{
	TbValue value = group_column(r, column);

	return r->new_nkeys + tb_builder_add_agg(r->builder, kind, &value, NULL);
}

/* The column of the second program's groups that the state becomes: of the first program,
 * or one of DISTINCT. */
static uint32
regrouped_state(const Regrouper *r, uint32 column)
{
	uint32			  state = column - r->nkeys;
	const TbDistinct *distinct;

	Assert(column >= r->nkeys);
	if (state < r->program->aggs.count)
		return add_state(r,
						 r->aggs[state].kind == TB_AGG_COUNT ? TB_AGG_SUM_INT :
															   r->aggs[state].kind,
						 column);
	distinct = list_nth(r->groups->distincts, state - r->program->aggs.count);
	return add_state(r, distinct->kind, distinct->column);
}

static bool
is_count(const Regrouper *r, uint32 column)
{
	return column >= r->nkeys && column - r->nkeys < r->program->aggs.count &&
		r->aggs[column - r->nkeys].kind == TB_AGG_COUNT;
}

static void
regroup_output(const Regrouper *r, TbOutput *output, bool is_key)
{
	if (output->kind == TB_OUT_GROUPING)
	{
		output->first = r->new_nkeys - 1;
		output->type = TB_TYPE_INT4;
	}
	else if (is_key)
	{
		/* Nobody sees the key of DISTINCT, which no group has any more. */
		if (output->first >= r->new_nkeys)
			output->kind = TB_OUT_COMPUTED_KEY;
	}
	else
	{
		if (output->kind == TB_OUT_VALUE && is_count(r, output->first))
			output->kind = TB_OUT_COUNT;
		output->first = regrouped_state(r, output->first);
		if (output->kind == TB_OUT_AVG_NUMERIC || output->kind == TB_OUT_AVG_FLOAT8 ||
			output->kind == TB_OUT_EXTREME_NUMERIC)
			output->second = regrouped_state(r, output->second);
	}
	if (output->display == TB_NONE)
		return;
	output->display = regrouped_state(r, output->display);
	if (is_key)
		output->least_display = regrouped_state(r, output->least_display);
}

static TbOutput *
add_outputs(const Regrouper *r)
{
	int		  noutputs = list_length(r->groups->scan_tlist);
	TbOutput *outputs = palloc(sizeof(TbOutput) * noutputs);

	for (uint32 key = 0; key < (r->by_sets ? r->nkeys : r->new_nkeys); key++)
	{
		TbValue value = group_column(r, key);

		tb_builder_add_key(r->builder, &value);
	}
	if (r->by_sets)
	{
		TbTypeInfo info = {.type = TB_TYPE_INT4};
		TbValue number = tb_builder_result_column(r->builder, TB_SET_COLUMN, info, false);

		tb_builder_add_key(r->builder, &number);
	}
	for (int i = 0; i < noutputs; i++)
	{
		outputs[i] = r->groups->outputs[i];
		regroup_output(r, &outputs[i], i < (int) r->nkeys);
	}
	return outputs;
}

/* By columns of the second program's source what the sets are by keys. */
static void
set_sets(const Regrouper *r, TbContinuationProgram *program)
{
	program->nsets = r->groups->nsets;
	program->sets = palloc(sizeof(uint64) * program->nsets);
	for (uint32 set = 0; set < program->nsets; set++)
	{
		program->sets[set] = PG_UINT64_MAX;
		for (uint32 i = 0; i < program->ncolumns; i++)
			if (program->columns[i] < r->nkeys &&
				(r->groups->sets[set] & (UINT64CONST(1) << program->columns[i])) == 0)
				program->sets[set] &= ~(UINT64CONST(1) << i);
	}
}

/* All keys are among the columns that a set tells apart. */
static bool
keys_come_first(const Regrouper *r, const TbContinuationProgram *program)
{
	for (uint32 i = 64; i < program->ncolumns; i++)
		if (program->columns[i] < r->nkeys)
			return false;
	return true;
}

TbSecondProgram *
tb_regroup_make(const TbAggAnalysis *analysis)
{
	TbSecondProgram *result;
	TbOutput		*outputs;
	Regrouper		 r = {.groups = analysis};

	/* Can the engine do it? */
	r.program = ((const TbStage *) llast(analysis->stages))->program;
	r.aggs = (const TbAgg *) ((const char *) r.program + r.program->aggs.offset);
	r.nkeys = r.program->keys.count;
	r.by_sets = analysis->request.sets != NIL;
	r.new_nkeys = r.by_sets ? r.nkeys + 1 : r.nkeys - 1;
	if (!qualifies(&r))
		return NULL;
	/* Make the second program. */
	r.builder = tb_builder_create(NULL);
	outputs = add_outputs(&r);
	result = tb_second_program_finish(r.builder,
									  analysis->groups * (r.by_sets ? analysis->nsets : 1),
									  analysis->result_groups);
	if (result == NULL)
		return NULL;
	/* Which keys each set has. */
	if (r.by_sets)
	{
		set_sets(&r, &result->program);
		if (!keys_come_first(&r, &result->program))
			return NULL;
	}
	Assert(result->params == NIL);
	result->outputs = outputs;
	return result;
}
