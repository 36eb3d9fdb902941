/*
 * expression_call.c - functions and operators as calls of catalogue rows.
 *
 * Decides which row of the catalogue a call means: by its types, by its collation, and by
 * constant arguments: the pattern of LIKE, the field of extract, date_part and date_trunc.
 * Rows that need a time zone take it as their last argument: a parameter that becomes the
 * zone's table when the query starts. So it is the zone that the SQL session has then.
 * Constant intervals become calls for their months, days and microseconds, in PostgreSQL's
 * order. Numeric arguments are expression_numeric.c's.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/formatting.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"
#include "utils/regproc.h"
#include "utils/timestamp.h"

#include "pg/compat/pg18.h"
#include "pg/convert/function_lookup.h"
#include "pg/planner/expression/geometry_clause.h"
#include "pg/convert/numeric_format.h"
#include "pg/convert/zone_transitions.h"
#include "pg/planner/expression/collation_order.h"
#include "pg/planner/expression/expression_internal.h"
#include "pg/planner/expression/like_pattern.h"

/* ---- Rows of the catalogue ---- */

/* x IN (...) of up to so many constants is spelled out, a comparison each. */
#define MAX_SPELLED_OUT 16

/* Halving a list once, in integer comparisons: mostly a mispredicted jump. */
#define SEARCH_STEP_COST 8

typedef enum CollationNeed
{
	NEEDS_DETERMINISTIC, /* compares bytes for equality, or searches */
	NEEDS_BYTE_ORDER,
	NEEDS_C_CTYPE
} CollationNeed;

static CollationNeed
collation_need(Oid funcid)
{
	switch (funcid)
	{
		case F_TEXT_LT:
		case F_TEXT_LE:
		case F_TEXT_GT:
		case F_TEXT_GE:
		case F_BPCHARLT:
		case F_BPCHARLE:
		case F_BPCHARGT:
		case F_BPCHARGE:
		case F_BTTEXTCMP:
		case F_BPCHARCMP:
		case F_TEXT_LARGER:
		case F_TEXT_SMALLER:
		case F_BPCHAR_LARGER:
		case F_BPCHAR_SMALLER:
			return NEEDS_BYTE_ORDER;
		case F_UPPER_TEXT:
		case F_LOWER_TEXT:
		case F_INITCAP:
			return NEEDS_C_CTYPE;
		default:
			return NEEDS_DETERMINISTIC;
	}
}

/* Whether the device counts characters, as UTF-8 does. */
static bool
counts_characters(Oid funcid)
{
	switch (funcid)
	{
		case F_TEXTLEN:
		case F_LENGTH_TEXT:
		case F_CHAR_LENGTH_TEXT:
		case F_CHARACTER_LENGTH_TEXT:
		case F_LENGTH_BPCHAR:
		case F_CHAR_LENGTH_BPCHAR:
		case F_CHARACTER_LENGTH_BPCHAR:
		case F_STRPOS:
		case F_POSITION_TEXT_TEXT:
		case F_SUBSTR_TEXT_INT4_INT4:
		case F_SUBSTR_TEXT_INT4:
		case F_SUBSTRING_TEXT_INT4_INT4:
		case F_SUBSTRING_TEXT_INT4:
		case F_LEFT:
		case F_RIGHT:
			return true;
		default:
			return false;
	}
}

static bool
check_encoding(TbTranslator *t, bool by_characters)
{
	if (by_characters && GetDatabaseEncoding() != PG_UTF8)
		return tb_refuse(t, "characters are counted in an encoding other than UTF8");
	return true;
}

