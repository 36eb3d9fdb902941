/*
 * program_serialize.c - makes a serialized program of what a builder holds.
 *
 * Marks what is reachable, renumbers it in order of creation (so operands stay
 * before their users; columns of the source before those of joins) and writes the
 * sections. Called by whoever plans a program, once all has been added.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "mb/pg_wchar.h"

#include "pg/planner/program/program_builder_state.h"
#include "pg/planner/program/tuple_layout.h"
#include "pg/shmem/cache_advice.h"

/* What an aggregate's state, a key or an output adds to the code, in expressions. */
#define NODES_OF_RESULT 4

/* Old index -> new index of what is reachable; TB_NONE for the rest. */
typedef struct Renumbering
{
	uint32 *exprs;
	uint32	nexprs;
	uint32	nargs;
	uint32 *columns;
	uint32	ncolumns;
	uint32	nsource; /* of them: the source's, which come first */
	uint32 *params;
	uint32	nparams;
} Renumbering;

static uint32 *
all_none(uint32 count)
{
	uint32 *array = palloc(sizeof(uint32) * Max(count, 1));

	memset(array, 0xff, sizeof(uint32) * Max(count, 1));
	return array;
}

/* Operands have smaller indexes, so one pass from the end marks everything. */
static void
mark_reachable(TbBuilder *b, bool *live)
{
	ListCell *lc;

	/* What the program uses directly. */
	foreach(lc, b->filters)
		live[lfirst_int(lc)] = true;
	foreach(lc, b->keys)
		live[lfirst_int(lc)] = true;
	foreach(lc, b->outputs)
		live[lfirst_int(lc)] = true;
	foreach(lc, b->joins)
	{
		const BuilderJoin *join = lfirst(lc);
		ListCell		  *key;

		foreach(key, join->keys)
			live[lfirst_int(key)] = true;
		if (join->join.residual != TB_NONE)
			live[join->join.residual] = true;
	}
	for (uint32 i = 0; i < b->agg_list.count; i++)
	{
		if (b->aggs[i].arg != TB_NONE)
			live[b->aggs[i].arg] = true;
		if (b->aggs[i].filter != TB_NONE)
			live[b->aggs[i].filter] = true;
	}
	/* And what that is made of. */
	for (uint32 i = b->expr_list.count; i-- > 0;)
	{
		for (int a = 0; live[i] && a < b->exprs[i].expr.nargs; a++)
			live[b->exprs[i].args[a]] = true;
	}
}

static void
renumber(TbBuilder *b, Renumbering *r)
{
	bool	 *live = palloc0(Max(b->expr_list.count, 1));
	ListCell *lc;

	memset(r, 0, sizeof(*r));
	r->exprs = all_none(b->expr_list.count);
	r->columns = all_none(b->column_list.count);
	r->params = all_none(b->param_list.count);
	mark_reachable(b, live);
	for (uint32 i = 0; i < b->expr_list.count; i++)
	{
		const TbExpr *e = &b->exprs[i].expr;

		if (!live[i])
			continue;
		r->exprs[i] = r->nexprs++;
		r->nargs += e->nargs;
		if (e->op == TB_EXPR_PARAM)
			r->params[e->index] = r->nparams++;
		if (e->op == TB_EXPR_COLUMN && b->columns[e->index].join == 0)
		{
			uint32 missing = b->columns[e->index].missing_param;

			r->columns[e->index] = r->ncolumns++;
			if (missing != TB_NONE)
				r->params[missing] = r->nparams++;
		}
	}
	r->nsource = r->ncolumns;
	for (int join = 1; join <= list_length(b->joins); join++)
		for (uint32 i = 0; i < b->column_list.count; i++)
			if (live[b->column_values[i].expr] && b->columns[i].join == join)
				r->columns[i] = r->ncolumns++;
	/* Keys of joins are operand lists too. */
	foreach(lc, b->joins)
		r->nargs += list_length(((BuilderJoin *) lfirst(lc))->keys);
}

/* Reserves a section at the end of the blob. */
static TbSection
reserve(uint32 *total, uint32 count, Size element)
{
	TbSection section;

	section.count = count;
	section.offset = *total;
	*total += TYPEALIGN(8, count * element);
	return section;
}

