/*
 * expression_condition.c - boolean logic, NULL tests, CASE, COALESCE, GREATEST.
 *
 * What PostgreSQL evaluates only for some rows is translated with
 * t->conditional raised, so that parameters there are harmless ones.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pg/planner/expression/expression_internal.h"

static TbValue
test(TbTranslator *t, TbExprOp op, const TbValue *arg, bool nullable)
{
	return tb_builder_expr(t->builder, op, tb_simple_type(TB_TYPE_BOOL), 0, 1, arg,
						   nullable);
}

/* Translates all; those after the first are conditional. */
static bool
translate_arms(TbTranslator *t, List *args, TbValue *values)
{
	bool	  ok = true;
	int		  count = 0;
	ListCell *lc;

	foreach(lc, args)
	{
		if (count == 1)
			t->conditional++;
		ok = ok && tb_translate(t, lfirst(lc), &values[count]);
		count++;
	}
	if (count > 1)
		t->conditional--;
	return ok;
}

bool
tb_translate_bool(TbTranslator *t, BoolExpr *expr, TbValue *value)
{
	int		 nargs = list_length(expr->args);
	TbValue *args = palloc(sizeof(TbValue) * nargs);
	bool	 nullable = false;

	if (!translate_arms(t, expr->args, args))
		return false;
	for (int i = 0; i < nargs; i++)
		nullable |= args[i].nullable;
	if (expr->boolop == NOT_EXPR)
		*value = test(t, TB_EXPR_NOT, &args[0], nullable);
	else
		*value = tb_builder_expr(t->builder,
								 expr->boolop == AND_EXPR ? TB_EXPR_AND : TB_EXPR_OR,
								 tb_simple_type(TB_TYPE_BOOL), 0, nargs, args, nullable);
	return true;
}

bool
tb_translate_null_test(TbTranslator *t, NullTest *expr, TbValue *value)
{
	TbValue arg;

	if (expr->argisrow)
		return tb_refuse(t, "a NULL test of a row");
	if (!tb_translate(t, expr->arg, &arg))
		return false;
	*value = test(t, expr->nulltesttype == IS_NULL ? TB_EXPR_IS_NULL : TB_EXPR_IS_NOT_NULL,
				  &arg, false);
	return true;
}

bool
tb_translate_boolean_test(TbTranslator *t, BooleanTest *expr, TbValue *value)
{
	static const TbExprOp ops[] = {
		[IS_TRUE] = TB_EXPR_IS_TRUE,	[IS_NOT_TRUE] = TB_EXPR_IS_NOT_TRUE,
		[IS_FALSE] = TB_EXPR_IS_FALSE,	[IS_NOT_FALSE] = TB_EXPR_IS_NOT_FALSE,
		[IS_UNKNOWN] = TB_EXPR_IS_NULL, [IS_NOT_UNKNOWN] = TB_EXPR_IS_NOT_NULL,
	};
	TbValue arg;

	if (!tb_translate(t, expr->arg, &arg))
		return false;
	*value = test(t, ops[expr->booltesttype], &arg, false);
	return true;
}

static TbTypeInfo
common_type(const TbValue *values, int nvalues)
{
	for (int i = 0; i < nvalues; i++)
		if (!tb_is_null_literal(&values[i]))
			return values[i].info;
	return values[0].info;
}