/* `text`: whether any argument is. */
static bool
check_collation(TbTranslator *t, Oid funcid, Oid collation, bool text)
{
	/* Two columns' collations are in conflict: PostgreSQL raises an error. */
	if (!OidIsValid(collation) && text)
		return tb_refuse(t, "no collation is known for a text");
	if (!OidIsValid(collation))
		return true;
	switch (collation_need(funcid))
	{
		case NEEDS_BYTE_ORDER:
			if (!tb_collation_orders_by_bytes(collation))
				return tb_refuse(
					t, "text is ordered by a collation that does not compare bytes");
			return true;
		case NEEDS_C_CTYPE:
			if (!tb_ctype_is_c(collation))
				return tb_refuse(t, "letter case depends on a collation other than C");
			return true;
		default:
			if (!tb_collation_is_deterministic(collation))
				return tb_refuse(t, "the collation is not deterministic");
			return true;
	}
}

static bool
any_text(int nargs, const TbValue *args)
{
	for (int i = 0; i < nargs; i++)
		if (tb_type_is_character(args[i].info.type))
			return true;
	return false;
}

static bool
any_numeric(int nargs, const TbValue *args)
{
	for (int i = 0; i < nargs; i++)
		if (tb_type_is_numeric(args[i].info.type))
			return true;
	return false;
}

static TbValue
call_row(TbTranslator *t, int row, int nargs, const TbValue *args)
{
	bool nullable = (tb_functions[row].flags & TB_FN_NULLS) != 0;

	for (int i = 0; i < nargs; i++)
		nullable |= args[i].nullable;
	return tb_builder_expr(t->builder, TB_EXPR_CALL,
						   tb_simple_type(tb_functions[row].result), row, nargs, args,
						   nullable);
}

static bool
refuse_function(TbTranslator *t, Oid funcid)
{
	return tb_refuse(t, "function %s is not in the catalogue", format_procedure(funcid));
}

static int
plain_row(Oid funcid, const char *variant, int nargs, const TbValue *args)
{
	uint8 types[TB_FN_MAX_ARGS];

	if (nargs > TB_FN_MAX_ARGS)
		return -1;
	for (int i = 0; i < nargs; i++)
		types[i] = args[i].info.type;
	return tb_function_find(funcid, variant, nargs, types);
}

/* ---- Dates and times: fields, time zones, constant intervals ---- */

/* About 1900 years each way from 2000: no zone moves such a moment out of range. */
#define SAFE_DAYS 700000

typedef struct TranslatedZone
{
	const Const *name; /* NULL: the session's */
	TbValue		 value;
} TranslatedZone;

/* The parameter that is the zone's table. */
static TbValue
zone_value(TbTranslator *t, const Const *name)
{
	TranslatedZone *zone;
	ListCell	   *lc;

	foreach(lc, t->zones)
	{
		zone = lfirst(lc);
		if (equal(zone->name, name))
			return zone->value;
	}
	zone = palloc(sizeof(TranslatedZone));
	zone->name = name;
	zone->value = tb_builder_param(t->builder,
								   name != NULL ?
									   (Expr *) copyObject(name) :
									   (Expr *) makeNullConst(TEXTOID, -1,
															  DEFAULT_COLLATION_OID),
								   tb_simple_type(TB_TYPE_TEXT), TB_PARAM_ZONE);
	zone->value.constant = NULL;
	t->zones = lappend(t->zones, zone);
	return zone->value;
}

/* The constant name of a zone that devices know. */
static bool
check_zone(TbTranslator *t, Node *name)
{
	if (!IsA(name, Const) || ((Const *) name)->constisnull)
		return tb_refuse(t, "a time zone that is not a constant");
	if (!tb_zone_is_known(DatumGetTextPP(((Const *) name)->constvalue)))
		return tb_refuse(t, "a time zone that devices do not know");
	return true;
}

/*
 * extract's numeric result: of a timestamp PostgreSQL prints seconds and
 * smaller with digits after the point, everything else without. All fit ten
 * digits but the epoch in microseconds.
 */