static void
write_indexes(char *blob, TbSection section, const List *list, const Renumbering *r)
{
	uint32	 *out = (uint32 *) (blob + section.offset);
	ListCell *lc;

	foreach(lc, list)
		*out++ = r->exprs[lfirst_int(lc)];
}

/* Keys go behind the operands of expressions. */
static void
write_joins(TbBuilder *b, TbProgram *program, const Renumbering *r, uint32 next_arg)
{
	char	 *blob = (char *) program;
	TbJoin	 *joins = (TbJoin *) (blob + program->joins.offset);
	uint32	 *args = (uint32 *) (blob + program->args.offset);
	ListCell *lc;

	foreach(lc, b->joins)
	{
		const BuilderJoin *from = lfirst(lc);
		TbJoin			   join = from->join;
		ListCell		  *key;

		join.nkeys = list_length(from->keys);
		if (join.nkeys > 0)
			join.first_key = next_arg;
		foreach(key, from->keys)
			args[next_arg++] = r->exprs[lfirst_int(key)];
		if (join.residual != TB_NONE)
			join.residual = r->exprs[join.residual];
		*joins++ = join;
	}
}

static void
write_exprs(TbBuilder *b, TbProgram *program, const Renumbering *r)
{
	char   *blob = (char *) program;
	TbExpr *exprs = (TbExpr *) (blob + program->exprs.offset);
	uint32 *args = (uint32 *) (blob + program->args.offset);
	uint32	next_arg = 0;

	for (uint32 i = 0; i < b->expr_list.count; i++)
	{
		TbExpr e = b->exprs[i].expr;

		if (r->exprs[i] == TB_NONE)
			continue;
		if (e.op == TB_EXPR_COLUMN)
			e.index = r->columns[e.index];
		else if (e.op == TB_EXPR_PARAM)
			e.index = r->params[e.index];
		if (e.nargs > 0)
			e.first_arg = next_arg;
		for (int a = 0; a < e.nargs; a++)
			args[next_arg++] = r->exprs[b->exprs[i].args[a]];
		exprs[r->exprs[i]] = e;
	}
	write_joins(b, program, r, next_arg);
}

/* The new number of the first column of the join. */
static uint32
first_payload(const TbBuilder *b, const Renumbering *r, uint16 join)
{
	uint32 first = TB_NONE;

	for (uint32 i = 0; i < b->column_list.count; i++)
		if (b->columns[i].join == join)
			first = Min(first, r->columns[i]);
	return first;
}

static void
write_columns(TbBuilder *b, TbProgram *program, const Renumbering *r)
{
	char		*blob = (char *) program;
	TbColumn	*columns = (TbColumn *) (blob + program->columns.offset);
	TbAttribute *atts = (TbAttribute *) (blob + program->attributes.offset);

	if (b->desc != NULL)
		tb_describe_tuple(b->desc, atts);
	for (uint32 i = 0; i < b->column_list.count; i++)
	{
		TbColumn column = b->columns[i];

		if (r->columns[i] == TB_NONE)
			continue;
		if (column.missing_param != TB_NONE)
			column.missing_param = r->params[column.missing_param];
		/* Rows are sent with just these columns; a table has just these outputs. */
		if (column.join != 0)
			column.attnum = r->columns[i] - first_payload(b, r, column.join) + 1;
		else if (b->desc == NULL)
			column.attnum = r->columns[i] + 1;
		columns[r->columns[i]] = column;
	}
}

static void
write_aggs(TbBuilder *b, TbProgram *program, const Renumbering *r)
{
	TbAgg *aggs = (TbAgg *) ((char *) program + program->aggs.offset);

	for (uint32 i = 0; i < b->agg_list.count; i++)
	{
		aggs[i] = b->aggs[i];
		if (aggs[i].arg != TB_NONE)
			aggs[i].arg = r->exprs[aggs[i].arg];
		if (aggs[i].filter != TB_NONE)
			aggs[i].filter = r->exprs[aggs[i].filter];
	}
}

static List *
write_params(TbBuilder *b, TbProgram *program, const Renumbering *r)
{
	TbParamShape *shapes = (TbParamShape *) ((char *) program + program->params.offset);
	Expr		**exprs = palloc(sizeof(Expr *) * Max(r->nparams, 1));
	List		 *result = NIL;

	for (uint32 i = 0; i < b->param_list.count; i++)
	{
		if (r->params[i] == TB_NONE)
			continue;
		shapes[r->params[i]] = b->params[i].shape;
		exprs[r->params[i]] = b->params[i].expr;
	}
	for (uint32 i = 0; i < r->nparams; i++)
		result = lappend(result, exprs[i]);
	return result;
}

