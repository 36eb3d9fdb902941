/*
 * frame.c - see frame.h.
 *
 * A RANGE frame's offset is what the key's in_range function adds and subtracts. In the
 * engine it is a number in the key's own units, the same for every row. Intervals with
 * months are not, nor are days where a time zone says how long they last: there a column
 * of the rows has what the key becomes. Offsets that raise an error raise it in
 * PostgreSQL. Called by window.c.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/primnodes.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "pg/convert/numeric_format.h"
#include "pg/nodes/sort/frame.h"

typedef struct RangeOffset
{
	uint64 low;
	uint64 high;
} RangeOffset;

/* One end of a frame. */
typedef struct FrameEnd
{
	const Node	   *expr;	  /* NULL: no offset */
	Oid				in_range; /* of RANGE */
	bool			outwards; /* the larger the offset, the more rows */
	const TbOutput *limit;	  /* NULL: none */
} FrameEnd;

/* Rows or groups. */
static bool
count_offset(const Const *value, uint64 *offset)
{
	*offset = (uint64) DatumGetInt64(value->constvalue);
	return DatumGetInt64(value->constvalue) >= 0;
}

static bool
set_integer(tb_int128 value, RangeOffset *offset)
{
	offset->low = (uint64) value;
	offset->high = (uint64) (value >> 64);
	return value >= 0;
}

static bool
set_float(float8 value, RangeOffset *offset)
{
	memcpy(&offset->low, &value, sizeof(value));
	return value >= 0;
}

/*
 * In units of the key's scale. Between the key's values lie such units only, so that
 * what the offset has beyond them is cut off where it would reach further, and filled
 * up where it holds rows off.
 */
static bool
set_numeric(Numeric value, int scale, bool outwards, RangeOffset *offset)
{
	int		  digits = Max(tb_numeric_display_scale(value), scale);
	tb_int128 units;
	bool	  beyond = false;

	if (!tb_numeric_to_int128(value, digits, &units) || units < 0)
		return false;
	for (int i = scale; i < digits; i++)
	{
		beyond |= units % 10 != 0;
		units /= 10;
	}
	if (!outwards && beyond)
		units++;
	return set_integer(units, offset);
}

/* Microseconds. Days and time have the same sign, so that if the sum is a timestamp,
 * what PostgreSQL adds up on the way is one too. */
static bool
set_interval(const Interval *value, RangeOffset *offset)
{
	tb_int128 time = (tb_int128) value->day * USECS_PER_DAY + value->time;

	return value->day >= 0 && value->time >= 0 && time <= PG_INT64_MAX &&
		set_integer(time, offset);
}

/* The type of the keys that a function is for. */
static uint32
key_type(Oid in_range)
{
	switch (in_range)
	{
		case F_IN_RANGE_INT2_INT2_INT2_BOOL_BOOL:
		case F_IN_RANGE_INT2_INT2_INT4_BOOL_BOOL:
		case F_IN_RANGE_INT2_INT2_INT8_BOOL_BOOL:
			return TB_TYPE_INT2;
		case F_IN_RANGE_INT4_INT4_INT2_BOOL_BOOL:
		case F_IN_RANGE_INT4_INT4_INT4_BOOL_BOOL:
		case F_IN_RANGE_INT4_INT4_INT8_BOOL_BOOL:
			return TB_TYPE_INT4;
		case F_IN_RANGE_INT8_INT8_INT8_BOOL_BOOL:
			return TB_TYPE_INT8;
		case F_IN_RANGE_FLOAT4_FLOAT4_FLOAT8_BOOL_BOOL:
			return TB_TYPE_FLOAT4;
		case F_IN_RANGE_FLOAT8_FLOAT8_FLOAT8_BOOL_BOOL:
			return TB_TYPE_FLOAT8;
		case F_IN_RANGE_NUMERIC_NUMERIC_NUMERIC_BOOL_BOOL:
			return TB_TYPE_NUM128;
		case F_IN_RANGE_DATE_DATE_INTERVAL_BOOL_BOOL:
			return TB_TYPE_DATE;
		case F_IN_RANGE_TIMESTAMP_TIMESTAMP_INTERVAL_BOOL_BOOL:
			return TB_TYPE_TIMESTAMP;
		case F_IN_RANGE_TIMESTAMPTZ_TIMESTAMPTZ_INTERVAL_BOOL_BOOL:
			return TB_TYPE_TIMESTAMPTZ;
		default:
			return TB_TYPE_INVALID;
	}
}