static TbTypeInfo
field_result(const TbFunction *row, const char *field)
{
	TbTypeInfo info;
	bool	   fraction = row->args[0] != TB_TYPE_DATE;

	if (!tb_type_is_numeric(row->result))
		return tb_simple_type(row->result);
	if (fraction && strcmp(field, "epoch") == 0)
		info = tb_numeric_info(19, 6);
	else if (fraction && strcmp(field, "second") == 0)
		info = tb_numeric_info(10, 6);
	else if (fraction && strcmp(field, "milliseconds") == 0)
		info = tb_numeric_info(10, 3);
	else
		info = tb_numeric_info(strcmp(field, "epoch") == 0 ? TB_NUM64_DIGITS : 10, 0);
	info.type = row->result;
	return info;
}

/* The field, or unit, of extract, date_part and date_trunc in small letters. */
static char *
field_name(const Const *field)
{
	char *name = text_to_cstring(DatumGetTextPP(field->constvalue));

	return str_tolower(name, strlen(name), C_COLLATION_OID);
}

/* The row of that field of a value: alone, or in a zone. */
static int
field_row(TbTranslator *t, Oid funcid, const char *field, const Const *zone, int *nargs,
		  TbValue *args)
{
	char *variant = psprintf("field:%s", field);
	int	  row = plain_row(funcid, variant, 1, args);

	*nargs = 1;
	if (row >= 0 || args[0].info.type != TB_TYPE_TIMESTAMPTZ)
		return row;
	*nargs = 2;
	args[1] = zone_value(t, zone);
	return plain_row(funcid, variant, 2, args);
}

/* extract(field from x), date_part(field, x), date_trunc(field, x [, zone]) */
static bool
translate_field(TbTranslator *t, Oid funcid, List *args, const Const *zone, TbValue *value)
{
	Const	  *field = (Const *) linitial(args);
	char	  *name;
	TbValue	   values[2];
	TbTypeInfo info;
	int		   nargs;
	int		   row;

	if (!IsA(field, Const) || field->constisnull)
		return tb_refuse(t, "a date field that is not a constant");
	name = field_name(field);
	if (!tb_translate(t, lsecond(args), &values[0]))
		return false;
	row = field_row(t, funcid, name, zone, &nargs, values);
	if (row < 0)
		return tb_refuse(t, "field \"%s\" of function %s is not in the catalogue", name,
						 format_procedure(funcid));
	info = field_result(&tb_functions[row], name);
	*value = tb_builder_expr(t->builder, TB_EXPR_CALL, info, row, nargs, values,
							 values[0].nullable);
	return true;
}

static bool
date_trunc_in_zone(TbTranslator *t, List *args, TbValue *value)
{
	return check_zone(t, lthird(args)) &&
		translate_field(t, F_DATE_TRUNC_TEXT_TIMESTAMPTZ, args, lthird_node(Const, args),
						value);
}

/* timezone(name, x): x AT TIME ZONE name */
static bool
translate_at_time_zone(TbTranslator *t, Oid funcid, List *args, TbValue *value)
{
	TbValue values[2];
	int		row;

	if (!check_zone(t, linitial(args)) || !tb_translate(t, lsecond(args), &values[0]))
		return false;
	values[1] = zone_value(t, linitial_node(Const, args));
	row = plain_row(funcid, "zone:name", 2, values);
	if (row < 0)
		return refuse_function(t, funcid);
	*value = call_row(t, row, 2, values);
	return true;
}

/* Of timestamptz, the comparison that a comparison with dates or timestamps is
 * once these are timestamptz; -1 if the row is none. */
static int
unzoned_comparison(int row)
{
	static const int first[] = {TB_FN_DATE_EQ_TIMESTAMPTZ, TB_FN_TIMESTAMPTZ_EQ_DATE,
								TB_FN_TIMESTAMP_EQ_TIMESTAMPTZ,
								TB_FN_TIMESTAMPTZ_EQ_TIMESTAMP};

	for (int i = 0; i < (int) lengthof(first); i++)
		if (row >= first[i] && row < first[i] + 6)
			return TB_FN_TIMESTAMPTZ_EQ + row - first[i];
	return -1;
}

