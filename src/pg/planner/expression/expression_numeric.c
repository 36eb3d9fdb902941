/*
 * expression_numeric.c - numeric arithmetic on scaled integers.
 *
 * Every numeric value carries a bound of its decimal digits (precision) and
 * the digits after the point (scale), both of which follow from the operands'.
 * 18 digits are a NUM64; more are a NUM128, whose functions raise where 38 do
 * not suffice. Equal scales come from RESCALE; a literal is just written
 * with the other scale.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/fmgroids.h"
#include "utils/regproc.h"

#include "pg/convert/numeric_format.h"
#include "pg/planner/expression/expression_internal.h"
#include "pg/convert/function_lookup.h"

/* Digits after the point of a quotient: as many as one of at least 10^-4 prints
 * with, and some to spare. */
#define QUOTIENT_SCALE 24

/* Digits before the point. */
static int
whole_digits(const TbValue *value)
{
	return Max(value->info.precision - value->info.scale, 0);
}

static bool
literal_fits(const Const *literal, uint8 type, int scale)
{
	return literal->constisnull ||
		tb_numeric_fits(DatumGetNumeric(literal->constvalue), type, scale);
}

TbValue
tb_numeric_resize(TbTranslator *t, const TbValue *value, uint8 type, int scale)
{
	TbValue	   result;
	TbTypeInfo info;

	if (value->info.type == type && value->info.scale == scale)
		return *value;
	info = value->info;
	info.type = type;
	info.scale = scale;
	info.precision = Min(Max(value->info.precision + scale - value->info.scale, 1),
						 TB_NUM128_DIGITS);
	if (value->constant != NULL && literal_fits(value->constant, type, scale))
		return tb_literal(t, (Const *) value->constant, info);
	result = tb_builder_expr(t->builder, TB_EXPR_RESCALE, info, 0, 1, value,
							 value->nullable);
	result.display_scale = value->display_scale;
	result.display_max = value->display_max;
	return result;
}

void
tb_numeric_unify(TbTranslator *t, int nvalues, TbValue *values)
{
	int	  scale = 0;
	int	  whole = 1;
	uint8 type = TB_TYPE_NUM64;

	for (int i = 0; i < nvalues; i++)
	{
		if (tb_is_null_literal(&values[i]))
			continue;
		scale = Max(scale, values[i].info.scale);
		whole = Max(whole, whole_digits(&values[i]));
		if (values[i].info.type == TB_TYPE_NUM128)
			type = TB_TYPE_NUM128;
	}
	if (whole + scale > TB_NUM64_DIGITS)
		type = TB_TYPE_NUM128;
	for (int i = 0; i < nvalues; i++)
	{
		values[i] = tb_numeric_resize(t, &values[i], type, scale);
		values[i].info.precision = Min(whole + scale, TB_NUM128_DIGITS);
	}
}

static TbValue
int4_literal(TbTranslator *t, int32 number)
{
	return tb_literal(t,
					  makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
								Int32GetDatum(number), false, true),
					  tb_simple_type(TB_TYPE_INT4));
}

TbValue
tb_numeric_display(TbTranslator *t, const TbValue *value)
{
	TbValue result = {0};

	if (value->display_scale == TB_NONE)
		return int4_literal(t, value->info.scale);
	result.expr = value->display_scale;
	result.info = tb_simple_type(TB_TYPE_INT4);
	result.display_scale = TB_NONE;
	result.nullable = true;
	return result;
}

bool
tb_numeric_mixed(int nvalues, const TbValue *values)
{
	int scale = -1;

	for (int i = 0; i < nvalues; i++)
	{
		if (tb_is_null_literal(&values[i]))
			continue;
		if (values[i].display_scale != TB_NONE ||
			(scale >= 0 && scale != values[i].info.scale))
			return true;
		scale = values[i].info.scale;
	}
	return false;
}

/* The most that tb_numeric_display() says. */
static int
display_max(const TbValue *value)
{
	return value->display_scale == TB_NONE ? value->info.scale : value->display_max;
}

