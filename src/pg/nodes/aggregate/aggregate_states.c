/*
 * aggregate_states.c - see aggregate_states.h.
 *
 * One function per kind of aggregate. Equal states are shared by the program builder, so
 * sum and avg of one column keep one sum. Must never decide what may be a key. Called by
 * analyze.c.
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "pg/cache/cache_load.h"
#include "pg/nodes/aggregate/aggregate_states.h"
#include "pg/planner/expression/aggregate_kind.h"
#include "pg/planner/expression/collation_order.h"
#include "pg/planner/program/output_column.h"

static bool
refuse_states(TbAggStates *s, const char *reason)
{
	s->reason = reason;
	return false;
}

/* The column of a state: states follow the keys. */
static uint32
add_state_column(TbAggStates *s, TbAggKind kind, const TbValue *arg, const TbValue *filter)
{
	return s->nkeys + tb_builder_add_agg(s->translator->builder, kind, arg, filter);
}

/* Values that are never NULL need not be read to be counted, unless reading them may raise
 * an error, or a load counts them in order to read them. */
uint32
tb_agg_count_column(TbAggStates *s, const TbValue *arg, const TbValue *filter)
{
	bool is_read = arg != NULL &&
		(arg->nullable || tb_builder_may_raise(s->translator->builder, arg) ||
		 tb_cache_is_loading());

	return add_state_column(s, TB_AGG_COUNT, is_read ? arg : NULL, filter);
}

/* The column of the largest display scale among the values (or the smallest, for
 * MIN). A NULL value's scale does not count. */
uint32
tb_agg_display_column(TbAggStates *s, TbAggKind kind, const TbValue *arg,
					  const TbValue *filter)
{
	TbBuilder *b = s->translator->builder;
	TbTypeInfo boolean = {TB_TYPE_BOOL, 0, 0};
	TbValue	   scale = {0};
	TbValue	   conditions[2];
	TbValue	   condition;

	if (arg->display_scale == TB_NONE)
		return TB_NONE;
	scale.expr = arg->display_scale;
	scale.info.type = TB_TYPE_INT4;
	scale.display_scale = TB_NONE;
	conditions[0] = tb_builder_expr(b, TB_EXPR_IS_NOT_NULL, boolean, 0, 1, arg, false);
	condition = conditions[0];
	if (filter != NULL)
	{
		conditions[1] = *filter;
		condition = tb_builder_expr(b, TB_EXPR_AND, boolean, 0, 2, conditions,
									filter->nullable);
	}
	return add_state_column(s, kind, &scale, &condition);
}

static bool
sum_output(TbAggStates *s, const TbValue *arg, const TbValue *filter, TbOutput *out)
{
	switch (arg->info.type)
	{
		case TB_TYPE_INT2:
		case TB_TYPE_INT4:
			out->kind = TB_OUT_VALUE;
			out->type = TB_TYPE_INT8;
			out->first = add_state_column(s, TB_AGG_SUM_INT, arg, filter);
			return true;
		case TB_TYPE_INT8:
		case TB_TYPE_NUM64:
		case TB_TYPE_NUM128:
			out->kind = TB_OUT_SUM_NUMERIC;
			out->type = TB_TYPE_NUM128;
			out->first = add_state_column(s, TB_AGG_SUM_WIDE, arg, filter);
			out->display = tb_agg_display_column(s, TB_AGG_MAX, arg, filter);
			return true;
		case TB_TYPE_FLOAT4:
		case TB_TYPE_FLOAT8:
			out->kind = arg->info.type == TB_TYPE_FLOAT4 ? TB_OUT_SUM_FLOAT4 :
														   TB_OUT_SUM_FLOAT8;
			out->type = TB_TYPE_FLOAT8;
			out->first = add_state_column(s, TB_AGG_SUM_FLOAT, arg, filter);
			return true;
		default:
			return refuse_states(s, "sum or avg of a type that devices do not sum");
	}
}

