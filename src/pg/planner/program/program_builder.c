/*
 * program_builder.c - collects the expressions of a program.
 *
 * Expressions, filters, joins, keys, outputs and aggregates are appended to arrays, for
 * program_serialize.c. Knows nothing of PostgreSQL's expressions beyond carrying
 * those of parameters. Called by the translator and whoever plans a program.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "catalog/pg_attribute.h"
#include "datatype/timestamp.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "turbine/grid.h"
#include "turbine/model.h"
#include "turbine/point_column.h"

#include "pg/compat/pg18.h"
#include "pg/convert/numeric_format.h"
#include "pg/convert/numeric_statistics.h"
#include "pg/convert/postgis.h"
#include "pg/planner/program/program_builder_state.h"

/* Of an exponential and a division, in integer comparisons. */
#define MODEL_COST 24

/* Of a box and its cells. */
#define GRID_COST 16
#define IN_CELL_COST 40

/* Of a point's bytes, as st_makepoint has it. */
#define POINT_COST 4

#define GROW(list, array) \
	do \
	{ \
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
	TbBuilder *builder = palloc0(sizeof(TbBuilder));

	builder->desc = desc;
	return builder;
}

void
tb_builder_read_files(TbBuilder *builder)
{
	builder->of_files = true;
}

void
tb_builder_set_partitions(TbBuilder *builder, const TbPartitions *partitions)
{
	builder->partitions = partitions;
}

void
tb_builder_expect_full_join(TbBuilder *builder, uint32 join)
{
	builder->full_joins_end = join + 1;
}

void
tb_builder_full_join(TbBuilder *builder, uint32 join, uint32 nfilters)
{
	BuilderJoin *to = list_nth(builder->joins, join);

	Assert(join < builder->full_joins_end);
	to->join.nfilters = nfilters;
}

void
tb_builder_keep_null_keys(TbBuilder *builder)
{
	builder->keep_null_keys = true;
}

static uint32
add_expr(TbBuilder *b, TbExpr expr, uint32 *args)
{
	GROW(b->expr_list, b->exprs);
	b->exprs[b->expr_list.count].expr = expr;
	b->exprs[b->expr_list.count].args = args;
	return b->expr_list.count++;
}

static TbValue
make_value(uint32 expr, TbTypeInfo info, bool nullable)
{
	TbValue value = {0};

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
	TbExpr	added = {0};
	TbValue value;
	bool	nullable = (flags & TB_PARAM_NULLABLE) != 0;

	added.op = TB_EXPR_PARAM;
	added.type = info.type;
	added.scale = info.scale;
	added.flags = nullable ? TB_EX_NULLABLE : 0;
	added.index = add_param(builder, expr, info, flags);
	value = make_value(add_expr(builder, added, NULL), info, nullable);
	if (IsA(expr, Const))
		value.constant = (const Const *) expr;
	return value;
}

/* What ALTER TABLE ... ADD COLUMN ... DEFAULT gave to tuples too short to have
 * the attribute. False: NULL. */
static bool
missing_value(TbBuilder *b, AttrNumber attnum, Datum *missing)
{
	bool isnull = true;

	if (TupleDescAttr(b->desc, attnum - 1)->atthasmissing)
		*missing = getmissingattr(b->desc, attnum, &isnull);
	return !isnull;
}

/* The parameter that holds the missing value; TB_NONE if there is none. False if
 * the engine can not hold it. */
static bool
missing_value_param(TbBuilder *b, AttrNumber attnum, TbTypeInfo info, uint32 *param)
{
	Form_pg_attribute att = TupleDescAttr(b->desc, attnum - 1);
	Datum			  missing;
	Const			 *literal;

	*param = TB_NONE;
	if (!missing_value(b, attnum, &missing))
		return true;
	if (tb_type_is_numeric(info.type) &&
		!tb_numeric_fits(DatumGetNumeric(missing), info.type, info.scale))
		return false;
	literal = makeConst(att->atttypid, att->atttypmod, att->attcollation, att->attlen,
						datumCopy(missing, att->attbyval, att->attlen), false,
						att->attbyval);
	*param = add_param(b, (Expr *) literal, info, 0);
	return true;
}

static bool
missing_display_param(TbBuilder *b, AttrNumber attnum, TbTypeInfo info, uint32 *param)
{
	Datum missing;
	int	  scale;

	*param = TB_NONE;
	if (!missing_value(b, attnum, &missing))
		return true;
	scale = tb_numeric_display_scale(DatumGetNumeric(missing));
	if (scale < 0 || scale > TB_MAX_DISPLAY_SCALE)
		return false;
	*param = add_param(b,
					   (Expr *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
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
			!(column->flags & (TB_COL_DISPLAY_SCALE | TB_COL_COORDINATE)))
		{
			*value = b->column_values[i];
			return true;
		}
	}
	return false;
}

