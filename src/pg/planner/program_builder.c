/*
 * program_builder.c - makes a serialized program out of nodes.
 *
 * Phases: nodes, filters, joins, keys, outputs and aggregates are appended to arrays; finish
 * marks what is reachable, renumbers it in order of creation (so operands stay
 * before their users) and writes the sections. Knows nothing of PostgreSQL's
 * expressions beyond carrying those of parameters. Called by the translator
 * and the nodes' plan.c.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "catalog/pg_attribute.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "pg/nodes/numeric_format.h"
#include "pg/planner/numeric_statistics.h"
#include "pg/planner/program_builder.h"

typedef struct BuilderNode
{
	TbExpr		expr;
	uint32	   *args;
} BuilderNode;

typedef struct BuilderParam
{
	TbParamShape shape;
	Expr	   *expr;
} BuilderParam;

typedef struct BuilderJoin
{
	TbJoin		join;				/* residual: a node index */
	List	   *keys;				/* int list of node indexes */
} BuilderJoin;

/* Fixed-capacity growth of the builder's arrays. */
typedef struct BuilderList
{
	uint32		count;
	uint32		capacity;
} BuilderList;

struct TbBuilder
{
	TupleDesc	desc;				/* NULL: the source is rows of another plan */
	BuilderNode *nodes;
	BuilderList node_list;
	BuilderParam *params;
	BuilderList param_list;
	TbColumn   *columns;
	BuilderList column_list;
	TbValue    *column_values;		/* one a column */
	TbAgg	   *aggs;
	BuilderList agg_list;
	List	   *filters;			/* int lists of node indexes */
	List	   *keys;
	List	   *outputs;
	List	   *joins;				/* BuilderJoin * */
};

#define GROW(list, array) \
	do { \
		if ((list).count == (list).capacity) \
		{ \
			(list).capacity = (list).capacity ? (list).capacity * 2 : 16; \
			if (array) \
				(array) = repalloc((array), (list).capacity * sizeof(*(array))); \
			else \
				(array) = palloc((list).capacity * sizeof(*(array))); \
		} \
	} while (0)

TbBuilder *
tb_builder_create(TupleDesc desc)
{
	TbBuilder  *builder = palloc0(sizeof(TbBuilder));

	builder->desc = desc;
	return builder;
}

static uint32
add_node(TbBuilder *b, TbExpr expr, uint32 *args)
{
	GROW(b->node_list, b->nodes);
	b->nodes[b->node_list.count].expr = expr;
	b->nodes[b->node_list.count].args = args;
	return b->node_list.count++;
}

static TbValue
make_value(uint32 expr, TbTypeInfo info, bool nullable)
{
	TbValue		value = {0};

	value.expr = expr;
	value.info = info;
	value.nullable = nullable;
	value.display_scale = TB_NONE;
	return value;
}

static uint32
add_param(TbBuilder *b, Expr *expr, TbTypeInfo info, uint8 flags)
{
	BuilderParam param = {0};

	param.shape.type = info.type;
	param.shape.scale = info.scale;
	param.shape.flags = flags;
	param.expr = expr;
	GROW(b->param_list, b->params);
	b->params[b->param_list.count] = param;
	return b->param_list.count++;
}

TbValue
tb_builder_param(TbBuilder *builder, Expr *expr, TbTypeInfo info, uint8 flags)
{
	TbExpr		node = {0};
	TbValue		value;
	bool		nullable = (flags & TB_PARAM_NULLABLE) != 0;

	node.op = TB_EXPR_PARAM;
	node.type = info.type;
	node.scale = info.scale;
	node.flags = nullable ? TB_EX_NULLABLE : 0;
	node.index = add_param(builder, expr, info, flags);
	value = make_value(add_node(builder, node, NULL), info, nullable);
	if (IsA(expr, Const))
		value.constant = (const Const *) expr;
	return value;
}

/* What ALTER TABLE ... ADD COLUMN ... DEFAULT gave to tuples too short to have
 * the attribute. False: NULL. */
static bool
missing_value(TbBuilder *b, AttrNumber attnum, Datum *missing)
{
	bool		isnull = true;

	if (TupleDescAttr(b->desc, attnum - 1)->atthasmissing)
		*missing = getmissingattr(b->desc, attnum, &isnull);
	return !isnull;
}

/* The parameter that holds the missing value; TB_NONE if there is none. False if
 * the engine can not hold it. */