static bool
is_key_type(Oid in_range, uint32 type)
{
	uint32 expected = key_type(in_range);

	return expected != TB_TYPE_INVALID &&
		(type == expected || (type == TB_TYPE_NUM64 && expected == TB_TYPE_NUM128));
}

/* False: PostgreSQL says what the offset is worth, or that it is an error. */
static bool
convert_offset(const FrameEnd *end, const Const *value, const TbOutput *key,
			   RangeOffset *offset)
{
	Datum datum = value->constvalue;

	switch (value->consttype)
	{
		case INT2OID:
			return set_integer(DatumGetInt16(datum), offset);
		case INT4OID:
			return set_integer(DatumGetInt32(datum), offset);
		case INT8OID:
			return set_integer(DatumGetInt64(datum), offset);
		case FLOAT8OID:
			return set_float(DatumGetFloat8(datum), offset);
		case NUMERICOID:
			return set_numeric(DatumGetNumeric(datum), key->scale, end->outwards, offset);
		case INTERVALOID:
			return set_interval(DatumGetIntervalP(datum), offset);
		default:
			return false;
	}
}

/* Whether rows differ in how far the interval takes them. */
static bool
varies(Oid in_range, const Const *value)
{
	const Interval *interval;

	if (value->consttype != INTERVALOID)
		return false;
	interval = DatumGetIntervalP(value->constvalue);
	return interval->month != 0 ||
		(interval->day != 0 &&
		 in_range == F_IN_RANGE_TIMESTAMPTZ_TIMESTAMPTZ_INTERVAL_BOOL_BOOL);
}

static bool
is_negative(const Const *interval)
{
	Interval zero = {0};

	return DatumGetBool(
		DirectFunctionCall2(interval_lt, interval->constvalue, IntervalPGetDatum(&zero)));
}

/* The function that adds or subtracts an interval as that in_range function does. */
static Oid
limit_function(Oid in_range, bool subtract)
{
	switch (in_range)
	{
		case F_IN_RANGE_DATE_DATE_INTERVAL_BOOL_BOOL:
			return subtract ? F_DATE_MI_INTERVAL : F_DATE_PL_INTERVAL;
		case F_IN_RANGE_TIMESTAMP_TIMESTAMP_INTERVAL_BOOL_BOOL:
			return subtract ? F_TIMESTAMP_MI_INTERVAL : F_TIMESTAMP_PL_INTERVAL;
		case F_IN_RANGE_TIMESTAMPTZ_TIMESTAMPTZ_INTERVAL_BOOL_BOOL:
			return subtract ? F_TIMESTAMPTZ_MI_INTERVAL : F_TIMESTAMPTZ_PL_INTERVAL;
		default:
			return InvalidOid;
	}
}

Expr *
tb_frame_limit(const WindowClause *clause, TbFrameSide side, const Node *key)
{
	bool  start = side == TB_FRAME_START;
	Node *offset = start ? clause->startOffset : clause->endOffset;
	Oid	  in_range = start ? clause->startInRangeFunc : clause->endInRangeFunc;
	bool  preceding = (clause->frameOptions &
					   (start ? FRAMEOPTION_START_OFFSET_PRECEDING :
								FRAMEOPTION_END_OFFSET_PRECEDING)) != 0;
	Oid	  function = limit_function(in_range, preceding == clause->inRangeAsc);

	if (!(clause->frameOptions & FRAMEOPTION_RANGE) || !OidIsValid(function) ||
		offset == NULL || !IsA(offset, Const) || ((Const *) offset)->constisnull ||
		!varies(in_range, (Const *) offset) || is_negative((Const *) offset))
		return NULL;
	return (Expr *)
		makeFuncExpr(function,
					 in_range == F_IN_RANGE_TIMESTAMPTZ_TIMESTAMPTZ_INTERVAL_BOOL_BOOL ?
						 TIMESTAMPTZOID :
						 TIMESTAMPOID,
					 list_make2((void *) key, offset), InvalidOid, InvalidOid,
					 COERCE_EXPLICIT_CALL);
}