/* A literal date or timestamp as a timestamptz, computed when the query starts. */
static bool
literal_moment(TbTranslator *t, TbValue *value)
{
	const Const *literal = value->constant;
	bool		 safe = false;
	Oid			 cast = F_TIMESTAMPTZ_TIMESTAMP;

	if (literal == NULL || literal->constisnull)
		return false;
	if (literal->consttype == DATEOID)
	{
		DateADT date = DatumGetDateADT(literal->constvalue);

		safe = DATE_NOT_FINITE(date) || (date > -SAFE_DAYS && date < SAFE_DAYS);
		cast = F_TIMESTAMPTZ_DATE;
	}
	else if (literal->consttype == TIMESTAMPOID)
	{
		Timestamp moment = DatumGetTimestamp(literal->constvalue);

		safe = TIMESTAMP_NOT_FINITE(moment) ||
			(moment > -SAFE_DAYS * USECS_PER_DAY && moment < SAFE_DAYS * USECS_PER_DAY);
	}
	if (!safe)
		return false;
	*value = tb_builder_param(t->builder,
							  (Expr *) makeFuncExpr(cast, TIMESTAMPTZOID,
													list_make1(copyObjectImpl(literal)),
													InvalidOid, InvalidOid,
													COERCE_EXPLICIT_CALL),
							  tb_simple_type(TB_TYPE_TIMESTAMPTZ), TB_PARAM_NULLABLE);
	return true;
}

/* What depends on the SQL session's zone: casts and comparisons. */
static bool
translate_zoned(TbTranslator *t, Oid funcid, List *args, TbValue *value)
{
	TbValue	  values[3];
	int		  nargs = 0;
	int		  row;
	int		  plain;
	ListCell *lc;

	foreach(lc, args)
		if (nargs == 2 || !tb_translate(t, lfirst(lc), &values[nargs++]))
			return nargs == 2 ? refuse_function(t, funcid) : false;
	values[nargs] = zone_value(t, NULL);
	row = plain_row(funcid, "zone", nargs + 1, values);
	if (row < 0)
		return refuse_function(t, funcid);
	plain = unzoned_comparison(row);
	if (plain >= 0 && (literal_moment(t, &values[0]) || literal_moment(t, &values[1])))
		*value = call_row(t, plain, 2, values);
	else
		*value = call_row(t, row, nargs + 1, values);
	return true;
}

/* x plus a number of months, days or microseconds. */
static bool
add_part(TbTranslator *t, Oid funcid, const char *part, Oid type, int64 count,
		 TbValue *value)
{
	TbValue args[3];
	int		nargs = 2;
	int		row;
	Datum	datum = type == INT4OID ? Int32GetDatum((int32) count) : Int64GetDatum(count);
	Const  *literal = makeConst(type, -1, InvalidOid, type == INT4OID ? 4 : 8, datum, false,
								true);

	if (count == 0)
		return true;
	args[0] = *value;
	args[1] = tb_literal(t, literal,
						 tb_simple_type(type == INT4OID ? TB_TYPE_INT4 : TB_TYPE_INT8));
	if (value->info.type == TB_TYPE_TIMESTAMPTZ && type == INT4OID)
		args[nargs++] = zone_value(t, NULL);
	row = plain_row(funcid, psprintf("interval:%s", part), nargs, args);
	if (row < 0)
		return refuse_function(t, funcid);
	*value = call_row(t, row, nargs, args);
	return true;
}

