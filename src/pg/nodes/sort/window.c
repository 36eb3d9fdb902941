/*
 * window.c - see window.h.
 *
 * A clause is a pass; its partition keys come first, then those of its order. An
 * average is a sum and a count. Run conditions, which the planner has taken out of the
 * query around this one, must all become conditions.
 *
 * A frame is taken only if its bounds are constants, or offsets that the engine compares as
 * PostgreSQL would. A RANGE frame's offset is what the key's in_range function adds and
 * subtracts. In the engine it is a number in the key's own units, the same for every row.
 * Intervals with months are not, nor are days where a time zone says how long they last:
 * there a column of the rows has what the key becomes. Offsets that raise an error raise it
 * in PostgreSQL.
 *
 * Called by GpuSort's planning. Frames come first, then functions, then passes.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "pg/compat/pg17.h"
#include "pg/convert/numeric_format.h"
#include "pg/convert/type_map.h"
#include "pg/nodes/sort/sort_key.h"
#include "pg/nodes/sort/window.h"
#include "pg/planner/expression/aggregate_kind.h"
#include "pg/planner/expression/collation_order.h"

typedef enum FrameSide
{
	TB_FRAME_START,
	TB_FRAME_END
} FrameSide;

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

/* What `key`, the window's one order key, becomes by the offset of that side, if rows
 * differ in how far it takes them (TbWindowPass); else NULL. */
static Expr *
limit_of_key(const WindowClause *clause, FrameSide side, const Node *key)
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

/*
 * Sets mode, bounds, offsets, limits and exclusion of the pass. `key`: the column of the
 * one order key, if it tells rows of a partition apart; else NULL. `limits`: those of
 * limit_of_key, by side; NULL: no such column. False, with *reason, if the frame, or an
 * error that it will raise, is PostgreSQL's.
 */