static TbValue
call2(TbTranslator *t, int row, TbTypeInfo info, const TbValue *args)
{
	return tb_builder_expr(t->builder, TB_EXPR_CALL, info, row, 2, args,
						   args[0].nullable || args[1].nullable);
}

/* The row of f(type, type), or a refusal. */
static bool
binary_row(TbTranslator *t, Oid funcid, uint8 type, int *row)
{
	uint8 types[2] = {type, type};

	*row = tb_function_find(funcid, "", 2, types);
	if (*row < 0)
		return tb_refuse(t, "function %s is not in the catalogue",
						 format_procedure(funcid));
	return true;
}

/* What a sum prints with: the larger of both. */
static void
display_of_sum(TbTranslator *t, const TbValue *args, TbValue *value)
{
	TbValue scales[2];
	TbValue branches[2];
	TbValue condition;
	TbValue larger;

	if (args[0].display_scale == TB_NONE && args[1].display_scale == TB_NONE)
		return;
	scales[0] = tb_numeric_display(t, &args[0]);
	scales[1] = tb_numeric_display(t, &args[1]);
	condition = call2(t, TB_FN_INT4LT, tb_simple_type(TB_TYPE_BOOL), scales);
	branches[0] = scales[1];
	branches[1] = scales[0];
	if (tb_make_case(t, 1, &condition, branches, &larger))
		value->display_scale = larger.expr;
	value->display_max = Max(display_max(&args[0]), display_max(&args[1]));
}

static void
display_of_product(TbTranslator *t, const TbValue *args, TbValue *value)
{
	TbValue scales[2];

	if (args[0].display_scale == TB_NONE && args[1].display_scale == TB_NONE)
		return;
	scales[0] = tb_numeric_display(t, &args[0]);
	scales[1] = tb_numeric_display(t, &args[1]);
	value->display_scale = call2(t, TB_FN_INT4PL, tb_simple_type(TB_TYPE_INT4), scales)
							   .expr;
	value->display_max = Min(display_max(&args[0]) + display_max(&args[1]), PG_INT16_MAX);
}

static bool
add_or_subtract(TbTranslator *t, Oid funcid, TbValue *args, TbValue *value)
{
	TbValue	   original[2] = {args[0], args[1]};
	int		   scale = Max(args[0].info.scale, args[1].info.scale);
	int		   precision = Max(whole_digits(&args[0]), whole_digits(&args[1])) + 1 + scale;
	TbTypeInfo info = tb_numeric_info(precision, scale);
	int		   row;

	if (args[0].info.type == TB_TYPE_NUM128 || args[1].info.type == TB_TYPE_NUM128)
		info.type = TB_TYPE_NUM128;
	if (!binary_row(t, funcid, info.type, &row))
		return false;
	args[0] = tb_numeric_resize(t, &args[0], info.type, scale);
	args[1] = tb_numeric_resize(t, &args[1], info.type, scale);
	*value = call2(t, row, info, args);
	display_of_sum(t, original, value);
	return true;
}

static bool
multiply(TbTranslator *t, TbValue *args, TbValue *value)
{
	int		   scale = args[0].info.scale + args[1].info.scale;
	TbTypeInfo info = tb_numeric_info(args[0].info.precision + args[1].info.precision,
									  scale);
	int		   row;

	if (scale > TB_NUM128_DIGITS)
		return tb_refuse(t, "a numeric product with more than %d decimals",
						 TB_NUM128_DIGITS);
	if (args[0].info.type == TB_TYPE_NUM128 || args[1].info.type == TB_TYPE_NUM128)
		info.type = TB_TYPE_NUM128;
	if (!binary_row(t, F_NUMERIC_MUL, info.type, &row))
		return false;
	for (int i = 0; i < 2; i++)
		args[i] = tb_numeric_resize(t, &args[i], info.type, args[i].info.scale);
	*value = call2(t, row, info, args);
	display_of_product(t, args, value);
	return true;
}