bool
tb_make_case(TbTranslator *t, int nconditions, const TbValue *conditions, TbValue *values,
			 TbValue *result)
{
	int		   nvalues = nconditions + 1;
	TbValue	  *args = palloc(sizeof(TbValue) * (2 * nconditions + 1));
	TbValue	  *scales = NULL;
	TbTypeInfo info;
	TbValue	   scale;
	int		   display_max = 0;
	bool	   nullable = false;

	if (tb_type_is_numeric(common_type(values, nvalues).type))
	{
		if (tb_numeric_mixed(nvalues, values))
		{
			scales = palloc(sizeof(TbValue) * nvalues);
			for (int i = 0; i < nvalues; i++)
			{
				scales[i] = tb_numeric_display(t, &values[i]);
				display_max = Max(display_max,
								  values[i].display_scale == TB_NONE ?
									  values[i].info.scale :
									  values[i].display_max);
			}
		}
		tb_numeric_unify(t, nvalues, values);
	}
	info = common_type(values, nvalues);
	for (int i = 0; i < nvalues; i++)
	{
		if (values[i].info.type != info.type)
			return tb_refuse(t, "a CASE of values of different types");
		if (i < nconditions)
			args[2 * i] = conditions[i];
		args[Min(2 * i + 1, 2 * nconditions)] = values[i];
		nullable |= values[i].nullable;
	}
	*result = tb_builder_expr(t->builder, TB_EXPR_CASE, info, 0, 2 * nconditions + 1, args,
							  nullable);
	if (scales != NULL)
	{
		if (!tb_make_case(t, nconditions, conditions, scales, &scale))
			return false;
		result->display_scale = scale.expr;
		result->display_max = display_max;
	}
	return true;
}

/* The WHEN clauses' conditions and values, then the ELSE value. */
static bool
translate_when_clauses(TbTranslator *t, CaseExpr *expr, TbValue *conditions,
					   TbValue *values)
{
	int		  count = 0;
	bool	  ok = true;
	int		  outer = t->conditional;
	ListCell *lc;

	foreach(lc, expr->args)
	{
		CaseWhen *when = lfirst_node(CaseWhen, lc);

		ok = ok && tb_translate(t, when->expr, &conditions[count]);
		t->conditional = outer + 1;
		ok = ok && tb_translate(t, when->result, &values[count]);
		count++;
	}
	if (expr->defresult != NULL)
		ok = ok && tb_translate(t, expr->defresult, &values[count]);
	else if (ok)
		values[count] = tb_literal(t, makeNullConst(expr->casetype, -1, expr->casecollid),
								   values[0].info);
	t->conditional = outer;
	return ok;
}

bool
tb_translate_case(TbTranslator *t, CaseExpr *expr, TbValue *value)
{
	int			   count = list_length(expr->args);
	TbValue		  *conditions = palloc(sizeof(TbValue) * count);
	TbValue		  *values = palloc(sizeof(TbValue) * (count + 1));
	const TbValue *outer = t->case_value;
	TbValue		   subject;
	bool		   ok;

	if (expr->arg != NULL)
	{
		if (!tb_translate(t, expr->arg, &subject))
			return false;
		/* It is one expression in PostgreSQL too: a literal stays one here. */
		t->case_value = &subject;
	}
	ok = translate_when_clauses(t, expr, conditions, values);
	t->case_value = outer;
	return ok && tb_make_case(t, count, conditions, values, value);
}

bool
tb_translate_coalesce(TbTranslator *t, CoalesceExpr *expr, TbValue *value)
{
	int		   nargs = list_length(expr->args);
	TbValue	  *args = palloc(sizeof(TbValue) * nargs);
	TbValue	  *conditions;
	TbTypeInfo info;
	bool	   nullable = true;

	if (!translate_arms(t, expr->args, args))
		return false;
	info = common_type(args, nargs);
	if (tb_type_is_numeric(info.type) && tb_numeric_mixed(nargs, args))
	{
		/* CASE WHEN a IS NOT NULL THEN a ... ELSE z END */
		conditions = palloc(sizeof(TbValue) * nargs);
		for (int i = 0; i < nargs - 1; i++)
			conditions[i] = test(t, TB_EXPR_IS_NOT_NULL, &args[i], false);
		return tb_make_case(t, nargs - 1, conditions, args, value);
	}
	if (tb_type_is_numeric(info.type))
		tb_numeric_unify(t, nargs, args);
	info = common_type(args, nargs);
	for (int i = 0; i < nargs; i++)
	{
		if (args[i].info.type != info.type)
			return tb_refuse(t, "a COALESCE of values of different types");
		nullable &= args[i].nullable;
	}
	*value = tb_builder_expr(t->builder, TB_EXPR_COALESCE, info, 0, nargs, args, nullable);
	return true;
}