/* Appends the column, of that form, and the expression that reads it. */
static TbValue
add_column(TbBuilder *b, TbColumn column, TbTypeInfo info)
{
	bool	nullable = (column.flags & TB_COL_NULLABLE) != 0;
	TbExpr	added = {0};
	TbValue value;

	column.type = info.type;
	column.scale = info.scale;
	added.op = TB_EXPR_COLUMN;
	added.type = info.type;
	added.scale = info.scale;
	added.flags = nullable ? TB_EX_NULLABLE : 0;
	added.index = b->column_list.count;
	value = make_value(add_expr(b, added, NULL), info, nullable);
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

static TbTypeInfo
partitions_info(const TbPartitions *partitions, Oid relid, AttrNumber attnum)
{
	int			  nleaves = list_length(partitions->leaves);
	TbLeafColumn *leaves = palloc(sizeof(TbLeafColumn) * Max(nleaves, 1));
	TbTypeInfo	  info;

	for (int i = 0; i < nleaves; i++)
	{
		const TbLeaf *leaf = list_nth(partitions->leaves, i);

		leaves[i].relid = leaf->relid;
		leaves[i].attnum = leaf->attnums[attnum - 1];
	}
	info = tb_numeric_leaves_info(relid, attnum, leaves, nleaves);
	pfree(leaves);
	return info;
}

/* The attribute's form; a guess if it is a numeric without precision and scale. */
static bool
attribute_info(TbBuilder *b, AttrNumber attnum, TbTypeInfo *info, bool *guessed)
{
	Form_pg_attribute att = TupleDescAttr(b->desc, attnum - 1);
	int32			  typmod = att->atttypmod;
	int				  precision;
	int				  scale;
	Datum			  missing;

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
	if (b->partitions != NULL)
	{
		*info = partitions_info(b->partitions, att->attrelid, attnum);
		return true;
	}
	*info = tb_numeric_column_info(att->attrelid, attnum,
								   missing_value(b, attnum, &missing) ?
									   DatumGetNumeric(missing) :
									   NULL);
	return true;
}

/* The column of what an unconstrained numeric prints with. */
static bool
add_display_column(TbBuilder *b, AttrNumber attnum, uint8 flags, TbValue *value)
{
	TbTypeInfo info = {TB_TYPE_INT4, 0, 0};
	TbColumn   column = {0};

	column.attnum = attnum;
	column.flags = flags | TB_COL_DISPLAY_SCALE;
	if (!missing_display_param(b, attnum, info, &column.missing_param))
		return false;
	value->display_scale = add_column(b, column, info).expr;
	value->display_max = TB_MAX_DISPLAY_SCALE;
	return true;
}

/*
 * Whether values of the column are what files hold, as far as the service can check them:
 * the wrapper's own scan runs the type's input function, which checks domains, rounds times
 * and converts texts to the server's encoding.
 */
static bool
files_hold(const TbBuilder *b, Form_pg_attribute att)
{
	if (!b->of_files && (b->partitions == NULL || !b->partitions->has_files))
		return true;
	switch (att->atttypid)
	{
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return att->atttypmod < 0 || att->atttypmod >= MAX_TIMESTAMP_PRECISION;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			return GetDatabaseEncoding() == PG_UTF8 ||
				GetDatabaseEncoding() == PG_SQL_ASCII;
		default:
			/* Neither domains nor other types of extensions. */
			return (att->atttypid < FirstNormalObjectId &&
					get_typtype(att->atttypid) != TYPTYPE_DOMAIN) ||
				tb_postgis_is_geometry(att->atttypid);
	}
}

/* Whether the attribute's values are points that have a form (point_column.h). A heap's
 * column without an SRID may hold points of any. */
static bool
has_point_form(const TbBuilder *b, Form_pg_attribute att, uint32 *form)
{
	bool has_heap = !b->of_files || b->partitions != NULL;

	bool is_geography = tb_postgis_is_geography(att->atttypid);

	if (att->atthasmissing || !(is_geography || tb_postgis_is_geometry(att->atttypid)) ||
		!tb_postgis_point_form(att->atttypmod, form) ||
		(has_heap && tb_point_srid(*form) == 0))
		return false;
	if (is_geography)
		*form |= TB_POINT_GEODETIC;
	return true;
}

/* The point, made of columns of its coordinates. */
static TbValue
point_of_columns(TbBuilder *b, AttrNumber attnum, uint8 flags, uint32 form)
{
	TbTypeInfo	  point = {TB_TYPE_GEOMETRY, 0, 0};
	TbTypeInfo	  number = {TB_TYPE_FLOAT8, 0, 0};
	TbValue		  coordinates[TB_MOST_COORDINATES];
	BuilderPoint *made = palloc0(sizeof(BuilderPoint));

	for (uint32 i = 0; i < tb_point_dimensions(form); i++)
	{
		TbColumn column = {0};

		column.attnum = attnum;
		column.flags = flags | TB_COL_COORDINATE;
		column.digits = tb_point_form(tb_point_srid(form), tb_point_flags(form), i) |
			(form & TB_POINT_GEODETIC);
		column.missing_param = TB_NONE;
		coordinates[i] = add_column(b, column, number);
	}
	made->attnum = attnum;
	made->value = tb_builder_expr(b, TB_EXPR_POINT, point, form, tb_point_dimensions(form),
								  coordinates, (flags & TB_COL_NULLABLE) != 0);
	b->points = lappend(b->points, made);
	return made->value;
}

static bool
find_point(const TbBuilder *b, AttrNumber attnum, TbValue *value)
{
	ListCell *lc;

	foreach(lc, b->points)
	{
		const BuilderPoint *point = lfirst(lc);

		if (point->attnum == attnum)
		{
			*value = point->value;
			return true;
		}
	}
	return false;
}

bool
tb_builder_column(TbBuilder *builder, AttrNumber attnum, TbValue *value)
{
	Form_pg_attribute att = TupleDescAttr(builder->desc, attnum - 1);
	TbTypeInfo		  info;
	TbColumn		  column = {0};
	uint32			  index;
	uint32			  form;
	bool			  guessed;

	Assert(attnum > 0 && attnum <= builder->desc->natts && !att->attisdropped);
	if (find_column(builder, attnum, 0, value) || find_point(builder, attnum, value))
		return true;
	if (tb_attribute_is_virtual(att) || !files_hold(builder, att) ||
		!attribute_info(builder, attnum, &info, &guessed))
		return false;
	column.attnum = attnum;
	column.digits = guessed && info.type == TB_TYPE_NUM64 ? info.precision : 0;
	/* Nobody has checked what a foreign table declares. */
	column.flags = tb_attribute_is_never_null(builder->desc, attnum - 1) &&
			builder->full_joins_end == 0 && !builder->of_files ?
		0 :
		TB_COL_NULLABLE;
	if (has_point_form(builder, att, &form))
	{
		*value = point_of_columns(builder, attnum, column.flags, form);
		return true;
	}
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
	TbTypeInfo info;
	TbColumn   column = {0};

	Assert(attnum > 0 && builder->desc == NULL);
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
tb_builder_result_column(TbBuilder *builder, uint32 column, TbTypeInfo info, bool nullable)
{
	TbColumn added = {0};
	TbValue	 value;

	Assert(builder->desc == NULL);
	if (find_column(builder, column + 1, 0, &value))
		return value;
	added.attnum = column + 1;
	added.flags = nullable ? TB_COL_NULLABLE : 0;
	added.missing_param = TB_NONE;
	return add_column(builder, added, info);
}

TbValue
tb_builder_tid_column(TbBuilder *builder)
{
	TbColumn column = {0};
	TbValue	 value;

	Assert(builder->desc != NULL && !builder->of_files && builder->full_joins_end == 0);
	if (find_column(builder, 0, 0, &value))
		return value;
	column.flags = TB_COL_TID;
	column.missing_param = TB_NONE;
	return add_column(builder, column, tb_simple_type(TB_TYPE_INT8));
}

TbValue
tb_builder_payload(TbBuilder *builder, uint32 join, uint32 output, TbTypeInfo info,
				   bool stored_nullable)
{
	const BuilderJoin *of = list_nth(builder->joins, join);
	TbColumn		   column = {0};
	TbValue			   value;

	if (find_column(builder, output + 1, join + 1, &value))
		return value;
	column.attnum = output + 1;
	column.join = join + 1;
	column.missing_param = TB_NONE;
	if (stored_nullable)
		column.flags |= TB_COL_STORED_NULLABLE;
	if (stored_nullable || of->join.kind == TB_JOIN_LEFT || join < builder->full_joins_end)
		column.flags |= TB_COL_NULLABLE;
	return add_column(builder, column, info);
}

uint32
tb_builder_add_join(TbBuilder *builder, TbJoinKind kind, uint32 table)
{
	BuilderJoin *join = palloc0(sizeof(BuilderJoin));

	join->join.kind = kind;
	join->join.join_table = table;
	join->join.residual = TB_NONE;
	builder->joins = lappend(builder->joins, join);
	return list_length(builder->joins) - 1;
}

void
tb_builder_join_key(TbBuilder *builder, uint32 join, const TbValue *value)
{
	BuilderJoin *to = list_nth(builder->joins, join);

	Assert(value->expr < builder->expr_list.count);
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
	uint32	  index = 0;
	ListCell *lc;

	foreach(lc, builder->outputs)
	{
		if ((uint32) lfirst_int(lc) == expr)
			return index;
		index++;
	}
	builder->outputs = lappend_int(builder->outputs, (int) expr);
	return index;
}

/* Operands that are used twice count twice: sums of costs end here. */
#define MOST_COST (1 << 24)

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
			/* Of one element; whoever knows more adds it. */
			expr->cost += tb_functions[expr->index].cost;
			break;
		case TB_EXPR_GREATEST:
		case TB_EXPR_LEAST:
			expr->cost += (expr->nargs - 1) * (tb_functions[expr->index].cost + 1);
			break;
		case TB_EXPR_MODEL:
			/* Of centroids whoever knows their number adds more. */
			expr->cost += expr->nargs;
			if (expr->index != TB_MODEL_LINEAR && expr->index != TB_MODEL_PRODUCT)
				expr->cost += MODEL_COST;
			break;
		case TB_EXPR_GRID:
			if (tb_grid_raises(expr->index))
				expr->flags |= TB_EX_RAISES;
			expr->cost += tb_grid_is_predicate(expr->index) ? IN_CELL_COST : GRID_COST;
			break;
		case TB_EXPR_RESCALE:
			expr->flags |= TB_EX_RAISES;
			expr->cost += 2;
			break;
		case TB_EXPR_POINT:
			expr->cost += POINT_COST;
			break;
		case TB_EXPR_SEQUENCE:
			break;
		case TB_EXPR_LOOP:
			expr->flags |= TB_EX_RAISES;
			expr->cost += 1;
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
tb_builder_expr(TbBuilder *builder, TbExprOp op, TbTypeInfo info, uint32 index, int nargs,
				const TbValue *args, bool nullable)
{
	TbExpr	expr = {0};
	uint32 *list = palloc(sizeof(uint32) * Max(nargs, 1));

	expr.op = op;
	expr.type = info.type;
	expr.scale = info.scale;
	expr.nargs = nargs;
	expr.index = index;
	expr.flags = nullable ? TB_EX_NULLABLE : 0;
	for (int i = 0; i < nargs; i++)
	{
		const TbExpr *arg = &builder->exprs[args[i].expr].expr;

		/* Operands come first: one pass evaluates a program. */
		Assert(args[i].expr < builder->expr_list.count);
		list[i] = args[i].expr;
		if (op != TB_EXPR_UNDECIDED && (op != TB_EXPR_POSSIBLE || nargs == 2))
			expr.flags |= arg->flags & TB_EX_RAISES;
		expr.cost = Min(expr.cost + arg->cost, MOST_COST);
	}
	own_cost(&expr);
	return make_value(add_expr(builder, expr, list), info, nullable);
}

void
tb_builder_add_cost(TbBuilder *builder, const TbValue *value, uint32 cost)
{
	builder->exprs[value->expr].expr.cost += cost;
}

void
tb_builder_set_cost(TbBuilder *builder, const TbValue *value, uint32 cost)
{
	builder->exprs[value->expr].expr.cost = cost;
}

uint32
tb_builder_add_locals(TbBuilder *builder, int count)
{
	uint32 first = builder->nlocals;

	if (first + count > TB_MAX_LOCALS)
		return TB_NONE;
	builder->nlocals += count;
	return first;
}

TbValue
tb_builder_local(TbBuilder *builder, uint32 local, TbTypeInfo info)
{
	return tb_builder_expr(builder, TB_EXPR_LOCAL, info, local, 0, NULL, true);
}

bool
tb_builder_may_raise(const TbBuilder *builder, const TbValue *value)
{
	return (builder->exprs[value->expr].expr.flags & TB_EX_RAISES) != 0;
}

uint32
tb_builder_size(const TbBuilder *builder)
{
	return builder->expr_list.count;
}

void
tb_builder_add_filter(TbBuilder *builder, const TbValue *value)
{
	Assert(value->info.type == TB_TYPE_BOOL);
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
	TbAgg agg = {0};

	Assert(filter == NULL || filter->info.type == TB_TYPE_BOOL);
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