static bool
missing_value_param(TbBuilder *b, AttrNumber attnum, TbTypeInfo info,
					uint32 *param)
{
	Form_pg_attribute att = TupleDescAttr(b->desc, attnum - 1);
	Datum		missing;
	Const	   *literal;

	*param = TB_NONE;
	if (!missing_value(b, attnum, &missing))
		return true;
	if (tb_type_is_numeric(info.type) &&
		!tb_numeric_fits(DatumGetNumeric(missing), info.type, info.scale))
		return false;
	literal = makeConst(att->atttypid, att->atttypmod, att->attcollation,
						att->attlen,
						datumCopy(missing, att->attbyval, att->attlen),
						false, att->attbyval);
	*param = add_param(b, (Expr *) literal, info, 0);
	return true;
}

static bool
missing_display_param(TbBuilder *b, AttrNumber attnum, TbTypeInfo info,
					  uint32 *param)
{
	Datum		missing;
	int			scale;

	*param = TB_NONE;
	if (!missing_value(b, attnum, &missing))
		return true;
	scale = tb_numeric_display_scale(DatumGetNumeric(missing));
	if (scale < 0 || scale > TB_MAX_DISPLAY_SCALE)
		return false;
	*param = add_param(b, (Expr *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
											 Int32GetDatum(scale), false, true),
					   info, 0);
	return true;
}

/* The value of a column that is there already; not what one prints with. */
static bool
find_column(const TbBuilder *b, uint16 attnum, uint16 join, TbValue *value)
{
	for (uint32 i = 0; i < b->column_list.count; i++)
	{
		const TbColumn *column = &b->columns[i];

		if (column->attnum == attnum && column->join == join &&
			!(column->flags & TB_COL_DISPLAY_SCALE))
		{
			*value = b->column_values[i];
			return true;
		}
	}
	return false;
}

/* Appends the column, of that form, and its node. */
static TbValue
add_column(TbBuilder *b, TbColumn column, TbTypeInfo info)
{
	bool		nullable = (column.flags & TB_COL_NULLABLE) != 0;
	TbExpr		node = {0};
	TbValue		value;

	column.type = info.type;
	column.scale = info.scale;
	node.op = TB_EXPR_COLUMN;
	node.type = info.type;
	node.scale = info.scale;
	node.flags = nullable ? TB_EX_NULLABLE : 0;
	node.index = b->column_list.count;
	value = make_value(add_node(b, node, NULL), info, nullable);
	if (b->column_list.count == b->column_list.capacity)
	{
		BuilderList same = b->column_list;

		GROW(same, b->column_values);
	}
	GROW(b->column_list, b->columns);
	b->columns[b->column_list.count] = column;
	b->column_values[b->column_list.count++] = value;
	return value;
}

/* The attribute's form; a guess if it is a numeric without precision and scale. */
static bool
attribute_info(TbBuilder *b, AttrNumber attnum, TbTypeInfo *info, bool *guessed)
{
	Form_pg_attribute att = TupleDescAttr(b->desc, attnum - 1);
	int32		typmod = att->atttypmod;
	int			precision;
	int			scale;
	Datum		missing;

	*guessed = false;
	if (tb_type_of(att->atttypid, att->atttypmod, info))
		return true;
	if (getBaseTypeAndTypmod(att->atttypid, &typmod) != NUMERICOID)
		return false;
	if (tb_numeric_typmod(typmod, &precision, &scale))
	{
		/* More digits than any form has, but maybe not in use. */
		*info = tb_numeric_info(TB_NUM128_DIGITS, scale);
		return scale >= 0 && scale <= TB_NUM128_DIGITS;
	}
	*guessed = true;
	*info = tb_numeric_column_info(att->attrelid, attnum,
								   missing_value(b, attnum, &missing) ?
								   DatumGetNumeric(missing) : NULL);
	return true;
}

/* The column of what an unconstrained numeric prints with. */
static bool
add_display_column(TbBuilder *b, AttrNumber attnum, uint8 flags, TbValue *value)
{
	TbTypeInfo	info = {TB_TYPE_INT4, 0, 0};
	TbColumn	column = {0};

	column.attnum = attnum;
	column.flags = flags | TB_COL_DISPLAY_SCALE;
	if (!missing_display_param(b, attnum, info, &column.missing_param))
		return false;
	value->display_scale = add_column(b, column, info).expr;
	value->display_max = TB_MAX_DISPLAY_SCALE;
	return true;
}

