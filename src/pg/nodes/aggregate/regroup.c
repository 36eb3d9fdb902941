/*
 * regroup.c - see regroup.h. Called by the planning of GpuPreAgg.
 *
 * The second program groups the first one's groups by all keys but the last, that of
 * DISTINCT: it counts and adds this, and adds and compares the states of plain aggregates.
 * It must leave alone what depends on the order or the number of additions, and keys that
 * print differently though they are equal.
 */
#include "postgres.h"

#include "pg/nodes/aggregate/regroup.h"

/* Backends fold some million groups a second; a program that is not compiled yet takes tens
 * of milliseconds. */
#define LEAST_GROUPS 10000

typedef struct Regrouper
{
	const TbAggAnalysis *groups;
	const TbProgram		*program; /* that makes the groups */
	const TbAgg			*aggs;
	TbBuilder			*builder;
	uint32				 nkeys; /* that of DISTINCT included */
} Regrouper;

static bool
states_combine(const Regrouper *r)
{
	for (uint32 i = 0; i < r->program->aggs.count; i++)
		if (r->aggs[i].kind == TB_AGG_SUM_FLOAT)
			return false;
	return true;
}

static bool
qualifies(const Regrouper *r)
{
	const TbAggAnalysis *groups = r->groups;
	ListCell			*lc;

	if (groups->distincts == NIL || groups->folds || groups->request.sets != NIL ||
		groups->computed != NIL || groups->computed_states != NIL || groups->hidden != 0 ||
		groups->group_filters != NIL || groups->groups < LEAST_GROUPS)
		return false;
	if (groups->outputs[r->nkeys - 1].display != TB_NONE)
		return false;
	foreach(lc, groups->distincts)
		if (((const TbDistinct *) lfirst(lc))->counter != TB_NONE)
			return false;
	return states_combine(r);
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

	return r->nkeys - 1 + tb_builder_add_agg(r->builder, kind, &value, NULL);
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
	if (is_key)
	{
		/* Nobody sees the key of DISTINCT, which no group has any more. */
		if (output->first == r->nkeys - 1)
			output->kind = TB_OUT_COMPUTED_KEY;
	}
	else
	{
		if (output->kind == TB_OUT_VALUE && is_count(r, output->first))
			output->kind = TB_OUT_COUNT;
		output->first = regrouped_state(r, output->first);
		if (output->kind == TB_OUT_AVG_NUMERIC || output->kind == TB_OUT_EXTREME_NUMERIC)
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

	for (uint32 key = 0; key + 1 < r->nkeys; key++)
	{
		TbValue value = group_column(r, key);

		tb_builder_add_key(r->builder, &value);
	}
	for (int i = 0; i < noutputs; i++)
	{
		outputs[i] = r->groups->outputs[i];
		regroup_output(r, &outputs[i], i < (int) r->nkeys);
	}
	return outputs;
}

TbSecondProgram *
tb_regroup_make(const TbAggAnalysis *analysis)
{
	TbSecondProgram *result;
	TbOutput		*outputs;
	Regrouper		 r = {.groups = analysis};

	r.program = ((const TbStage *) llast(analysis->stages))->program;
	r.aggs = (const TbAgg *) ((const char *) r.program + r.program->aggs.offset);
	r.nkeys = r.program->keys.count;
	if (!qualifies(&r))
		return NULL;
	r.builder = tb_builder_create(NULL);
	outputs = add_outputs(&r);
	result = tb_second_program_finish(r.builder, analysis->groups, analysis->result_groups);
	if (result == NULL)
		return NULL;
	Assert(result->params == NIL);
	result->outputs = outputs;
	return result;
}