/* x + interval, x - interval; of a date the result is a timestamp */
static bool
translate_interval(TbTranslator *t, Oid funcid, List *args, TbValue *value)
{
	bool subtract = funcid == F_DATE_MI_INTERVAL || funcid == F_TIMESTAMP_MI_INTERVAL ||
		funcid == F_TIMESTAMPTZ_MI_INTERVAL;
	const Const *literal = lsecond(args);
	Interval	 span;
	TbValue		 x;
	int			 row;

	/* Take the interval. */
	if (!IsA(literal, Const) || literal->constisnull)
		return tb_refuse(t, "an interval that is not a constant");
	span = *DatumGetIntervalP(literal->constvalue);
	if (span.month == PG_INT32_MIN || span.day == PG_INT32_MIN || span.time == PG_INT64_MIN)
		return tb_refuse(t, "an interval that is out of range");
	if (!tb_translate(t, linitial(args), &x))
		return false;
	/* A date becomes a timestamp. */
	if (x.info.type == TB_TYPE_DATE)
	{
		row = plain_row(F_TIMESTAMP_DATE, "", 1, &x);
		x = call_row(t, row, 1, &x);
	}
	/* Subtraction adds the opposite. */
	if (subtract)
	{
		span.month = -span.month;
		span.day = -span.day;
		span.time = -span.time;
	}
	/* Add part after part. */
	funcid = x.info.type == TB_TYPE_TIMESTAMPTZ ? F_TIMESTAMPTZ_PL_INTERVAL :
												  F_TIMESTAMP_PL_INTERVAL;
	if (!add_part(t, funcid, "months", INT4OID, span.month, &x) ||
		!add_part(t, funcid, "days", INT4OID, span.day, &x) ||
		!add_part(t, funcid, "microseconds", INT8OID, span.time, &x))
		return false;
	*value = x;
	return true;
}

static bool
translate_time(TbTranslator *t, Oid funcid, List *args, TbValue *value, bool *handled)
{
	*handled = true;
	switch (funcid)
	{
		case F_DATE_PL_INTERVAL:
		case F_DATE_MI_INTERVAL:
		case F_TIMESTAMP_PL_INTERVAL:
		case F_TIMESTAMP_MI_INTERVAL:
		case F_TIMESTAMPTZ_PL_INTERVAL:
		case F_TIMESTAMPTZ_MI_INTERVAL:
			return translate_interval(t, funcid, args, value);
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
			return date_trunc_in_zone(t, args, value);
		default:
			break;
	}
	if (tb_function_has_variants(funcid, "field:"))
		return translate_field(t, funcid, args, NULL, value);
	if (tb_function_has_variants(funcid, "zone:name"))
		return translate_at_time_zone(t, funcid, args, value);
	if (tb_function_has_variants(funcid, "zone"))
		return translate_zoned(t, funcid, args, value);
	*handled = false;
	return false;
}

/* ---- Calls ---- */

static bool
is_cast_to_numeric(Oid funcid)
{
	return funcid == F_NUMERIC_INT2 || funcid == F_NUMERIC_INT4 || funcid == F_NUMERIC_INT8;
}

bool
tb_call_on_values(TbTranslator *t, Oid funcid, Oid collation, int nargs, TbValue *args,
				  TbValue *value)
{
	int row;

	if (!check_collation(t, funcid, collation, any_text(nargs, args)) ||
		!check_encoding(t, counts_characters(funcid)))
		return false;
	if (any_numeric(nargs, args) || is_cast_to_numeric(funcid))
		return tb_numeric_call(t, funcid, nargs, args, value);
	row = plain_row(funcid, "", nargs, args);
	if (row < 0 || tb_type_is_numeric(tb_functions[row].result))
		return refuse_function(t, funcid);
	*value = call_row(t, row, nargs, args);
	return true;
}

static bool
is_like(Oid funcid, bool *negated)
{
	*negated = funcid == F_TEXTNLIKE || funcid == F_NOTLIKE_TEXT_TEXT ||
		funcid == F_BPCHARNLIKE;
	return *negated || funcid == F_TEXTLIKE || funcid == F_LIKE_TEXT_TEXT ||
		funcid == F_BPCHARLIKE;
}