static const char *
range_offset(const FrameEnd *end, const Const *value, const TbOutput *key,
			 RangeOffset *offset)
{
	if (key == NULL)
		return "a RANGE frame with an offset whose order key is the same in all rows of "
			   "a partition";
	if (!is_key_type(end->in_range, key->type))
		return "a RANGE frame with an offset over an order key of such a type";
	if (end->limit != NULL)
		return NULL;
	if (varies(end->in_range, value))
		return "a RANGE frame with an offset in months, or in days of a time zone, that is "
			   "negative or over groups";
	if (!convert_offset(end, value, key, offset))
		return "a RANGE frame with an offset that is negative, not a number or too large";
	return NULL;
}

/* NULL, or what speaks against it. */
static const char *
choose_offset(const FrameEnd *end, uint8 mode, const TbOutput *key, RangeOffset *offset)
{
	const Const *value = (const Const *) end->expr;

	if (end->expr == NULL)
		return NULL;
	if (!IsA(end->expr, Const) || value->constisnull)
		return "a window frame whose offset is no constant";
	if (mode == TB_FRAME_RANGE)
		return range_offset(end, value, key, offset);
	return count_offset(value, &offset->low) ? NULL :
											   "a window frame whose offset is negative";
}

static void
choose_bounds(int options, TbWindowPass *pass)
{
	pass->frame_mode = (options & FRAMEOPTION_ROWS) ? TB_FRAME_ROWS :
		(options & FRAMEOPTION_GROUPS)				? TB_FRAME_GROUPS :
													  TB_FRAME_RANGE;
	pass->start_bound = (options & FRAMEOPTION_START_UNBOUNDED_PRECEDING) ?
		TB_BOUND_UNBOUNDED_PRECEDING :
		(options & FRAMEOPTION_START_OFFSET_PRECEDING) ? TB_BOUND_PRECEDING :
		(options & FRAMEOPTION_START_CURRENT_ROW)	   ? TB_BOUND_CURRENT_ROW :
														 TB_BOUND_FOLLOWING;
	pass->end_bound = (options & FRAMEOPTION_END_UNBOUNDED_FOLLOWING) ?
		TB_BOUND_UNBOUNDED_FOLLOWING :
		(options & FRAMEOPTION_END_OFFSET_FOLLOWING) ? TB_BOUND_FOLLOWING :
		(options & FRAMEOPTION_END_CURRENT_ROW)		 ? TB_BOUND_CURRENT_ROW :
													   TB_BOUND_PRECEDING;
	pass->exclusion = (options & FRAMEOPTION_EXCLUDE_CURRENT_ROW) ? TB_EXCLUDE_CURRENT_ROW :
		(options & FRAMEOPTION_EXCLUDE_GROUP)					  ? TB_EXCLUDE_GROUP :
		(options & FRAMEOPTION_EXCLUDE_TIES)					  ? TB_EXCLUDE_TIES :
																	TB_EXCLUDE_NONE;
}

bool
tb_frame_choose(const WindowClause *clause, const TbOutput *key, const TbOutput *limits[2],
				TbWindowPass *pass, const char **reason)
{
	FrameEnd	start = {clause->startOffset, clause->startInRangeFunc};
	FrameEnd	end = {clause->endOffset, clause->endInRangeFunc};
	RangeOffset start_offset = {0};
	RangeOffset end_offset = {0};
	const char *against;

	choose_bounds(clause->frameOptions, pass);
	start.outwards = pass->start_bound == TB_BOUND_PRECEDING;
	end.outwards = pass->end_bound == TB_BOUND_FOLLOWING;
	start.limit = limits[TB_FRAME_START];
	end.limit = limits[TB_FRAME_END];
	against = choose_offset(&start, pass->frame_mode, key, &start_offset);
	if (against == NULL)
		against = choose_offset(&end, pass->frame_mode, key, &end_offset);
	if (against != NULL)
	{
		*reason = against;
		return false;
	}
	pass->start_offset = start_offset.low;
	pass->start_offset_high = start_offset.high;
	pass->end_offset = end_offset.low;
	pass->end_offset_high = end_offset.high;
	pass->start_limit = start.limit != NULL ? start.limit->first : TB_NONE;
	pass->end_limit = end.limit != NULL ? end.limit->first : TB_NONE;
	return true;
}
