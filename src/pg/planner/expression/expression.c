/*
 * expression.c - translation: columns, literals, parameters, conditions; dispatch.
 *
 * An expression without columns becomes a parameter: PostgreSQL computes it when the
 * query starts. That is right only if PostgreSQL would have computed it too, or if
 * computing it has no effect. Literals and bare parameters always qualify. Anything else
 * may raise, or run an InitPlan, so it qualifies only where every row reaches it. What
 * PostgreSQL evaluates only for some rows (parts of AND, CASE, COALESCE, GREATEST) is
 * translated with t->conditional raised, so that parameters there are harmless ones.
 *
 * Called through expression.h by whoever plans a program. Must never raise because of
 * what it is given: it says why it refuses.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

#include "pg/convert/numeric_format.h"
#include "pg/language/routine.h"
#include "pg/planner/expression/expression_internal.h"
#include "pg/planner/expression/reason_text.h"

/* ---- Conditions ---- */

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

static bool
translate_bool(TbTranslator *t, BoolExpr *expr, TbValue *value)
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

static bool
translate_null_test(TbTranslator *t, NullTest *expr, TbValue *value)
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

static bool
translate_boolean_test(TbTranslator *t, BooleanTest *expr, TbValue *value)
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

static bool
translate_case(TbTranslator *t, CaseExpr *expr, TbValue *value)
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

static bool
translate_coalesce(TbTranslator *t, CoalesceExpr *expr, TbValue *value)
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

static bool
translate_extreme(TbTranslator *t, MinMaxExpr *expr, TbValue *value)
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

/* ---- Columns, literals, parameters; dispatch ---- */

/* Digits after the point of a numeric parameter: an average's, or a quotient's of
 * at least 0.0001. */
#define PARAMETER_SCALE 20

/* A subexpression that occurs again is computed once. */
typedef struct TranslatedExpr
{
	Expr   *expr;
	TbValue value;
} TranslatedExpr;

void
tb_translator_init(TbTranslator *t, PlannerInfo *root, Index varno, TupleDesc desc)
{
	memset(t, 0, sizeof(*t));
	t->root = root;
	t->varno = varno;
	t->desc = desc;
	t->builder = tb_builder_create(desc);
}

bool
tb_refuse(TbTranslator *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	t->reason = tb_reason_text(format, args);
	va_end(args);
	return false;
}

static bool
translate_column(TbTranslator *t, Var *var, TbValue *value)
{
	Form_pg_attribute att;

	if (var->varlevelsup != 0)
		return tb_refuse(t, "a column of another query level");
	if (var->varattno == 0)
		return tb_refuse(t, "a whole-row reference");
	if (var->varattno < 0)
		return tb_refuse(t, "a system column");
	if (var->varno != (int) t->varno)
		return t->resolve != NULL ? t->resolve(t, var, value) :
									tb_refuse(t, "a column of another table");
	if (t->desc == NULL)
	{
		if (tb_builder_row_column(t->builder, var->varattno, var->vartype, var->vartypmod,
								  value))
			return true;
		return tb_refuse(t, "a column of type %s", format_type_be(var->vartype));
	}
	att = TupleDescAttr(t->desc, var->varattno - 1);
	if (tb_builder_column(t->builder, var->varattno, value))
		return true;
	if (getBaseType(att->atttypid) == NUMERICOID)
		return tb_refuse(
			t,
			"column \"%s\" is a numeric with a default or a scale of more than %d digits",
			NameStr(att->attname), TB_NUM128_DIGITS);
	return tb_refuse(t, "column \"%s\" has type %s", NameStr(att->attname),
					 format_type_be(att->atttypid));
}

TbValue
tb_literal(TbTranslator *t, Const *literal, TbTypeInfo info)
{
	return tb_builder_param(t->builder, (Expr *) literal, info,
							literal->constisnull ? TB_PARAM_NULLABLE : 0);
}

bool
tb_is_null_literal(const TbValue *value)
{
	return value->constant != NULL && value->constant->constisnull;
}

/* A numeric literal has the precision and scale that it is written with. */
static bool
numeric_literal(TbTranslator *t, Const *literal, TbValue *value)
{
	Numeric	  numeric;
	int		  scale;
	tb_int128 scaled;

	if (literal->constisnull)
	{
		*value = tb_literal(t, literal, tb_numeric_info(1, 0));
		return true;
	}
	numeric = DatumGetNumeric(literal->constvalue);
	scale = tb_numeric_display_scale(numeric);
	if (scale < 0 || scale > TB_NUM128_DIGITS ||
		!tb_numeric_to_int128(numeric, scale, &scaled) ||
		tb_int128_digits(scaled) > TB_NUM128_DIGITS)
		return tb_refuse(t, "a numeric constant of more than %d digits, or NaN or infinite",
						 TB_NUM128_DIGITS);
	*value = tb_literal(t, literal,
						tb_numeric_info(Max(tb_int128_digits(scaled), 1), scale));
	return true;
}

