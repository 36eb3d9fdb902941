/*
 * expression_time.c - dates and times: fields, time zones, constant intervals.
 *
 * Catalogue rows that need a time zone take it as their last argument: a parameter that
 * becomes the zone's table when the query starts. So it is the zone that the SQL session
 * has then. Constant intervals become calls for their months, days and microseconds, in
 * PostgreSQL's order. Called by expression_call.c.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/formatting.h"
#include "utils/fmgroids.h"
#include "utils/regproc.h"
#include "utils/timestamp.h"

#include "pg/convert/zone_transitions.h"
#include "pg/planner/expression/expression_internal.h"
#include "pg/convert/function_lookup.h"

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
	int	  row = tb_plain_row(funcid, variant, 1, args);

	*nargs = 1;
	if (row >= 0 || args[0].info.type != TB_TYPE_TIMESTAMPTZ)
		return row;
	*nargs = 2;
	args[1] = zone_value(t, zone);
	return tb_plain_row(funcid, variant, 2, args);
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
	row = tb_plain_row(funcid, "zone:name", 2, values);
	if (row < 0)
		return tb_refuse_function(t, funcid);
	*value = tb_call_row(t, row, 2, values);
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

		safe = DATE_NOT_FINITE(date) || Abs(date) < SAFE_DAYS;
		cast = F_TIMESTAMPTZ_DATE;
	}
	else if (literal->consttype == TIMESTAMPOID)
	{
		Timestamp moment = DatumGetTimestamp(literal->constvalue);

		safe = TIMESTAMP_NOT_FINITE(moment) || Abs(moment) < SAFE_DAYS * USECS_PER_DAY;
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
			return nargs == 2 ? tb_refuse_function(t, funcid) : false;
	values[nargs] = zone_value(t, NULL);
	row = tb_plain_row(funcid, "zone", nargs + 1, values);
	if (row < 0)
		return tb_refuse_function(t, funcid);
	plain = unzoned_comparison(row);
	if (plain >= 0 && (literal_moment(t, &values[0]) || literal_moment(t, &values[1])))
		*value = tb_call_row(t, plain, 2, values);
	else
		*value = tb_call_row(t, row, nargs + 1, values);
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
	row = tb_plain_row(funcid, psprintf("interval:%s", part), nargs, args);
	if (row < 0)
		return tb_refuse_function(t, funcid);
	*value = tb_call_row(t, row, nargs, args);
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
		row = tb_plain_row(F_TIMESTAMP_DATE, "", 1, &x);
		x = tb_call_row(t, row, 1, &x);
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

bool
tb_translate_time(TbTranslator *t, Oid funcid, List *args, TbValue *value, bool *handled)
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