bool
tb_builder_column(TbBuilder *builder, AttrNumber attnum, TbValue *value)
{
	Form_pg_attribute att = TupleDescAttr(builder->desc, attnum - 1);
	TbTypeInfo	info;
	TbColumn	column = {0};
	uint32		index;
	bool		guessed;

	if (find_column(builder, attnum, 0, value))
		return true;
	if (!attribute_info(builder, attnum, &info, &guessed))
		return false;
	column.attnum = attnum;
	column.digits = guessed && info.type == TB_TYPE_NUM64 ? info.precision : 0;
	column.flags = att->attnotnull ? 0 : TB_COL_NULLABLE;
	if (!missing_value_param(builder, attnum, info, &column.missing_param))
		return false;
	*value = add_column(builder, column, info);
	index = builder->column_list.count - 1;
	if (guessed && !add_display_column(builder, attnum, column.flags, value))
		return false;
	builder->column_values[index] = *value;
	return true;
}

bool
tb_builder_row_column(TbBuilder *builder, AttrNumber attnum, Oid typid, int32 typmod,
					  TbValue *value)
{
	TbTypeInfo	info;
	TbColumn	column = {0};

	if (!tb_type_of(typid, typmod, &info))
		return false;
	if (find_column(builder, attnum, 0, value))
		return true;
	column.attnum = attnum;
	column.flags = TB_COL_NULLABLE;
	column.missing_param = TB_NONE;
	*value = add_column(builder, column, info);
	return true;
}

TbValue
tb_builder_payload(TbBuilder *builder, uint32 join, uint32 output, TbTypeInfo info,
				   bool stored_nullable)
{
	const BuilderJoin *of = list_nth(builder->joins, join);
	TbColumn	column = {0};
	TbValue		value;

	if (find_column(builder, output + 1, join + 1, &value))
		return value;
	column.attnum = output + 1;
	column.join = join + 1;
	column.missing_param = TB_NONE;
	if (stored_nullable)
		column.flags |= TB_COL_STORED_NULLABLE;
	if (stored_nullable || of->join.kind == TB_JOIN_LEFT)
		column.flags |= TB_COL_NULLABLE;
	return add_column(builder, column, info);
}

uint32
tb_builder_add_join(TbBuilder *builder, TbJoinKind kind, uint32 table)
{
	BuilderJoin *join = palloc0(sizeof(BuilderJoin));

	join->join.kind = kind;
	join->join.table = table;
	join->join.residual = TB_NONE;
	builder->joins = lappend(builder->joins, join);
	return list_length(builder->joins) - 1;
}

void
tb_builder_join_key(TbBuilder *builder, uint32 join, const TbValue *value)
{
	BuilderJoin *to = list_nth(builder->joins, join);

	to->keys = lappend_int(to->keys, (int) value->expr);
}

void
tb_builder_join_condition(TbBuilder *builder, uint32 join, const TbValue *residual,
						  bool unique)
{
	BuilderJoin *to = list_nth(builder->joins, join);

	if (residual != NULL)
		to->join.residual = residual->expr;
	if (unique)
		to->join.flags |= TB_JOIN_UNIQUE;
}

uint32
tb_builder_add_output(TbBuilder *builder, uint32 expr)
{
	uint32		index = 0;
	ListCell   *lc;

	foreach(lc, builder->outputs)
	{
		if ((uint32) lfirst_int(lc) == expr)
			return index;
		index++;
	}
	builder->outputs = lappend_int(builder->outputs, (int) expr);
	return index;
}

/* What the operation itself costs, and whether it may raise. */
static void
own_cost(TbExpr *expr)
{
	switch (expr->op)
	{
		case TB_EXPR_CALL:
		case TB_EXPR_IS_DISTINCT:
			expr->cost += tb_functions[expr->index].cost;
			break;
		case TB_EXPR_ANY:
		case TB_EXPR_ALL:
			/* The array's length is unknown here; 16 elements are not rare. */
			expr->cost += 16 * tb_functions[expr->index].cost;
			break;
		case TB_EXPR_GREATEST:
		case TB_EXPR_LEAST:
			expr->cost += (expr->nargs - 1) * (tb_functions[expr->index].cost + 1);
			break;
		case TB_EXPR_RESCALE:
			expr->flags |= TB_EX_RAISES;
			expr->cost += 2;
			break;
		default:
			expr->cost += 1;
	}
	if ((expr->op == TB_EXPR_CALL || expr->op == TB_EXPR_IS_DISTINCT ||
		 expr->op == TB_EXPR_ANY || expr->op == TB_EXPR_ALL) &&
		(tb_functions[expr->index].flags & TB_FN_RAISES))
		expr->flags |= TB_EX_RAISES;
}