static bool
compare(TbTranslator *t, Oid funcid, TbValue *args, TbValue *value)
{
	int row;

	tb_numeric_unify(t, 2, args);
	if (!binary_row(t, funcid, args[0].info.type, &row))
		return false;
	*value = call2(t, row, tb_simple_type(tb_functions[row].result), args);
	return true;
}

/* -x, abs(x): same digits, same scale. */
static bool
keep_scale(TbTranslator *t, Oid funcid, const TbValue *arg, TbValue *value)
{
	uint8 type = arg->info.type;
	int	  row = tb_function_find(funcid, "", 1, &type);

	if (row < 0)
		return tb_refuse(t, "function %s is not in the catalogue",
						 format_procedure(funcid));
	*value = tb_builder_expr(t->builder, TB_EXPR_CALL, arg->info, row, 1, arg,
							 arg->nullable);
	value->display_scale = arg->display_scale;
	value->display_max = arg->display_max;
	return true;
}

/* mod(x, y): the larger scale; no more digits than y has. */
static bool
modulo(TbTranslator *t, Oid funcid, TbValue *args, TbValue *value)
{
	TbValue original[2] = {args[0], args[1]};
	int		row;

	tb_numeric_unify(t, 2, args);
	if (!binary_row(t, funcid, args[0].info.type, &row))
		return false;
	*value = call2(t, row, args[0].info, args);
	display_of_sum(t, original, value);
	return true;
}

/* sign, ceil, floor: no digits after the point. */
static bool
drop_scale(TbTranslator *t, Oid funcid, const TbValue *arg, TbValue *value)
{
	uint8	   type = arg->info.type;
	int		   row = tb_function_find(funcid, "", 1, &type);
	TbTypeInfo info = tb_numeric_info(whole_digits(arg) + 1, 0);

	if (row < 0)
		return tb_refuse(t, "function %s is not in the catalogue",
						 format_procedure(funcid));
	info.type = tb_functions[row].result;
	*value = tb_builder_expr(t->builder, TB_EXPR_CALL, info, row, 1, arg, arg->nullable);
	return true;
}

/* int2, int4, int8 to numeric */
static bool
from_integer(TbTranslator *t, Oid funcid, const TbValue *arg, TbValue *value)
{
	uint8	   type = arg->info.type;
	int		   row = tb_function_find(funcid, "", 1, &type);
	int		   digits = type == TB_TYPE_INT2 ? 5 : type == TB_TYPE_INT4 ? 10 : 19;
	TbTypeInfo info;

	if (row < 0)
		return tb_refuse(t, "function %s is not in the catalogue",
						 format_procedure(funcid));
	info = tb_numeric_info(digits, 0);
	info.type = tb_functions[row].result;
	*value = tb_builder_expr(t->builder, TB_EXPR_CALL, info, row, 1, arg, arg->nullable);
	return true;
}

static bool
constant_int4(const TbValue *value, int32 *number)
{
	if (value->constant == NULL || value->constant->constisnull ||
		value->constant->consttype != INT4OID)
		return false;
	*number = DatumGetInt32(value->constant->constvalue);
	return true;
}

/* round(x, n) */
static bool
round_to(TbTranslator *t, const TbValue *args, TbValue *value)
{
	int32 scale;
	int	  precision;

	if (!constant_int4(&args[1], &scale) || scale < 0 || scale > TB_NUM128_DIGITS)
		return tb_refuse(t, "round to a number of digits that is not a constant of 0 to %d",
						 TB_NUM128_DIGITS);
	/* Rounding may carry into one more digit. */
	precision = whole_digits(&args[0]) + 1 + scale;
	if (precision > TB_NUM128_DIGITS)
		return tb_refuse(t, "a numeric of more than %d digits", TB_NUM128_DIGITS);
	*value = tb_numeric_resize(t, &args[0],
							   scale >= args[0].info.scale &&
									   precision - 1 <= TB_NUM64_DIGITS ?
								   args[0].info.type :
								   tb_numeric_type(precision),
							   scale);
	value->info.precision = precision;
	value->display_scale = TB_NONE;
	return true;
}