static bool
within_limits(const TbBuilder *b, const Renumbering *r)
{
	return (b->desc == NULL || b->desc->natts <= TB_MAX_ATTRIBUTES) &&
		list_length(b->joins) <= TB_MAX_JOINS &&
		list_length(b->outputs) <= TB_MAX_OUTPUTS && r->ncolumns <= TB_MAX_COLUMNS &&
		r->nexprs <= TB_MAX_EXPRS && list_length(b->keys) <= TB_MAX_KEYS &&
		b->agg_list.count <= TB_MAX_AGGS && r->nparams <= TB_MAX_PARAMS;
}

static uint32
expr_cost(const TbBuilder *b, uint32 expr)
{
	return expr == TB_NONE ? 0 : b->exprs[expr].expr.cost;
}

/* Attributes whose place in the tuple follows only from those before them. */
static int
count_walked(const TbBuilder *b, int last_attnum)
{
	for (int i = 0; b->desc != NULL && i < last_attnum; i++)
		if (TupleDescAttr(b->desc, i)->attlen < 0)
			return last_attnum - i - 1;
	return 0;
}

static void
estimate_decoding(const TbBuilder *b, const Renumbering *r, TbProgramCost *cost)
{
	int last_attnum = 0;

	cost->columns = (int) r->nsource;
	for (uint32 i = 0; i < b->column_list.count; i++)
	{
		const TbColumn *column = &b->columns[i];

		if (r->columns[i] == TB_NONE || column->join != 0)
			continue;
		last_attnum = Max(last_attnum, column->attnum);
		cost->numerics += tb_type_is_numeric(column->type);
		cost->texts += tb_type_is_text(column->type);
	}
	cost->walked = count_walked(b, last_attnum);
}

/* As the compiler decides: require_supported in src/compiler/codegen/accumulators.cc. */
static bool
lacks_gpu_code(const TbAgg *agg)
{
	if (agg->kind == TB_AGG_SUM_INT)
		return agg->type == TB_TYPE_INT8;
	return (agg->kind == TB_AGG_MIN || agg->kind == TB_AGG_MAX) &&
		agg->type == TB_TYPE_NUM128;
}

static void
estimate(const TbBuilder *b, const Renumbering *r, TbProgramCost *cost)
{
	ListCell *lc;

	memset(cost, 0, sizeof(*cost));
	/* Reading the source. */
	estimate_decoding(b, r, cost);
	cost->nodes = r->nexprs +
		NODES_OF_RESULT *
			(b->agg_list.count + list_length(b->keys) + list_length(b->outputs));
	/* Work for each row. */
	foreach(lc, b->filters)
		cost->filters += expr_cost(b, lfirst_int(lc));
	foreach(lc, b->keys)
		cost->others += expr_cost(b, lfirst_int(lc)) + 10;
	for (uint32 i = 0; i < b->agg_list.count; i++)
		cost->others += expr_cost(b, b->aggs[i].arg) + expr_cost(b, b->aggs[i].filter) + 3;
	foreach(lc, b->outputs)
		cost->others += expr_cost(b, lfirst_int(lc)) + 3;
	foreach(lc, b->joins)
	{
		const BuilderJoin *join = lfirst(lc);
		ListCell		  *key;

		foreach(key, join->keys)
			cost->probes += expr_cost(b, lfirst_int(key));
		cost->probes += expr_cost(b, join->join.residual);
	}
	/* Is there GPU code for it? */
	for (uint32 i = 0; i < b->agg_list.count; i++)
		cost->host_only |= lacks_gpu_code(&b->aggs[i]);
	/* May a GPU's digits differ? */
	for (uint32 i = 0; i < b->expr_list.count; i++)
	{
		const TbExpr *e = &b->exprs[i].expr;

		if (r->exprs[i] != TB_NONE &&
			(e->op == TB_EXPR_CALL || e->op == TB_EXPR_IS_DISTINCT ||
			 e->op == TB_EXPR_ANY || e->op == TB_EXPR_ALL) &&
			(tb_functions[e->index].flags & TB_FN_INEXACT))
			cost->inexact = true;
	}
}