static bool
translate_literal(TbTranslator *t, Const *literal, TbValue *value)
{
	TbTypeInfo info;

	if (getBaseType(literal->consttype) == NUMERICOID)
		return numeric_literal(t, literal, value);
	if (!tb_plain_type_of(literal->consttype, &info))
		return tb_refuse(t, "a constant of type %s", format_type_be(literal->consttype));
	*value = tb_literal(t, literal, info);
	return true;
}

/* Whether the parameter is the result of an InitPlan that may not have run. */
static bool
is_initplan_output(PlannerInfo *root, const Param *param)
{
	if (param->paramkind != PARAM_EXEC)
		return false;
	for (; root != NULL; root = root->parent_root)
	{
		ListCell *lc;

		foreach(lc, root->init_plans)
		{
			SubPlan *plan = lfirst_node(SubPlan, lc);

			if (list_member_int(plan->setParam, param->paramid))
				return true;
		}
	}
	return false;
}

static bool
contains_case_test(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, CaseTestExpr) || IsA(node, Aggref) || IsA(node, CoerceToDomainValue))
		return true;
	return expression_tree_walker(node, contains_case_test, context);
}

bool
tb_is_constant_in_query(Expr *expr)
{
	return !contain_var_clause((Node *) expr) &&
		!contain_volatile_functions((Node *) expr) && !contain_subplans((Node *) expr) &&
		!contains_case_test((Node *) expr, NULL);
}

/* A numeric parameter without precision and scale: with as many decimals as an
 * average has. What does not fit sends the query to PostgreSQL when it starts. */
static TbValue
numeric_parameter(TbTranslator *t, Expr *expr)
{
	TbValue value = tb_builder_param(t->builder, expr,
									 tb_numeric_info(TB_NUM128_DIGITS, PARAMETER_SCALE),
									 TB_PARAM_NULLABLE);
	Expr   *display = (Expr *) makeFuncExpr(F_SCALE, INT4OID, list_make1(expr), InvalidOid,
											InvalidOid, COERCE_EXPLICIT_CALL);

	value.display_scale = tb_builder_param(t->builder, display,
										   tb_simple_type(TB_TYPE_INT4), TB_PARAM_NULLABLE)
							  .expr;
	value.display_max = PG_INT16_MAX;
	return value;
}

bool
tb_is_harmless_parameter(const TbTranslator *t, const Expr *expr)
{
	return IsA(expr, Param) && !is_initplan_output(t->root, (const Param *) expr);
}

static bool
translate_parameter(TbTranslator *t, Expr *expr, TbValue *value)
{
	TbTypeInfo info;
	Oid		   typid = exprType((Node *) expr);

	if (t->conditional > 0 && !tb_is_harmless_parameter(t, expr))
		return tb_refuse(
			t, "an expression without columns that is evaluated for some rows only");
	if (!tb_type_of(typid, exprTypmod((Node *) expr), &info))
	{
		if (getBaseType(typid) == NUMERICOID)
		{
			*value = numeric_parameter(t, expr);
			return true;
		}
		return tb_refuse(t, "a parameter of type %s", format_type_be(typid));
	}
	*value = tb_builder_param(t->builder, expr, info, TB_PARAM_NULLABLE);
	return true;
}

/* Casts that change no byte of the value. */
static bool
translate_relabel(TbTranslator *t, RelabelType *expr, TbValue *value)
{
	TbTypeInfo from;
	TbTypeInfo to;

	if (!tb_plain_type_of(exprType((Node *) expr->arg), &from) ||
		!tb_plain_type_of(expr->resulttype, &to))
	{
		/* numeric to a wider numeric, or a domain over it */
		if (getBaseType(exprType((Node *) expr->arg)) == NUMERICOID &&
			getBaseType(expr->resulttype) == NUMERICOID)
			return tb_translate(t, expr->arg, value);
		return tb_refuse(t, "a cast from %s to %s",
						 format_type_be(exprType((Node *) expr->arg)),
						 format_type_be(expr->resulttype));
	}
	/* bpchar values lack their padding here, which text would show. */
	if (from.type != to.type)
		return tb_refuse(t, "a cast from %s to %s",
						 format_type_be(exprType((Node *) expr->arg)),
						 format_type_be(expr->resulttype));
	return tb_translate(t, expr->arg, value);
}

