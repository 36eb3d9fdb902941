/*
 * program_builder.c - collects the nodes of a program.
 *
 * Nodes, filters, joins, keys, outputs and aggregates are appended to arrays, for
 * program_serialize.c. Knows nothing of PostgreSQL's expressions beyond carrying
 * those of parameters. Called by the translator and whoever plans a program.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "nodes/makefuncs.h"
#include "utils/datum.h"

#include "pg/nodes/numeric_format.h"
#include "pg/planner/program_builder_state.h"

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

/* The parameter that holds what ALTER TABLE ... ADD COLUMN ... DEFAULT gave to
 * tuples too short to have the attribute. TB_NONE: NULL. False if the engine
 * can not hold it. */
static bool
missing_value_param(TbBuilder *b, AttrNumber attnum, TbTypeInfo info,
					uint32 *param)
{
	Form_pg_attribute att = TupleDescAttr(b->desc, attnum - 1);
	bool		isnull;
	Datum		missing;
	Const	   *literal;

	*param = TB_NONE;
	if (!att->atthasmissing)
		return true;
	missing = getmissingattr(b->desc, attnum, &isnull);
	if (isnull)
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

/* The node of a column that is there already. */
static bool
find_column(const TbBuilder *builder, uint16 attnum, uint16 join, TbTypeInfo info,
			TbValue *value)
{
	for (uint32 i = 0; i < builder->column_list.count; i++)
	{
		const TbColumn *column = &builder->columns[i];

		if (column->attnum == attnum && column->join == join)
		{
			*value = make_value(builder->column_nodes[i], info,
								(column->flags & TB_COL_NULLABLE) != 0);
			return true;
		}
	}
	return false;
}

static TbValue
add_column(TbBuilder *builder, TbColumn column, TbTypeInfo info)
{
	TbExpr		node = {0};
	TbValue		value;
	bool		nullable = (column.flags & TB_COL_NULLABLE) != 0;

	column.type = info.type;
	column.scale = info.scale;
	node.op = TB_EXPR_COLUMN;
	node.type = info.type;
	node.scale = info.scale;
	node.flags = nullable ? TB_EX_NULLABLE : 0;
	node.index = builder->column_list.count;
	value = make_value(add_node(builder, node, NULL), info, nullable);

	if (builder->column_list.count == builder->column_list.capacity)
	{
		BuilderList same = builder->column_list;

		GROW(same, builder->column_nodes);
	}
	GROW(builder->column_list, builder->columns);
	builder->columns[builder->column_list.count] = column;
	builder->column_nodes[builder->column_list.count++] = value.expr;
	return value;
}

bool
tb_builder_column(TbBuilder *builder, AttrNumber attnum, TbValue *value)
{
	Form_pg_attribute att = TupleDescAttr(builder->desc, attnum - 1);
	TbTypeInfo	info;
	TbColumn	column = {0};

	if (!tb_type_of(att->atttypid, att->atttypmod, &info))
		return false;
	if (find_column(builder, attnum, 0, info, value))
		return true;
	column.attnum = attnum;
	column.flags = att->attnotnull ? 0 : TB_COL_NULLABLE;
	if (!missing_value_param(builder, attnum, info, &column.missing_param))
		return false;
	*value = add_column(builder, column, info);
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
	if (find_column(builder, attnum, 0, info, value))
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

	if (find_column(builder, output + 1, join + 1, info, &value))
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
tb_builder_add_output(TbBuilder *builder, const TbValue *value)
{
	uint32		index = 0;
	ListCell   *lc;

	foreach(lc, builder->outputs)
	{
		if ((uint32) lfirst_int(lc) == value->expr)
			return index;
		index++;
	}
	builder->outputs = lappend_int(builder->outputs, (int) value->expr);
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