static bool
choose_frame(const WindowClause *clause, const TbOutput *key, const TbOutput *limits[2],
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

typedef struct Windows
{
	PlannerInfo		   *root;
	TbSortInput		   *input;
	TbResultBuilder	   *builder;
	const WindowClause *clause;		 /* of the current pass */
	TbWindowPass		pass;
	int					nkeys;		 /* of the pass */
	bool				frames_used; /* a function of the pass looks at its frames */
	const char		   *reason;
} Windows;

/* A window function under construction. */
typedef struct Call
{
	WindowFunc		*node;
	TbWindowFunction function;
	const TbOutput	*arg; /* first argument's column; NULL: none */
	TbOutput		 output;
} Call;

static bool
refuse(Windows *w, const char *reason)
{
	w->reason = reason;
	return false;
}

/* The windows of a path from the last that it computes to the first. */
static List *
windows_of_path(Path *path)
{
	List *result = NIL;

	for (;;)
	{
		switch (nodeTag(path))
		{
			case T_WindowAggPath:
				result = lcons(((WindowAggPath *) path)->winclause, result);
				path = ((WindowAggPath *) path)->subpath;
				break;
			case T_SortPath:
			case T_IncrementalSortPath:
				path = ((SortPath *) path)->subpath;
				break;
			default:
				return result;
		}
	}
}

List *
tb_windows_of_paths(const List *paths)
{
	ListCell *lc;

	foreach(lc, paths)
		if (IsA(lfirst(lc), WindowAggPath))
			return windows_of_path(lfirst(lc));
	return NIL;
}

static List *
functions_of(PlannerInfo *root, const WindowClause *clause)
{
	WindowFuncLists *lists = find_window_functions((Node *) root->processed_tlist,
												   list_length(root->parse->windowClause));

	return lists->windowFuncs[clause->winref];
}

static bool
is_offset_function(Oid f)
{
	return TB_IS_ONE_OF(f, F_LAG_ANYELEMENT, F_LAG_ANYELEMENT_INT4,
						F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE, F_LEAD_ANYELEMENT,
						F_LEAD_ANYELEMENT_INT4, F_LEAD_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE);
}

static bool
is_null_constant(const Node *expr)
{
	return IsA(expr, Const) && ((const Const *) expr)->constisnull;
}

/* Whether the first argument is a column, not a number that the plan holds. */
static bool
takes_column(const WindowFunc *call)
{
	if (call->args == NIL || call->winfnoid == F_NTILE)
		return false;
	return call->winfnoid != F_COUNT_ANY || !IsA(linitial(call->args), Const);
}

/* The value of rows that lag or lead does not find; NULL: NULL. */
static Expr *
default_of(const WindowFunc *call)
{
	if (!is_offset_function(call->winfnoid) || list_length(call->args) < 3 ||
		is_null_constant(lthird(call->args)))
		return NULL;
	return lthird(call->args);
}

/* What a RANGE frame's ends are compared with, where that takes a column. */
static Expr *
frame_limit(PlannerInfo *root, const WindowClause *clause, FrameSide side)
{
	SortGroupClause *key;

	if (list_length(clause->orderClause) != 1)
		return NULL;
	key = linitial_node(SortGroupClause, clause->orderClause);
	return limit_of_key(clause, side, get_sortgroupclause_expr(key, root->processed_tlist));
}

List *
tb_window_exprs(PlannerInfo *root, List *windows)
{
	List	 *result = NIL;
	ListCell *window;

	foreach(window, windows)
	{
		WindowClause *clause = lfirst_node(WindowClause, window);
		ListCell	 *lc;

		/* Keys. */
		foreach(lc, list_concat_copy(clause->partitionClause, clause->orderClause))
			result =
				list_append_unique(result,
								   get_sortgroupclause_expr(lfirst_node(SortGroupClause,
																		lc),
															root->processed_tlist));
		/* Limits of frames. */
		for (int side = TB_FRAME_START; side <= TB_FRAME_END; side++)
		{
			Expr *limit = frame_limit(root, clause, side);

			if (limit != NULL)
				result = list_append_unique(result, limit);
		}
		/* Arguments, defaults and filters. */
		foreach(lc, functions_of(root, clause))
		{
			WindowFunc *call = lfirst_node(WindowFunc, lc);

			if (takes_column(call))
				result = list_append_unique(result, linitial(call->args));
			if (default_of(call) != NULL)
				result = list_append_unique(result, default_of(call));
			if (call->aggfilter != NULL)
				result = list_append_unique(result, call->aggfilter);
		}
	}
	return result;
}

/* The column of the order key that comes last in `keys`. */
static const TbOutput *
order_key(const Windows *w, const List *keys)
{
	Node *expr;

	if (list_length(w->clause->orderClause) != 1 ||
		list_length(keys) != w->pass.npartition + 1)
		return NULL;
	expr = get_sortgroupclause_expr(linitial_node(SortGroupClause, w->clause->orderClause),
									w->root->processed_tlist);
	return tb_result_columns_find(&w->input->columns, (Expr *) expr);
}

/* Keys and frame. */
static bool
add_pass(Windows *w)
{
	List		   *keys = NIL;
	const TbOutput *limits[2] = {NULL, NULL};

	/* Limits of its frame. */
	for (int side = TB_FRAME_START; side <= TB_FRAME_END; side++)
	{
		Expr *limit = frame_limit(w->root, w->clause, side);

		if (limit != NULL)
			limits[side] = tb_result_columns_find(&w->input->columns, limit);
	}
	/* Partition keys, then the order's. */
	memset(&w->pass, 0, sizeof(w->pass));
	w->frames_used = false;
	if (!tb_sort_keys_add(w->root, w->input, w->clause->partitionClause, false, &keys,
						  &w->reason))
		return false;
	w->pass.npartition = list_length(keys);
	if (!tb_sort_keys_add(w->root, w->input, w->clause->orderClause, true, &keys,
						  &w->reason) ||
		!choose_frame(w->clause, order_key(w, keys), limits, &w->pass, &w->reason))
		return false;
	w->nkeys = list_length(keys);
	tb_result_add_pass(w->builder, &w->pass, keys);
	return true;
}

/* The column of an expression whose bytes are its value. */
static const TbOutput *
find_column(Windows *w, Expr *expr)
{
	const TbOutput *output = tb_result_columns_find(&w->input->columns, expr);

	if (output != NULL && output->kind != TB_OUT_BOOL && tb_output_is_ordered(output))
		return output;
	refuse(w, "a window function of what is computed of aggregates");
	return NULL;
}

/* Adds a function of the argument, or of all rows. */
static uint32
add_function(Windows *w, const Call *call, TbWindowKind kind, uint32 arg)
{
	TbWindowFunction function = call->function;

	w->frames_used |= kind >= TB_WINDOW_FIRST_VALUE;
	function.kind = kind;
	function.arg = arg;
	return tb_result_add_function(w->builder, &function);
}

static bool
plain_output(Windows *w, Call *call, TbWindowKind kind)
{
	uint32 arg = call->arg != NULL ? call->arg->first : TB_NONE;

	call->output.kind = TB_OUT_VALUE;
	call->output.type = tb_window_type(kind,
									   call->arg != NULL ? call->arg->type :
														   TB_TYPE_INVALID);
	call->output.display = TB_NONE;
	call->output.first = add_function(w, call, kind, arg);
	return true;
}

/* A value of the argument's column is returned as it is. */
static bool
value_output(Windows *w, Call *call, TbWindowKind kind)
{
	if (call->arg->display != TB_NONE)
		return refuse(
			w, "a window function that returns numerics which print with different scales");
	call->output = *call->arg;
	call->output.first = add_function(w, call, kind, call->arg->first);
	return true;
}

static bool
constant_int(const Node *expr, int32 *value)
{
	if (!IsA(expr, Const) || ((const Const *) expr)->constisnull ||
		((const Const *) expr)->consttype != INT4OID)
		return false;
	*value = DatumGetInt32(((const Const *) expr)->constvalue);
	return true;
}

static bool
ntile_output(Windows *w, Call *call)
{
	int32 buckets;

	if (!constant_int(linitial(call->node->args), &buckets) || buckets <= 0)
		return refuse(w, "ntile of a number of buckets that is no constant");
	call->function.n = buckets;
	return plain_output(w, call, TB_WINDOW_NTILE);
}

static bool
nth_output(Windows *w, Call *call)
{
	int32 n;

	if (!constant_int(lsecond(call->node->args), &n) || n <= 0)
		return refuse(w, "nth_value of a number that is no constant");
	call->function.n = n;
	return value_output(w, call, TB_WINDOW_NTH_VALUE);
}

static bool
offset_output(Windows *w, Call *call, TbWindowKind kind)
{
	Expr *otherwise = default_of(call->node);
	int32 n = 1;

	if (list_length(call->node->args) > 1 && !constant_int(lsecond(call->node->args), &n))
		return refuse(w, "lag or lead by a number that is no constant");
	call->function.n = n;
	if (otherwise != NULL)
	{
		const TbOutput *other = find_column(w, otherwise);

		if (other == NULL)
			return false;
		if (other->kind != call->arg->kind || other->type != call->arg->type ||
			other->scale != call->arg->scale || other->padding != call->arg->padding ||
			other->display != TB_NONE)
			return refuse(w, "lag or lead with a default of another form");
		call->function.other = other->first;
	}
	return value_output(w, call, kind);
}

static bool
is_float(uint32 type)
{
	return type == TB_TYPE_FLOAT4 || type == TB_TYPE_FLOAT8;
}

static bool
count_output(Windows *w, Call *call)
{
	return plain_output(w, call, TB_WINDOW_COUNT);
}

/* What a sum of numerics that print with different scales prints with: the largest
 * scale of the frame. */
static bool
sum_display(Windows *w, Call *call)
{
	call->output.display = TB_NONE;
	if (call->arg->display == TB_NONE)
		return true;
	/* Of other expressions a scale may be known where the value is NULL. */
	if (w->input->groups == NULL && !IsA(linitial(call->node->args), Var))
		return refuse(w, "a sum over expressions that print with different scales");
	call->output.display = add_function(w, call, TB_WINDOW_MAX, call->arg->display);
	return true;
}

static bool
sum_output(Windows *w, Call *call)
{
	uint32 type = call->arg->type;

	if (is_float(type) && w->pass.start_bound != TB_BOUND_UNBOUNDED_PRECEDING)
		return refuse(w, "a sum of floats over a frame whose start moves");
	if (is_float(type) && w->pass.exclusion != TB_EXCLUDE_NONE)
		return refuse(w, "a sum of floats over a frame that excludes rows");
	call->output.type = tb_window_type(TB_WINDOW_SUM, type);
	call->output.scale = call->arg->scale;
	call->output.first = add_function(w, call, TB_WINDOW_SUM, call->arg->first);
	call->output.kind = is_float(type)		? TB_OUT_SUM_FLOAT8 :
		call->output.type == TB_TYPE_NUM128 ? TB_OUT_SUM_NUMERIC :
											  TB_OUT_VALUE;
	return sum_display(w, call);
}

static bool
avg_output(Windows *w, Call *call)
{
	if (!sum_output(w, call))
		return false;
	call->output.kind = is_float(call->arg->type) ? TB_OUT_AVG_FLOAT8 : TB_OUT_AVG_NUMERIC;
	call->output.second = add_function(w, call, TB_WINDOW_COUNT, call->arg->first);
	return true;
}

static bool
extreme_output(Windows *w, Call *call, TbWindowKind kind)
{
	if (tb_type_is_text(call->arg->type) &&
		!tb_collation_orders_by_bytes(call->node->inputcollid))
		return refuse(w, "min or max of text by a collation that does not compare bytes");
	return value_output(w, call, kind);
}

static bool
aggregate_output(Windows *w, Call *call)
{
	Oid f = call->node->winfnoid;

	switch (tb_aggregate_kind(f))
	{
		case TB_AGGREGATE_COUNT:
			return count_output(w, call);
		case TB_AGGREGATE_SUM:
			/* float4's own sum is rounded at every step. */
			if (f != F_SUM_FLOAT4)
				return sum_output(w, call);
			break;
		case TB_AGGREGATE_AVG:
			return avg_output(w, call);
		case TB_AGGREGATE_MIN:
			return extreme_output(w, call, TB_WINDOW_MIN);
		case TB_AGGREGATE_MAX:
			return extreme_output(w, call, TB_WINDOW_MAX);
		default:
			break;
	}
	return refuse(w,
				  psprintf("window function %s is not in the catalogue", get_func_name(f)));
}

static bool
choose_output(Windows *w, Call *call)
{
	switch (call->node->winfnoid)
	{
		case F_ROW_NUMBER:
			return plain_output(w, call, TB_WINDOW_ROW_NUMBER);
		case F_RANK_:
			return plain_output(w, call, TB_WINDOW_RANK);
		case F_DENSE_RANK_:
			return plain_output(w, call, TB_WINDOW_DENSE_RANK);
		case F_PERCENT_RANK_:
			return plain_output(w, call, TB_WINDOW_PERCENT_RANK);
		case F_CUME_DIST_:
			return plain_output(w, call, TB_WINDOW_CUME_DIST);
		case F_NTILE:
			return ntile_output(w, call);
		case F_LAG_ANYELEMENT:
		case F_LAG_ANYELEMENT_INT4:
		case F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
			return offset_output(w, call, TB_WINDOW_LAG);
		case F_LEAD_ANYELEMENT:
		case F_LEAD_ANYELEMENT_INT4:
		case F_LEAD_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
			return offset_output(w, call, TB_WINDOW_LEAD);
		case F_FIRST_VALUE:
			return value_output(w, call, TB_WINDOW_FIRST_VALUE);
		case F_LAST_VALUE:
			return value_output(w, call, TB_WINDOW_LAST_VALUE);
		case F_NTH_VALUE:
			return nth_output(w, call);
		default:
			return aggregate_output(w, call);
	}
}

/*
 * Over rows in no order at all PostgreSQL's results follow the table's. Nobody promised
 * that, but it can be seen.
 */
static bool
follows_table_order(const Windows *w, Oid f)
{
	const TbWindowPass *pass = &w->pass;

	if (w->nkeys > 0 ||
		TB_IS_ONE_OF(f, F_RANK_, F_DENSE_RANK_, F_PERCENT_RANK_, F_CUME_DIST_))
		return false;
	if (is_offset_function(f) ||
		TB_IS_ONE_OF(f, F_ROW_NUMBER, F_NTILE, F_FIRST_VALUE, F_LAST_VALUE, F_NTH_VALUE))
		return true;
	return pass->frame_mode == TB_FRAME_ROWS &&
		(pass->start_bound != TB_BOUND_UNBOUNDED_PRECEDING ||
		 pass->end_bound != TB_BOUND_UNBOUNDED_FOLLOWING);
}

static bool
add_call(Windows *w, WindowFunc *node)
{
	Call call = {.node = node};

	if (follows_table_order(w, node->winfnoid))
		return refuse(w, "a window function of rows in the order of the table");
	/* Its argument. */
	call.function.arg = TB_NONE;
	call.function.other = TB_NONE;
	call.function.filter = TB_NONE;
	if (takes_column(node))
	{
		call.arg = find_column(w, linitial(node->args));
		if (call.arg == NULL)
			return false;
	}
	else if (node->winfnoid == F_COUNT_ANY && is_null_constant(linitial(node->args)))
		return refuse(w, "a count of NULL");
	/* Its filter. */
	if (node->aggfilter != NULL)
	{
		const TbOutput *filter = find_column(w, node->aggfilter);

		if (filter == NULL)
			return false;
		call.function.filter = filter->first;
	}
	/* Its value. */
	if (!choose_output(w, &call))
		return false;
	tb_result_columns_add(&w->input->columns, (Expr *) node, &call.output);
	return true;
}

/* "function op constant", turned around if need be. */
static bool
split_condition(const OpExpr *clause, Expr **function, const Const **bound, Oid *operator)
{
	Node *left = get_leftop((Expr *) clause);
	Node *right = get_rightop((Expr *) clause);

	*operator= clause->opno;
	if (IsA(right, WindowFunc))
	{
		*operator= get_commutator(clause->opno);
		*function = (Expr *) right;
		right = left;
	}
	else
		*function = (Expr *) left;
	*bound = (const Const *) right;
	return IsA(*function, WindowFunc) && IsA(right, Const) && !(*bound)->constisnull &&
		OidIsValid(*operator);
}

static bool
bound_value(const Const *bound, int64 *value)
{
	switch (bound->consttype)
	{
		case INT2OID:
			*value = DatumGetInt16(bound->constvalue);
			return true;
		case INT4OID:
			*value = DatumGetInt32(bound->constvalue);
			return true;
		case INT8OID:
			*value = DatumGetInt64(bound->constvalue);
			return true;
		default:
			return false;
	}
}

static bool
condition_flags(Oid operator, uint32 * flags)
{
	switch (get_op_opfamily_strategy(operator, INTEGER_BTREE_FAM_OID))
	{
		case BTLessStrategyNumber:
			*flags = TB_CONDITION_STRICT;
			return true;
		case BTLessEqualStrategyNumber:
			*flags = 0;
			return true;
		case BTEqualStrategyNumber:
			*flags = TB_CONDITION_EQUAL;
			return true;
		case BTGreaterEqualStrategyNumber:
			*flags = TB_CONDITION_AT_LEAST;
			return true;
		case BTGreaterStrategyNumber:
			*flags = TB_CONDITION_AT_LEAST | TB_CONDITION_STRICT;
			return true;
		default:
			return false;
	}
}

static bool
add_condition(Windows *w, Node *clause)
{
	TbResultCondition condition = {0};
	const TbOutput	 *output = NULL;
	const Const		 *bound;
	Expr			 *function;
	Oid				  operator;

	if (IsA(clause, OpExpr) && list_length(((OpExpr *) clause)->args) == 2 &&
		split_condition((OpExpr *) clause, &function, &bound, &operator))
		output = tb_result_columns_find(&w->input->columns, function);
	if (output == NULL || output->kind != TB_OUT_VALUE ||
		(output->type != TB_TYPE_INT8 && output->type != TB_TYPE_INT4) ||
		!bound_value(bound, &condition.bound) ||
		!condition_flags(operator, & condition.flags))
		return refuse(
			w,
			"a condition on a window function from the query around it that is no constant bound");
	condition.column = output->first;
	tb_result_add_condition(w->builder, &condition);
	return true;
}

static bool
add_window(Windows *w)
{
	ListCell *lc;

	if (!add_pass(w))
		return false;
	foreach(lc, functions_of(w->root, w->clause))
		if (!add_call(w, lfirst_node(WindowFunc, lc)))
			return false;
	/* PostgreSQL computes their ends all the same, and raises errors. */
	if (!w->frames_used &&
		(OidIsValid(w->clause->startInRangeFunc) || OidIsValid(w->clause->endInRangeFunc)))
		return refuse(w, "a RANGE frame with an offset that no function looks at");
	foreach(lc, tb_window_run_conditions(w->clause, functions_of(w->root, w->clause)))
		if (!add_condition(w, lfirst(lc)))
			return false;
	return true;
}

bool
tb_windows_add(PlannerInfo *root, TbSortInput *input, List *windows,
			   TbResultBuilder *builder, const char **reason)
{
	Windows	  w = {.root = root, .input = input, .builder = builder};
	ListCell *lc;

	foreach(lc, windows)
	{
		w.clause = lfirst_node(WindowClause, lc);
		if (!add_window(&w))
		{
			*reason = w.reason;
			return false;
		}
	}
	return true;
}