/* What PostgreSQL has not made a join or an InitPlan of. */
static bool
refuse_subplan(TbTranslator *t, const SubPlan *subplan)
{
	if (subplan->subLinkType == ANY_SUBLINK || subplan->subLinkType == ALL_SUBLINK)
		return tb_refuse(t, "a subquery of NOT IN, ANY or ALL, which is no join");
	if (subplan->parParam != NIL)
		return tb_refuse(t, "a correlated subquery");
	return tb_refuse(t, "a subquery that is computed with each row");
}

static bool
translate_node(TbTranslator *t, Expr *expr, TbValue *value)
{
	TbModelKind model;
	Oid namespace;

	switch (nodeTag(expr))
	{
		case T_FuncExpr:
			if (((FuncExpr *) expr)->funcretset)
				return tb_refuse(t, "a set-returning function");
			if (tb_model_function(((FuncExpr *) expr)->funcid, &model, &namespace))
				return tb_translate_model(t, model, namespace, ((FuncExpr *) expr)->args,
										  value);
			if (tb_is_routine(((FuncExpr *) expr)->funcid))
				return tb_translate_routine(t, (FuncExpr *) expr, value);
			return tb_translate_call(t, ((FuncExpr *) expr)->funcid,
									 ((FuncExpr *) expr)->inputcollid,
									 ((FuncExpr *) expr)->args, value);
		case T_OpExpr:
			set_opfuncid((OpExpr *) expr);
			return tb_translate_call(t, ((OpExpr *) expr)->opfuncid,
									 ((OpExpr *) expr)->inputcollid,
									 ((OpExpr *) expr)->args, value);
		case T_DistinctExpr:
			return tb_translate_distinct(t, (OpExpr *) expr, value);
		case T_NullIfExpr:
			return tb_translate_nullif(t, (OpExpr *) expr, value);
		case T_ScalarArrayOpExpr:
			return tb_translate_array_op(t, (ScalarArrayOpExpr *) expr, value);
		case T_BoolExpr:
			return translate_bool(t, (BoolExpr *) expr, value);
		case T_NullTest:
			return translate_null_test(t, (NullTest *) expr, value);
		case T_BooleanTest:
			return translate_boolean_test(t, (BooleanTest *) expr, value);
		case T_CaseExpr:
			return translate_case(t, (CaseExpr *) expr, value);
		case T_CoalesceExpr:
			return translate_coalesce(t, (CoalesceExpr *) expr, value);
		case T_MinMaxExpr:
			return translate_extreme(t, (MinMaxExpr *) expr, value);
		case T_RelabelType:
			return translate_relabel(t, (RelabelType *) expr, value);
		case T_SubPlan:
			return refuse_subplan(t, (SubPlan *) expr);
		case T_AlternativeSubPlan:
			return refuse_subplan(t, linitial(((AlternativeSubPlan *) expr)->subplans));
		default:
			return tb_refuse(t, "an expression of a kind that devices do not compute");
	}
}

static bool
find_shared(const TbTranslator *t, Expr *expr, TbValue *value)
{
	ListCell *lc;

	foreach(lc, t->shared)
	{
		TranslatedExpr *seen = lfirst(lc);

		if (equal(seen->expr, expr))
		{
			*value = seen->value;
			return true;
		}
	}
	return false;
}

bool
tb_translate(TbTranslator *t, Expr *expr, TbValue *value)
{
	TranslatedExpr *translated;

	check_stack_depth();
	if (IsA(expr, Var))
		return t->body != NULL ? tb_translate_register(t, (Var *) expr, value) :
								 translate_column(t, (Var *) expr, value);
	if (IsA(expr, Const))
		return translate_literal(t, (Const *) expr, value);
	if (IsA(expr, CaseTestExpr))
	{
		if (t->case_value == NULL)
			return tb_refuse(t, "a CASE of a kind that devices do not compute");
		*value = *t->case_value;
		return true;
	}
	/* Registers of a body look like columns, and mean other values in other calls. */
	if (t->body != NULL)
		return translate_node(t, expr, value);
	if (tb_is_constant_in_query(expr))
		return translate_parameter(t, expr, value);

	/* What refers to a CASE's value means something else in another CASE. */
	if (t->case_value != NULL)
		return translate_node(t, expr, value);
	if (find_shared(t, expr, value))
		return true;
	if (!translate_node(t, expr, value))
		return false;
	translated = palloc(sizeof(TranslatedExpr));
	translated->expr = expr;
	translated->value = *value;
	t->shared = lappend(t->shared, translated);
	return true;
}