static TbValue
text_literal(TbTranslator *t, const char *bytes, int length)
{
	Const *literal = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
							   PointerGetDatum(cstring_to_text_with_len(bytes, length)),
							   false, false);

	return tb_literal(t, literal, tb_simple_type(TB_TYPE_TEXT));
}

/* subject [NOT] LIKE pattern */
static bool
translate_like(TbTranslator *t, Oid funcid, bool negated, List *args, TbValue *value)
{
	Const	  *pattern = (Const *) lsecond(args);
	TbValue	   values[2];
	text	  *pattern_text;
	char	  *literal;
	int		   length;
	int		   literal_length;
	TbLikeKind kind;
	int		   row;

	if (!IsA(pattern, Const) || pattern->constisnull)
		return tb_refuse(t, "a LIKE pattern that is not a constant");
	if (!tb_encoding_is_searchable())
		return tb_refuse(t, "LIKE in a multibyte encoding other than UTF8");
	if (!tb_translate(t, linitial(args), &values[0]))
		return false;
	pattern_text = DatumGetTextPP(pattern->constvalue);
	length = VARSIZE_ANY_EXHDR(pattern_text);
	literal = palloc(length + 1);
	kind = tb_like_classify(VARDATA_ANY(pattern_text), length, literal, &literal_length);
	if (kind == TB_LIKE_INVALID)
		return tb_refuse(t, "a LIKE pattern that ends with the escape character");
	if (!check_encoding(t, kind == TB_LIKE_GENERAL))
		return false;
	if (kind == TB_LIKE_GENERAL)
		values[1] = text_literal(t, VARDATA_ANY(pattern_text), length);
	else
		values[1] = text_literal(t, literal, literal_length);
	row = plain_row(funcid,
					psprintf("%s:%s", negated ? "notlike" : "like",
							 tb_like_kind_name(kind)),
					2, values);
	if (row < 0)
		return refuse_function(t, funcid);
	*value = call_row(t, row, 2, values);
	return true;
}

bool
tb_translate_call(TbTranslator *t, Oid funcid, Oid collation, List *args, TbValue *value)
{
	TbValue	  values[TB_FN_MAX_ARGS];
	int		  nargs = 0;
	bool	  negated;
	bool	  handled = false;
	bool	  ok;
	ListCell *lc;

	if (is_like(funcid, &negated))
		return check_collation(t, funcid, collation, true) &&
			translate_like(t, funcid, negated, args, value);
	ok = translate_time(t, funcid, args, value, &handled);
	if (handled)
		return ok;
	if (list_length(args) > TB_FN_MAX_ARGS)
		return refuse_function(t, funcid);
	/* Of an unknown function its name is a better reason than its arguments. */
	if (!tb_function_is_known(funcid) && funcid != F_NUMERIC_NUMERIC_INT4 &&
		funcid != F_ROUND_NUMERIC_INT4 && funcid != F_NUMERIC_UPLUS)
		return refuse_function(t, funcid);
	if (!t->leaves_undecided && tb_is_geos_predicate(funcid))
		return tb_refuse(t, "PostGIS decides function %s of shapes near each other",
						 format_procedure(funcid));
	foreach(lc, args)
	{
		if (!tb_translate(t, lfirst(lc), &values[nargs++]))
			return false;
	}
	return tb_call_on_values(t, funcid, collation, nargs, values, value);
}

bool
tb_comparison_row(TbTranslator *t, Oid funcid, Oid collation, TbValue *args, int *row)
{
	if (!check_collation(t, funcid, collation, any_text(2, args)))
		return false;
	if (any_numeric(2, args))
		tb_numeric_unify(t, 2, args);
	*row = plain_row(funcid, "", 2, args);
	if (*row < 0 || tb_functions[*row].result != TB_TYPE_BOOL)
		return refuse_function(t, funcid);
	return true;
}

static bool
translate_pair(TbTranslator *t, OpExpr *expr, TbValue *args)
{
	set_opfuncid(expr);
	return list_length(expr->args) == 2 &&
		tb_translate(t, linitial(expr->args), &args[0]) &&
		tb_translate(t, lsecond(expr->args), &args[1]);
}