TbValue
tb_builder_node(TbBuilder *builder, TbExprOp op, TbTypeInfo info, uint32 index,
				int nargs, const TbValue *args, bool nullable)
{
	TbExpr		expr = {0};
	uint32	   *list = palloc(sizeof(uint32) * Max(nargs, 1));

	expr.op = op;
	expr.type = info.type;
	expr.scale = info.scale;
	expr.nargs = nargs;
	expr.index = index;
	expr.flags = nullable ? TB_EX_NULLABLE : 0;
	for (int i = 0; i < nargs; i++)
	{
		const TbExpr *arg = &builder->nodes[args[i].expr].expr;

		list[i] = args[i].expr;
		expr.flags |= arg->flags & TB_EX_RAISES;
		expr.cost += arg->cost;
	}
	own_cost(&expr);
	return make_value(add_node(builder, expr, list), info, nullable);
}

void
tb_builder_add_filter(TbBuilder *builder, const TbValue *value)
{
	builder->filters = lappend_int(builder->filters, (int) value->expr);
}

void
tb_builder_add_key(TbBuilder *builder, const TbValue *value)
{
	builder->keys = lappend_int(builder->keys, (int) value->expr);
}

int
tb_builder_add_agg(TbBuilder *builder, TbAggKind kind, const TbValue *arg,
				   const TbValue *filter)
{
	TbAgg		agg = {0};

	agg.kind = kind;
	agg.type = arg ? arg->info.type : 0;
	agg.scale = arg ? arg->info.scale : 0;
	agg.arg = arg ? arg->expr : TB_NONE;
	agg.filter = filter ? filter->expr : TB_NONE;
	for (uint32 i = 0; i < builder->agg_list.count; i++)
	{
		if (memcmp(&builder->aggs[i], &agg, sizeof(agg)) == 0)
			return (int) i;
	}
	GROW(builder->agg_list, builder->aggs);
	builder->aggs[builder->agg_list.count] = agg;
	return (int) builder->agg_list.count++;
}

/* Old index -> new index of what is reachable; TB_NONE for the rest. */
typedef struct Renumbering
{
	uint32	   *nodes;
	uint32		nnodes;
	uint32		nargs;
	uint32	   *columns;
	uint32		ncolumns;
	uint32		nsource;			/* of them: the source's, which come first */
	uint32	   *params;
	uint32		nparams;
} Renumbering;

static uint32 *
all_none(uint32 count)
{
	uint32	   *array = palloc(sizeof(uint32) * Max(count, 1));

	memset(array, 0xff, sizeof(uint32) * Max(count, 1));
	return array;
}

