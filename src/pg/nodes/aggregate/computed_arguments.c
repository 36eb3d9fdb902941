/*
 * computed_arguments.c - see computed_arguments.h. Called by analyze.c and group_keys.c.
 *
 * An argument becomes a computed key that is in no set; with a FILTER it is NULL where that
 * is not true, since all of these aggregates pass over NULL. If a device has the argument
 * and only the FILTER is computed, the device's own state of the group takes part or not,
 * whatever its type: fewer groups, as the argument is no key.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "pg/convert/type_map.h"
#include "pg/nodes/aggregate/computed_arguments.h"
#include "pg/nodes/aggregate/computed_columns.h"
#include "pg/planner/expression/aggregate_kind.h"
#include "pg/planner/expression/collation_order.h"

/* An aggregate, and which of the computed arguments it is of. */
typedef struct ComputedAggregate
{
	const Aggref *aggref;
	int			  argument;
	bool		  filtered; /* the argument is its FILTER */
} ComputedAggregate;

static bool
refuse_argument(TbAnalyzer *a, const char *reason)
{
	return tb_analyzer_refuse(a, reason);
}

static bool
is_translated(TbAnalyzer *a, Expr *expr, bool conditional)
{
	TbValue value;
	bool	translated;

	a->t->conditional += conditional;
	translated = tb_translate(a->t, expr, &value);
	a->t->conditional -= conditional;
	return translated;
}

/* `value` where `filter` is true, else NULL. */
static Expr *
filtered(Expr *filter, Expr *value)
{
	CaseExpr *expr = makeNode(CaseExpr);
	CaseWhen *when = makeNode(CaseWhen);

	if (filter == NULL)
		return value;
	when->expr = filter;
	when->result = value;
	when->location = -1;
	expr->casetype = exprType((Node *) value);
	expr->casecollid = exprCollation((Node *) value);
	expr->args = list_make1(when);
	expr->defresult = (Expr *) makeNullConst(exprType((Node *) value),
											 exprTypmod((Node *) value),
											 exprCollation((Node *) value));
	expr->location = -1;
	return (Expr *) expr;
}

/* Whether folded groups have a state for it. */
static bool
has_state(TbAnalyzer *a, const Aggref *aggref, Expr *argument)
{
	TbAggregateKind kind = tb_aggregate_kind(aggref->aggfnoid);
	Oid				type = exprType((Node *) argument);
	bool			integer = type == INT2OID || type == INT4OID || type == INT8OID;

	switch (kind)
	{
		case TB_AGGREGATE_COUNT:
			return true;
		case TB_AGGREGATE_SUM:
		case TB_AGGREGATE_AVG:
			return integer ||
				refuse_argument(
					   a,
					   "sum or avg of what PostgreSQL computes of groups, and is no integer");
		case TB_AGGREGATE_BOOL_AND:
		case TB_AGGREGATE_BOOL_OR:
			return true;
		case TB_AGGREGATE_MIN:
		case TB_AGGREGATE_MAX:
			if (type == TEXTOID && tb_collation_orders_by_bytes(aggref->inputcollid))
				return true;
			return integer || type == DATEOID || type == TIMESTAMPOID ||
				type == TIMESTAMPTZOID ||
				refuse_argument(
					   a,
					   "min or max of what PostgreSQL computes of groups, of such a type");
		case TB_AGGREGATE_UNKNOWN:
			break;
	}
	return refuse_argument(a, "an aggregate that is not in the catalogue");
}

/* `reason`: why devices do not have it. */
static bool
add_computed(TbAnalyzer *a, const Aggref *aggref, Expr *expr, bool is_filter,
			 const char *reason)
{
	ComputedAggregate *found = palloc0(sizeof(ComputedAggregate));
	List			  *inputs = NIL;
	ListCell		  *lc;

	if (!tb_computed_inputs(a->t, expr, a->result->keys, &inputs))
		return refuse_argument(a, reason);
	found->aggref = aggref;
	found->filtered = is_filter;
	found->argument = list_length(a->arguments);
	foreach(lc, a->arguments)
		if (equal(lfirst(lc), expr))
			found->argument = foreach_current_index(lc);
	if (found->argument == list_length(a->arguments))
		a->arguments = lappend(a->arguments, expr);
	a->computed_aggregates = lappend(a->computed_aggregates, found);
	return true;
}

static bool
find_in_aggregate(TbAnalyzer *a, const Aggref *aggref)
{
	Expr	   *filter = aggref->aggfilter;
	Expr	   *argument = NULL;
	bool		has_argument;
	const char *reason;

	/* Whatever else is refused later. */
	if (aggref->aggkind != AGGKIND_NORMAL || list_length(aggref->args) > 1 ||
		aggref->agglevelsup != 0 || aggref->aggorder != NIL || aggref->aggvariadic)
		return true;
	if (aggref->args != NIL)
		argument = linitial_node(TargetEntry, aggref->args)->expr;
	has_argument = argument == NULL || is_translated(a, argument, filter != NULL);
	if (has_argument && (filter == NULL || is_translated(a, filter, false)))
		return true;
	reason = a->t->reason;
	if (aggref->aggdistinct != NIL &&
		tb_aggregate_kind(aggref->aggfnoid) != TB_AGGREGATE_MIN &&
		tb_aggregate_kind(aggref->aggfnoid) != TB_AGGREGATE_MAX)
		return true;
	if (has_argument)
		return add_computed(a, aggref, filter, true, reason);
	return has_state(a, aggref, argument) &&
		add_computed(a, aggref, filtered(filter, argument), false, reason);
}