bool
tb_translate_distinct(TbTranslator *t, OpExpr *expr, TbValue *value)
{
	TbValue args[2];
	int		row;

	if (!translate_pair(t, expr, args) ||
		!tb_comparison_row(t, expr->opfuncid, expr->inputcollid, args, &row))
		return false;
	*value = tb_builder_expr(t->builder, TB_EXPR_IS_DISTINCT, tb_simple_type(TB_TYPE_BOOL),
							 row, 2, args, false);
	return true;
}

/* CASE WHEN a = b THEN NULL ELSE a END */
bool
tb_translate_nullif(TbTranslator *t, OpExpr *expr, TbValue *value)
{
	TbValue args[2];
	TbValue branches[2];
	TbValue condition;
	Oid		type = exprType(linitial(expr->args));

	if (!translate_pair(t, expr, args))
		return false;
	branches[1] = args[0];
	branches[0] = tb_literal(t, makeNullConst(type, -1, InvalidOid), args[0].info);
	if (!tb_call_on_values(t, expr->opfuncid, expr->inputcollid, 2, args, &condition))
		return false;
	return tb_make_case(t, 1, &condition, branches, value);
}

/* The array's elements as literals. */
static List *
array_literals(const Const *array)
{
	ArrayType *values = DatumGetArrayTypeP(array->constvalue);
	Oid		   type = ARR_ELEMTYPE(values);
	int16	   length;
	bool	   byval;
	char	   align;
	Datum	  *elements;
	bool	  *nulls;
	int		   count;
	List	  *result = NIL;

	get_typlenbyvalalign(type, &length, &byval, &align);
	deconstruct_array(values, type, length, byval, align, &elements, &nulls, &count);
	for (int i = 0; i < count; i++)
		result = lappend(result,
						 makeConst(type, -1, array->constcollid, length, elements[i],
								   nulls[i], byval));
	return result;
}

/* x op e1 OR x op e2 ...; AND for ALL */
static bool
spell_out(TbTranslator *t, ScalarArrayOpExpr *expr, List *elements, TbValue *value)
{
	TbValue	  calls[MAX_SPELLED_OUT];
	TbValue	  args[2];
	bool	  nullable = false;
	int		  count = 0;
	ListCell *lc;

	foreach(lc, elements)
	{
		if (!tb_translate(t, linitial(expr->args), &args[0]) ||
			!tb_translate(t, lfirst(lc), &args[1]) ||
			!tb_call_on_values(t, expr->opfuncid, expr->inputcollid, 2, args,
							   &calls[count]))
			return false;
		nullable |= calls[count++].nullable;
	}
	if (count == 1)
		*value = calls[0];
	else
		*value = tb_builder_expr(t->builder, expr->useOr ? TB_EXPR_OR : TB_EXPR_AND,
								 tb_simple_type(TB_TYPE_BOOL), 0, count, calls, nullable);
	return true;
}

/* The type of an array parameter's elements; numerics must be literals, whose
 * largest scale and number of digits they share. */
static bool
array_element_type(TbTranslator *t, Expr *array, List *elements, TbTypeInfo *info)
{
	Oid		  type = get_element_type(exprType((Node *) array));
	int		  scale = 0;
	int		  whole = 1;
	ListCell *lc;

	if (tb_plain_type_of(type, info))
		return true;
	if (getBaseType(type) != NUMERICOID || elements == NIL)
		return tb_refuse(t, "an array of type %s", format_type_be(type));
	foreach(lc, elements)
	{
		TbValue element;

		if (!tb_translate(t, lfirst(lc), &element))
			return false;
		scale = Max(scale, element.info.scale);
		whole = Max(whole, element.info.precision - element.info.scale);
	}
	if (whole + scale > TB_NUM128_DIGITS)
		return tb_refuse(t, "an array of numerics of more than %d digits",
						 TB_NUM128_DIGITS);
	*info = tb_numeric_info(whole + scale, scale);
	return true;
}