/* Operands have smaller indexes, so one pass from the end marks everything. */
static void
mark_reachable(TbBuilder *b, bool *live)
{
	ListCell   *lc;

	foreach(lc, b->filters)
		live[lfirst_int(lc)] = true;
	foreach(lc, b->keys)
		live[lfirst_int(lc)] = true;
	foreach(lc, b->outputs)
		live[lfirst_int(lc)] = true;
	foreach(lc, b->joins)
	{
		const BuilderJoin *join = lfirst(lc);
		ListCell   *key;

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
	for (uint32 i = b->node_list.count; i-- > 0;)
	{
		for (int a = 0; live[i] && a < b->nodes[i].expr.nargs; a++)
			live[b->nodes[i].args[a]] = true;
	}
}

static void
renumber(TbBuilder *b, Renumbering *r)
{
	bool	   *live = palloc0(Max(b->node_list.count, 1));
	ListCell   *lc;

	memset(r, 0, sizeof(*r));
	r->nodes = all_none(b->node_list.count);
	r->columns = all_none(b->column_list.count);
	r->params = all_none(b->param_list.count);
	mark_reachable(b, live);
	for (uint32 i = 0; i < b->node_list.count; i++)
	{
		const TbExpr *e = &b->nodes[i].expr;

		if (!live[i])
			continue;
		r->nodes[i] = r->nnodes++;
		r->nargs += e->nargs;
		if (e->op == TB_EXPR_PARAM)
			r->params[e->index] = r->nparams++;
		if (e->op == TB_EXPR_COLUMN && b->columns[e->index].join == 0)
		{
			uint32		missing = b->columns[e->index].missing_param;

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

static TbAttribute
describe_attribute(Form_pg_attribute att)
{
	TbAttribute out = {0};

	out.length = att->attlen;
	switch (att->attalign)
	{
		case TYPALIGN_CHAR:
			out.align = 1;
			break;
		case TYPALIGN_SHORT:
			out.align = 2;
			break;
		case TYPALIGN_INT:
			out.align = 4;
			break;
		default:
			out.align = 8;
	}
	if (att->attbyval)
		out.flags |= TB_ATT_BYVAL;
	if (att->attisdropped)
		out.flags |= TB_ATT_DROPPED;
	else if (att->attnotnull)
		out.flags |= TB_ATT_NOTNULL;
	return out;
}

/* Reserves a section at the end of the blob. */
static TbSection
reserve(uint32 *total, uint32 count, Size element)
{
	TbSection	section;

	section.count = count;
	section.offset = *total;
	*total += TYPEALIGN(8, count * element);
	return section;
}

static void
write_indexes(char *blob, TbSection section, const List *list,
			  const Renumbering *r)
{
	uint32	   *out = (uint32 *) (blob + section.offset);
	ListCell   *lc;

	foreach(lc, list)
		*out++ = r->nodes[lfirst_int(lc)];
}

/* Keys go behind the operands of expressions. */
static void
write_joins(TbBuilder *b, TbProgram *program, const Renumbering *r, uint32 next_arg)
{
	char	   *blob = (char *) program;
	TbJoin	   *joins = (TbJoin *) (blob + program->joins.offset);
	uint32	   *args = (uint32 *) (blob + program->args.offset);
	ListCell   *lc;

	foreach(lc, b->joins)
	{
		const BuilderJoin *from = lfirst(lc);
		TbJoin		join = from->join;
		ListCell   *key;

		join.nkeys = list_length(from->keys);
		if (join.nkeys > 0)
			join.first_key = next_arg;
		foreach(key, from->keys)
			args[next_arg++] = r->nodes[lfirst_int(key)];
		if (join.residual != TB_NONE)
			join.residual = r->nodes[join.residual];
		*joins++ = join;
	}
}

static void
write_exprs(TbBuilder *b, TbProgram *program, const Renumbering *r)
{
	char	   *blob = (char *) program;
	TbExpr	   *exprs = (TbExpr *) (blob + program->exprs.offset);
	uint32	   *args = (uint32 *) (blob + program->args.offset);
	uint32		next_arg = 0;

	for (uint32 i = 0; i < b->node_list.count; i++)
	{
		TbExpr		e = b->nodes[i].expr;

		if (r->nodes[i] == TB_NONE)
			continue;
		if (e.op == TB_EXPR_COLUMN)
			e.index = r->columns[e.index];
		else if (e.op == TB_EXPR_PARAM)
			e.index = r->params[e.index];
		if (e.nargs > 0)
			e.first_arg = next_arg;
		for (int a = 0; a < e.nargs; a++)
			args[next_arg++] = r->nodes[b->nodes[i].args[a]];
		exprs[r->nodes[i]] = e;
	}
	write_joins(b, program, r, next_arg);
}

/* The new number of the first column of the join. */
static uint32
first_payload(const TbBuilder *b, const Renumbering *r, uint16 join)
{
	uint32		first = TB_NONE;

	for (uint32 i = 0; i < b->column_list.count; i++)
		if (b->columns[i].join == join)
			first = Min(first, r->columns[i]);
	return first;
}

static void
write_columns(TbBuilder *b, TbProgram *program, const Renumbering *r)
{
	char	   *blob = (char *) program;
	TbColumn   *columns = (TbColumn *) (blob + program->columns.offset);
	TbAttribute *atts = (TbAttribute *) (blob + program->attributes.offset);

	for (int i = 0; b->desc != NULL && i < b->desc->natts; i++)
		atts[i] = describe_attribute(TupleDescAttr(b->desc, i));
	for (uint32 i = 0; i < b->column_list.count; i++)
	{
		TbColumn	column = b->columns[i];

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
	TbAgg	   *aggs = (TbAgg *) ((char *) program + program->aggs.offset);

	for (uint32 i = 0; i < b->agg_list.count; i++)
	{
		aggs[i] = b->aggs[i];
		if (aggs[i].arg != TB_NONE)
			aggs[i].arg = r->nodes[aggs[i].arg];
		if (aggs[i].filter != TB_NONE)
			aggs[i].filter = r->nodes[aggs[i].filter];
	}
}

static List *
write_params(TbBuilder *b, TbProgram *program, const Renumbering *r)
{
	TbParamShape *shapes = (TbParamShape *) ((char *) program + program->params.offset);
	Expr	  **exprs = palloc(sizeof(Expr *) * Max(r->nparams, 1));
	List	   *result = NIL;

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
		list_length(b->outputs) <= TB_MAX_OUTPUTS &&
		r->ncolumns <= TB_MAX_COLUMNS && r->nnodes <= TB_MAX_EXPRS &&
		list_length(b->keys) <= TB_MAX_KEYS &&
		b->agg_list.count <= TB_MAX_AGGS && r->nparams <= TB_MAX_PARAMS;
}

static uint32
node_cost(const TbBuilder *b, uint32 node)
{
	return node == TB_NONE ? 0 : b->nodes[node].expr.cost;
}

static void
estimate(const TbBuilder *b, const Renumbering *r, TbProgramCost *cost)
{
	ListCell   *lc;

	memset(cost, 0, sizeof(*cost));
	cost->columns = (int) r->nsource;
	foreach(lc, b->filters)
		cost->filters += node_cost(b, lfirst_int(lc));
	foreach(lc, b->keys)
		cost->others += node_cost(b, lfirst_int(lc)) + 10;
	for (uint32 i = 0; i < b->agg_list.count; i++)
		cost->others += node_cost(b, b->aggs[i].arg) +
			node_cost(b, b->aggs[i].filter) + 3;
	foreach(lc, b->outputs)
		cost->others += node_cost(b, lfirst_int(lc)) + 3;
	foreach(lc, b->joins)
	{
		const BuilderJoin *join = lfirst(lc);
		ListCell   *key;

		foreach(key, join->keys)
			cost->others += node_cost(b, lfirst_int(key));
		cost->others += node_cost(b, join->join.residual);
	}
	for (uint32 i = 0; i < b->column_list.count; i++)
		if (r->columns[i] != TB_NONE && b->columns[i].join == 0)
			cost->last_attnum = Max(cost->last_attnum, b->columns[i].attnum);
	for (uint32 i = 0; i < b->node_list.count; i++)
	{
		const TbExpr *e = &b->nodes[i].expr;

		if (r->nodes[i] != TB_NONE &&
			(e->op == TB_EXPR_CALL || e->op == TB_EXPR_IS_DISTINCT ||
			 e->op == TB_EXPR_ANY || e->op == TB_EXPR_ALL) &&
			(tb_functions[e->index].flags & TB_FN_INEXACT))
			cost->inexact = true;
	}
}

TbProgram *
tb_builder_finish(TbBuilder *builder, TbSink sink, List **params,
				  TbProgramCost *cost)
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

	header.magic = TB_PROGRAM_MAGIC;
	header.version = TB_PROGRAM_VERSION;
	header.sink = sink;
	header.source = builder->desc != NULL ? TB_SOURCE_HEAP : TB_SOURCE_ROWS;
	header.encoding = GetDatabaseEncoding();
	header.attributes = reserve(&total, builder->desc ? builder->desc->natts : 0,
								sizeof(TbAttribute));
	header.columns = reserve(&total, r.ncolumns, sizeof(TbColumn));
	header.exprs = reserve(&total, r.nnodes, sizeof(TbExpr));
	header.args = reserve(&total, r.nargs, sizeof(uint32));
	header.filters = reserve(&total, list_length(builder->filters), sizeof(uint32));
	header.keys = reserve(&total, list_length(builder->keys), sizeof(uint32));
	header.aggs = reserve(&total, builder->agg_list.count, sizeof(TbAgg));
	header.params = reserve(&total, r.nparams, sizeof(TbParamShape));
	header.outputs = reserve(&total, list_length(builder->outputs), sizeof(uint32));
	header.joins = reserve(&total, list_length(builder->joins), sizeof(TbJoin));
	header.total_size = total;

	program = palloc0(total);
	*program = header;
	write_columns(builder, program, &r);
	write_exprs(builder, program, &r);
	write_indexes((char *) program, program->filters, builder->filters, &r);
	write_indexes((char *) program, program->keys, builder->keys, &r);
	write_indexes((char *) program, program->outputs, builder->outputs, &r);
	write_aggs(builder, program, &r);
	*params = write_params(builder, program, &r);
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
	List	   *kept = NIL;
	ListCell   *lc;

	foreach(lc, numbers)
		kept = lappend_int(kept, list_nth_int(builder->outputs, lfirst_int(lc)));
	builder->outputs = kept;
}