/* Of values that have one type already. */
static bool
extreme_of(TbTranslator *t, const MinMaxExpr *expr, Oid less, int nargs,
		   const TbValue *args, TbValue *value)
{
	TbValue pair[2] = {args[0], args[nargs - 1]};
	bool	nullable = true;
	int		row;

	if (!tb_comparison_row(t, less, expr->inputcollid, pair, &row))
		return false;
	for (int i = 0; i < nargs; i++)
	{
		if (args[i].info.type != args[0].info.type)
			return tb_refuse(t, "a GREATEST or LEAST of values of different types");
		nullable &= args[i].nullable;
	}
	*value = tb_builder_expr(t->builder,
							 expr->op == IS_GREATEST ? TB_EXPR_GREATEST : TB_EXPR_LEAST,
							 args[0].info, row, nargs, args, nullable);
	return true;
}

/* Of two numerics whose values print with different scales: with the scale of
 * CASE WHEN b IS NOT NULL AND (a IS NULL OR a < b) THEN b ELSE a END. */
static bool
extreme_of_mixed(TbTranslator *t, const MinMaxExpr *expr, Oid less, const TbValue *args,
				 TbValue *value)
{
	bool	   greatest = expr->op == IS_GREATEST;
	TbTypeInfo boolean = tb_simple_type(TB_TYPE_BOOL);
	TbValue	   pair[2] = {args[0], args[1]};
	TbValue	   ordered[2] = {args[greatest ? 0 : 1], args[greatest ? 1 : 0]};
	TbValue	   either[2];
	TbValue	   both[2];
	TbValue	   values[2] = {args[1], args[0]};
	TbValue	   shown;

	if (!tb_call_on_values(t, less, expr->inputcollid, 2, ordered, &either[0]))
		return false;
	either[1] = test(t, TB_EXPR_IS_NULL, &args[0], false);
	both[0] = test(t, TB_EXPR_IS_NOT_NULL, &args[1], false);
	both[1] = tb_builder_expr(t->builder, TB_EXPR_OR, boolean, 0, 2, either,
							  either[0].nullable);
	both[0] = tb_builder_expr(t->builder, TB_EXPR_AND, boolean, 0, 2, both,
							  both[1].nullable);
	tb_numeric_unify(t, 2, pair);
	if (!tb_make_case(t, 1, both, values, &shown) ||
		!extreme_of(t, expr, less, 2, pair, value))
		return false;
	value->display_scale = shown.display_scale;
	value->display_max = shown.display_max;
	return true;
}

bool
tb_translate_extreme(TbTranslator *t, MinMaxExpr *expr, TbValue *value)
{
	int		 nargs = list_length(expr->args);
	TbValue *args = palloc(sizeof(TbValue) * nargs);
	Oid less = get_opcode(lookup_type_cache(expr->minmaxtype, TYPECACHE_LT_OPR)->lt_opr);
	int count = 0;
	ListCell *lc;

	foreach(lc, expr->args)
	{
		if (!tb_translate(t, lfirst(lc), &args[count++]))
			return false;
	}
	if (!tb_type_is_numeric(common_type(args, nargs).type))
		return extreme_of(t, expr, less, nargs, args, value);
	if (!tb_numeric_mixed(nargs, args))
	{
		tb_numeric_unify(t, nargs, args);
		return extreme_of(t, expr, less, nargs, args, value);
	}
	*value = args[0];
	for (int i = 1; i < nargs; i++)
	{
		TbValue pair[2] = {*value, args[i]};

		if (!extreme_of_mixed(t, expr, less, pair, value))
			return false;
	}
	return true;
}