static bool
numeric_element_fits(TbTypeInfo *info, const TbValue *operand)
{
	int scale = Max(info->scale, operand->info.scale);
	int precision = Max(info->precision - info->scale,
						operand->info.precision - operand->info.scale) +
		scale;

	if (precision > TB_NUM128_DIGITS)
		return false;
	*info = tb_numeric_info(precision, scale);
	return true;
}

/* x = ANY (...), or x <> ALL (...) */
static bool
is_equality(Oid operator, bool any)
{
	Oid equality = any ? operator: get_negator(operator);

	return OidIsValid(equality) && get_mergejoin_opfamilies(equality) != NIL;
}

/*
 * Of looking for a value in a list, in integer comparisons: sorted ones are halved, others
 * gone through. Lengths are rounded up to powers of four, so that programs differ little.
 */
static uint32
search_cost(int length, uint8 type, bool equality, int row)
{
	bool sorted = equality && !tb_type_is_text(type) && type != TB_TYPE_NUM128 &&
		type != TB_TYPE_FLOAT4 && type != TB_TYPE_FLOAT8 && type != TB_TYPE_BOOL;
	uint32 rounded = 16;
	uint32 steps = 4;

	for (; rounded < (uint32) length && rounded < 1 << 24; rounded *= 4)
		steps += 2;
	return sorted ? steps * SEARCH_STEP_COST : rounded * tb_functions[row].cost;
}

static bool
search_array(TbTranslator *t, ScalarArrayOpExpr *expr, List *elements, TbValue *value)
{
	Expr	  *array = lsecond(expr->args);
	TbTypeInfo info;
	TbValue	   args[2];
	int		   row;

	if (!array_element_type(t, array, elements, &info) ||
		!tb_translate(t, linitial(expr->args), &args[0]))
		return false;
	if (tb_type_is_numeric(info.type))
	{
		if (!tb_type_is_numeric(args[0].info.type) ||
			!numeric_element_fits(&info, &args[0]))
			return tb_refuse(t, "an array of numerics of more than %d digits",
							 TB_NUM128_DIGITS);
		args[0] = tb_numeric_resize(t, &args[0], info.type, info.scale);
	}
	args[1] = tb_builder_param(t->builder, array, info,
							   TB_PARAM_ARRAY |
								   (IsA(array, Const) ? 0 : TB_PARAM_NULLABLE));
	args[1].constant = NULL;
	if (!tb_comparison_row(t, expr->opfuncid, expr->inputcollid, args, &row))
		return false;
	/* An element may be NULL even where the array is not. */
	*value = tb_builder_expr(t->builder, expr->useOr ? TB_EXPR_ANY : TB_EXPR_ALL,
							 tb_simple_type(TB_TYPE_BOOL), row, 2, args, true);
	tb_builder_add_cost(t->builder, value,
						search_cost(list_length(elements), info.type,
									is_equality(expr->opno, expr->useOr), row));
	return true;
}

bool
tb_translate_array_op(TbTranslator *t, ScalarArrayOpExpr *expr, TbValue *value)
{
	Node *array = lsecond(expr->args);
	List *elements = NIL;

	set_sa_opfuncid(expr);
	if (IsA(array, Const) && !((Const *) array)->constisnull)
		elements = array_literals((Const *) array);
	else if (IsA(array, Const))
		return tb_refuse(t, "a NULL array");
	else if (!IsA(array, Param) || ((Param *) array)->paramkind != PARAM_EXTERN)
		return tb_refuse(t, "an array that is not a constant or a parameter");
	if (elements != NIL && list_length(elements) <= MAX_SPELLED_OUT)
		return spell_out(t, expr, elements, value);
	return search_array(t, expr, elements, value);
}