/* trunc(x, n) */
static bool
truncate_to(TbTranslator *t, const TbValue *args, TbValue *value)
{
	TbTypeInfo info;
	uint8	   types[2] = {args[0].info.type, TB_TYPE_INT4};
	int32	   scale;
	int		   row;

	if (!constant_int4(&args[1], &scale) || scale < 0 || scale > TB_NUM128_DIGITS)
		return tb_refuse(t, "trunc to a number of digits that is not a constant of 0 to %d",
						 TB_NUM128_DIGITS);
	if (scale >= args[0].info.scale)
		return round_to(t, args, value);
	row = tb_function_find(F_TRUNC_NUMERIC_INT4, "", 2, types);
	if (row < 0)
		return tb_refuse(t, "function %s is not in the catalogue",
						 format_procedure(F_TRUNC_NUMERIC_INT4));
	info = tb_numeric_info(whole_digits(&args[0]) + scale, scale);
	info.type = args[0].info.type;
	*value = call2(t, row, info, args);
	return true;
}

/* x / y: PostgreSQL takes the digits of a quotient from both values. */
static bool
divide(TbTranslator *t, TbValue *args, TbValue *value)
{
	TbValue operands[4] = {args[0], args[1]};
	TbValue scale;
	bool	nullable = args[0].nullable || args[1].nullable;

	operands[2] = tb_numeric_display(t, &args[0]);
	operands[3] = tb_numeric_display(t, &args[1]);
	tb_numeric_unify(t, 2, operands);
	for (int i = 0; i < 2; i++)
		operands[i] = tb_numeric_resize(t, &operands[i], TB_TYPE_NUM128,
										operands[i].info.scale);
	nullable |= operands[2].nullable || operands[3].nullable;
	*value = tb_builder_expr(t->builder, TB_EXPR_CALL,
							 tb_numeric_info(TB_NUM128_DIGITS, QUOTIENT_SCALE),
							 TB_FN_NUM128DIV, 4, operands, nullable);
	scale = tb_builder_expr(t->builder, TB_EXPR_CALL, tb_simple_type(TB_TYPE_INT4),
							TB_FN_NUM128DIV_SCALE, 4, operands, nullable);
	value->display_scale = scale.expr;
	value->display_max = TB_MOST_PACKED_DISPLAY;
	return true;
}

/* The cast of a value that may have too many digits: PostgreSQL raises. */
static bool
apply_checked_typmod(TbTranslator *t, const TbValue *arg, int precision, int scale,
					 TbValue *value)
{
	bool narrow = tb_numeric_type(whole_digits(arg) + 1 + scale) == TB_TYPE_NUM64 &&
		arg->info.type == TB_TYPE_NUM64;
	TbValue args[2];

	args[0] = tb_numeric_resize(t, arg, narrow ? TB_TYPE_NUM64 : TB_TYPE_NUM128, scale);
	args[1] = int4_literal(t, precision);
	*value = call2(t, narrow ? TB_FN_NUM64_TYPMOD : TB_FN_NUM128_TYPMOD, args[0].info,
				   args);
	value->info.precision = precision;
	if (precision <= TB_NUM64_DIGITS)
		*value = tb_numeric_resize(t, value, TB_TYPE_NUM64, scale);
	return true;
}

/* x::numeric(p,s) */
static bool
apply_typmod(TbTranslator *t, const TbValue *args, TbValue *value)
{
	int32 typmod;
	int	  precision;
	int	  scale;
	int	  whole = whole_digits(&args[0]);

	if (!constant_int4(&args[1], &typmod))
		return tb_refuse(t, "a cast to numeric with unknown precision");
	if (!tb_numeric_typmod(typmod, &precision, &scale))
	{
		*value = args[0];
		return true;
	}
	if (scale < 0 || precision > TB_NUM128_DIGITS || scale > precision)
		return tb_refuse(t, "a cast to numeric(%d,%d)", precision, scale);
	if (scale < args[0].info.scale)
		whole++;
	if (whole > precision - scale)
		return apply_checked_typmod(t, &args[0], precision, scale, value);
	*value = tb_numeric_resize(t, &args[0], tb_numeric_type(whole + scale), scale);
	value->info.precision = whole + scale;
	value->display_scale = TB_NONE;
	return true;
}