static TbAttributes
attributes_of(const TbProgram *program)
{
	const TbColumn *columns = (const TbColumn *) ((const char *) program +
												  program->columns.offset);
	TbAttributes	result = program->sink == TB_SINK_ROWS ? tb_attribute(0) : 0;

	for (uint32 i = 0; i < program->columns.count; i++)
		if (columns[i].join == 0)
			result |= tb_attribute(columns[i].attnum);
	return result;
}

TbProgram *
tb_builder_finish(TbBuilder *builder, TbSink sink, List **params, TbProgramCost *cost)
{
	Renumbering r;
	TbProgram	header = {0};
	TbProgram  *program;
	uint32		total = sizeof(TbProgram);

	renumber(builder, &r);
	if (!within_limits(builder, &r))
		return NULL;
	if (sink == TB_SINK_ROWS && builder->filters == NIL)
		return NULL;
	estimate(builder, &r, cost);

	/* The header. */
	header.magic = TB_PROGRAM_MAGIC;
	header.version = TB_PROGRAM_VERSION;
	header.sink = sink;
	header.source = builder->of_files ? TB_SOURCE_FILES :
		builder->desc != NULL		  ? TB_SOURCE_HEAP :
										TB_SOURCE_ROWS;
	header.flags = builder->keep_null_keys ? TB_PROGRAM_KEEPS_NULL_KEYS : 0;
	header.encoding = GetDatabaseEncoding();
	/* Places of the sections. */
	header.attributes = reserve(&total, builder->desc ? builder->desc->natts : 0,
								sizeof(TbAttribute));
	header.columns = reserve(&total, r.ncolumns, sizeof(TbColumn));
	header.exprs = reserve(&total, r.nexprs, sizeof(TbExpr));
	header.args = reserve(&total, r.nargs, sizeof(uint32));
	header.filters = reserve(&total, list_length(builder->filters), sizeof(uint32));
	header.keys = reserve(&total, list_length(builder->keys), sizeof(uint32));
	header.aggs = reserve(&total, builder->agg_list.count, sizeof(TbAgg));
	header.params = reserve(&total, r.nparams, sizeof(TbParamShape));
	header.outputs = reserve(&total, list_length(builder->outputs), sizeof(uint32));
	header.joins = reserve(&total, list_length(builder->joins), sizeof(TbJoin));
	header.total_size = total;

	/* Write the sections. */
	program = palloc0(total);
	*program = header;
	write_columns(builder, program, &r);
	write_exprs(builder, program, &r);
	write_indexes((char *) program, program->filters, builder->filters, &r);
	write_indexes((char *) program, program->keys, builder->keys, &r);
	write_indexes((char *) program, program->outputs, builder->outputs, &r);
	write_aggs(builder, program, &r);
	*params = write_params(builder, program, &r);
	/* What costs need to know. */
	cost->rows = sink == TB_SINK_ROWS;
	cost->shape = hash_bytes_extended((const unsigned char *) program, total, 0);
	if (builder->desc != NULL)
		cost->attributes = attributes_of(program);
	return program;
}

List *
tb_builder_row_columns(const TbBuilder *builder)
{
	Renumbering r;
	List	   *result = NIL;

	renumber(unconstify(TbBuilder *, builder), &r);
	for (uint32 number = 0; number < r.nsource; number++)
		for (uint32 i = 0; i < builder->column_list.count; i++)
			if (r.columns[i] == number)
				result = lappend_int(result, builder->columns[i].attnum);
	return result;
}

/* In the order of the columns in the program. */
List *
tb_builder_used_outputs(const TbBuilder *builder, uint32 join)
{
	Renumbering r;
	List	   *result = NIL;

	renumber(unconstify(TbBuilder *, builder), &r);
	for (uint32 i = 0; i < builder->column_list.count; i++)
		if (r.columns[i] != TB_NONE && builder->columns[i].join == join + 1)
			result = lappend_int(result, builder->columns[i].attnum - 1);
	return result;
}

void
tb_builder_keep_outputs(TbBuilder *builder, const List *numbers)
{
	List	 *kept = NIL;
	ListCell *lc;

	foreach(lc, numbers)
		kept = lappend_int(kept, list_nth_int(builder->outputs, lfirst_int(lc)));
	builder->outputs = kept;
}