/* True, with the reason, if some aggregate cannot be computed. */
static bool
find_walker(Node *node, TbAnalyzer *a)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
		return !find_in_aggregate(a, (Aggref *) node);
	return expression_tree_walker(node, find_walker, a);
}

bool
tb_computed_arguments_find(TbAnalyzer *a)
{
	const TbAggRequest *request = &a->result->request;

	return !find_walker((Node *) request->target->exprs, a) &&
		!find_walker((Node *) request->having, a);
}

static uint32
state_column(TbAnalyzer *a, const TbComputedState *state)
{
	ListCell *lc;

	foreach(lc, a->result->computed_states)
		if (memcmp(lfirst(lc), state, sizeof(*state)) == 0)
			return TB_FOLDED_COLUMNS + foreach_current_index(lc);
	a->result->computed_states = lappend(a->result->computed_states,
										 memcpy(palloc(sizeof(*state)), state,
												sizeof(*state)));
	return TB_FOLDED_COLUMNS + list_length(a->result->computed_states) - 1;
}

/* The number of the argument among the computed keys, of which it stands behind those that
 * are grouped by. */
static uint32
computed_number(const TbAnalyzer *a, const ComputedAggregate *found)
{
	return list_length(a->result->computed) - list_length(a->arguments) + found->argument;
}

/* The device's aggregate without its FILTER, of groups that pass. */
static bool
filtered_output(TbAnalyzer *a, const ComputedAggregate *found, TbOutput *out)
{
	TbAggStates		states = tb_analyzer_states(a);
	const Aggref   *aggref = found->aggref;
	TbComputedState state = {0};
	TbValue			argument;
	TbValue		   *value = NULL;
	bool			translated = true;

	if (aggref->args != NIL)
	{
		/* Rows that do not pass the filter do not evaluate it. */
		a->t->conditional++;
		translated = tb_translate(a->t, linitial_node(TargetEntry, aggref->args)->expr,
								  &argument);
		a->t->conditional--;
		value = &argument;
	}
	if (!translated)
		return refuse_argument(a, a->t->reason);
	if (!tb_agg_choose_output(&states, aggref, value, NULL, out))
		return refuse_argument(a, states.reason);
	state.computed = computed_number(a, found);
	state.filtered = true;
	state.column = out->first;
	out->first = state_column(a, &state);
	if (out->kind == TB_OUT_AVG_NUMERIC || out->kind == TB_OUT_AVG_FLOAT8 ||
		out->kind == TB_OUT_EXTREME_NUMERIC)
	{
		state.column = out->second;
		out->second = state_column(a, &state);
	}
	if (out->display != TB_NONE)
	{
		state.column = out->display;
		out->display = state_column(a, &state);
	}
	return true;
}

/* A state of the computed value in so many rows. */
static uint32
value_column(TbAnalyzer *a, const ComputedAggregate *found, TbAggKind kind,
			 const TbTypeInfo *type)
{
	TbAggStates		states = tb_analyzer_states(a);
	TbComputedState state = {0};

	state.kind = kind;
	state.computed = computed_number(a, found);
	state.column = tb_agg_count_column(&states, NULL, NULL);
	if (kind != TB_AGG_COUNT)
	{
		state.is_bool = type->type == TB_TYPE_BOOL;
		state.type = state.is_bool ? TB_TYPE_INT4 : type->type;
	}
	return state_column(a, &state);
}

static void
value_output(TbAnalyzer *a, const ComputedAggregate *found, TbOutput *out)
{
	TbAggregateKind kind = tb_aggregate_kind(found->aggref->aggfnoid);
	Expr		   *argument = list_nth(a->arguments, found->argument);
	TbTypeInfo		type = {0};
	bool			least;

	out->display = TB_NONE;
	if (kind == TB_AGGREGATE_COUNT)
	{
		out->kind = TB_OUT_VALUE;
		out->type = TB_TYPE_INT8;
		out->first = value_column(a, found, TB_AGG_COUNT, &type);
		return;
	}
	(void) tb_plain_type_of(exprType((Node *) argument), &type);
	if (kind == TB_AGGREGATE_SUM || kind == TB_AGGREGATE_AVG)
	{
		bool narrow = type.type != TB_TYPE_INT8;

		out->type = narrow ? TB_TYPE_INT8 : TB_TYPE_NUM128;
		out->first = value_column(a, found, narrow ? TB_AGG_SUM_INT : TB_AGG_SUM_WIDE,
								  &type);
		out->kind = narrow ? TB_OUT_VALUE : TB_OUT_SUM_NUMERIC;
		if (kind == TB_AGGREGATE_AVG)
		{
			out->kind = TB_OUT_AVG_NUMERIC;
			out->second = value_column(a, found, TB_AGG_COUNT, &type);
		}
		return;
	}
	least = kind == TB_AGGREGATE_MIN || kind == TB_AGGREGATE_BOOL_AND;
	out->kind = type.type == TB_TYPE_BOOL ? TB_OUT_BOOL : TB_OUT_VALUE;
	out->type = type.type == TB_TYPE_BOOL ? TB_TYPE_INT4 : type.type;
	out->first = value_column(a, found, least ? TB_AGG_MIN : TB_AGG_MAX, &type);
}

bool
tb_computed_arguments_output(TbAnalyzer *a, const Aggref *aggref, TbOutput *out)
{
	ListCell *lc;

	foreach(lc, a->computed_aggregates)
	{
		const ComputedAggregate *found = lfirst(lc);

		if (!equal(found->aggref, aggref))
			continue;
		if (found->filtered)
			return filtered_output(a, found, out);
		value_output(a, found, out);
		return true;
	}
	return refuse_argument(a, NULL);
}