static bool
avg_output(TbAggStates *s, const TbValue *arg, const TbValue *filter, TbOutput *out)
{
	if (!sum_output(s, arg, filter, out))
		return false;
	if (out->type == TB_TYPE_FLOAT8)
		out->kind = TB_OUT_AVG_FLOAT8;
	else
		out->kind = TB_OUT_AVG_NUMERIC;
	out->second = tb_agg_count_column(s, arg, filter);
	return true;
}

/* min, max of a numeric whose values print with different scales */
static bool
extreme_numeric_output(TbAggStates *s, TbAggKind kind, const TbValue *arg,
					   const TbValue *filter, TbOutput *out)
{
	TbValue above;
	TbValue below;

	if (!tb_numeric_with_display(s->translator, arg, false, &above) ||
		!tb_numeric_with_display(s->translator, arg, true, &below))
		return refuse_states(s, s->translator->reason);
	out->kind = TB_OUT_EXTREME_NUMERIC;
	out->type = above.info.type;
	out->first = add_state_column(s, kind, &above, filter);
	out->second = add_state_column(s, kind, &below, filter);
	return true;
}

/* bool_and, bool_or: min, max of 0 and 1 */
static bool
bool_output(TbAggStates *s, TbAggKind kind, const TbValue *arg, const TbValue *filter,
			TbOutput *out)
{
	TbTypeInfo integer = {TB_TYPE_INT4, 0, 0};
	TbValue	   number = tb_builder_expr(s->translator->builder, TB_EXPR_CALL, integer,
										TB_FN_BOOL_TO_INT4, 1, arg, arg->nullable);

	out->kind = TB_OUT_BOOL;
	out->type = TB_TYPE_INT4;
	out->first = add_state_column(s, kind, &number, filter);
	return true;
}

static bool
extreme_output(TbAggStates *s, const Aggref *aggref, TbAggKind kind, const TbValue *arg,
			   const TbValue *filter, TbOutput *out)
{
	Expr *expr = linitial_node(TargetEntry, aggref->args)->expr;

	if (tb_type_is_text(arg->info.type) &&
		!tb_collation_orders_by_bytes(aggref->inputcollid))
		return refuse_states(
			s, "min or max of text by a collation that does not compare bytes");
	if (arg->info.type == TB_TYPE_BOOL)
		return refuse_states(s, "min or max of boolean");
	if (arg->display_scale != TB_NONE)
		return extreme_numeric_output(s, kind, arg, filter, out);
	if (!tb_output_padding(expr, arg, &out->padding, &s->reason))
		return false;
	out->kind = TB_OUT_VALUE;
	out->type = arg->info.type;
	out->first = add_state_column(s, kind, arg, filter);
	return true;
}

bool
tb_agg_choose_output(TbAggStates *s, const Aggref *aggref, const TbValue *arg,
					 const TbValue *filter, TbOutput *out)
{
	out->display = TB_NONE;
	out->scale = arg ? arg->info.scale : 0;
	switch (tb_aggregate_kind(aggref->aggfnoid))
	{
		case TB_AGGREGATE_COUNT:
			out->kind = TB_OUT_VALUE;
			out->type = TB_TYPE_INT8;
			out->first = tb_agg_count_column(s, arg, filter);
			return true;
		case TB_AGGREGATE_SUM:
			return sum_output(s, arg, filter, out);
		case TB_AGGREGATE_AVG:
			return avg_output(s, arg, filter, out);
		case TB_AGGREGATE_MIN:
			return extreme_output(s, aggref, TB_AGG_MIN, arg, filter, out);
		case TB_AGGREGATE_MAX:
			return extreme_output(s, aggref, TB_AGG_MAX, arg, filter, out);
		case TB_AGGREGATE_BOOL_AND:
			return bool_output(s, TB_AGG_MIN, arg, filter, out);
		case TB_AGGREGATE_BOOL_OR:
			return bool_output(s, TB_AGG_MAX, arg, filter, out);
		case TB_AGGREGATE_UNKNOWN:
			break;
	}
	return refuse_states(s,
						 psprintf("aggregate %s is not in the catalogue",
								  get_func_name(aggref->aggfnoid)));
}