/* A function of one numeric, and maybe others, whose result is no numeric. */
static bool
leave_numeric(TbTranslator *t, Oid funcid, int nargs, TbValue *args, TbValue *value)
{
	uint8 types[TB_FN_MAX_ARGS];
	bool  nullable = false;
	int	  row;

	for (int i = 0; i < nargs; i++)
	{
		types[i] = args[i].info.type;
		nullable |= args[i].nullable;
	}
	row = tb_function_find(funcid, "", nargs, types);
	if (row < 0 || tb_type_is_numeric(tb_functions[row].result))
		return tb_refuse(t, "function %s is not in the catalogue",
						 format_procedure(funcid));
	*value = tb_builder_expr(t->builder, TB_EXPR_CALL,
							 tb_simple_type(tb_functions[row].result), row, nargs, args,
							 nullable);
	return true;
}

bool
tb_numeric_with_display(TbTranslator *t, const TbValue *value, bool below, TbValue *packed)
{
	int		scale = value->info.scale + 3;
	TbValue display = tb_numeric_display(t, value);
	TbValue args[2];
	Datum	unit = tb_numeric_from_int128(1, scale, scale);

	if (display_max(value) > TB_MOST_PACKED_DISPLAY || scale > TB_NUM128_DIGITS)
		return tb_refuse(
			t, "a numeric whose values print with different scales, and too many digits");
	if (!from_integer(t, F_NUMERIC_INT4, &display, &args[0]))
		return false;
	args[1] = tb_literal(t, makeConst(NUMERICOID, -1, InvalidOid, -1, unit, false, false),
						 tb_numeric_info(1, scale));
	if (!multiply(t, args, &display))
		return false;
	display.info.precision = 3;
	args[0] = *value;
	args[0].display_scale = TB_NONE;
	args[1] = display;
	return add_or_subtract(t, below ? F_NUMERIC_SUB : F_NUMERIC_ADD, args, packed);
}

bool
tb_numeric_call(TbTranslator *t, Oid funcid, int nargs, TbValue *args, TbValue *value)
{
	switch (funcid)
	{
		case F_NUMERIC_ADD:
		case F_NUMERIC_SUB:
			return add_or_subtract(t, funcid, args, value);
		case F_NUMERIC_MUL:
			return multiply(t, args, value);
		case F_NUMERIC_DIV:
			return divide(t, args, value);
		case F_NUMERIC_EQ:
		case F_NUMERIC_NE:
		case F_NUMERIC_LT:
		case F_NUMERIC_LE:
		case F_NUMERIC_GT:
		case F_NUMERIC_GE:
		case F_NUMERIC_CMP:
			return compare(t, funcid, args, value);
		case F_NUMERIC_UPLUS:
			*value = args[0];
			return true;
		case F_NUMERIC_UMINUS:
		case F_NUMERIC_ABS:
		case F_ABS_NUMERIC:
			return keep_scale(t, funcid, &args[0], value);
		case F_NUMERIC_MOD:
		case F_MOD_NUMERIC_NUMERIC:
			return modulo(t, funcid, args, value);
		case F_SIGN_NUMERIC:
		case F_CEIL_NUMERIC:
		case F_CEILING_NUMERIC:
		case F_FLOOR_NUMERIC:
			return drop_scale(t, funcid, &args[0], value);
		case F_TRUNC_NUMERIC_INT4:
			return truncate_to(t, args, value);
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
			return from_integer(t, funcid, &args[0], value);
		case F_ROUND_NUMERIC_INT4:
			return round_to(t, args, value);
		case F_NUMERIC_NUMERIC_INT4:
			return apply_typmod(t, args, value);
		default:
			return leave_numeric(t, funcid, nargs, args, value);
	}
}
