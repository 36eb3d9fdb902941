/*
 * expression.c - translation: dispatch, columns, literals and parameters.
 *
 * An expression without columns becomes a parameter: PostgreSQL computes it when the
 * query starts. That is right only if PostgreSQL would have computed it too, or if
 * computing it has no effect. Literals and bare parameters always qualify. Anything else
 * may raise, or run an InitPlan, so it qualifies only where every row reaches it.
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

#include "pg/convert/numeric_format.h"
#include "pg/planner/expression/expression_internal.h"
#include "pg/planner/expression/reason_text.h"

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

/* No columns, and the same value all through the query. */
static bool
is_constant_in_query(Expr *expr)
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

static bool
translate_parameter(TbTranslator *t, Expr *expr, TbValue *value)
{
	TbTypeInfo info;
	Oid		   typid = exprType((Node *) expr);
	bool	   harmless = IsA(expr, Param) && !is_initplan_output(t->root, (Param *) expr);

	if (t->conditional > 0 && !harmless)
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
	switch (nodeTag(expr))
	{
		case T_FuncExpr:
			if (((FuncExpr *) expr)->funcretset)
				return tb_refuse(t, "a set-returning function");
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
			return tb_translate_bool(t, (BoolExpr *) expr, value);
		case T_NullTest:
			return tb_translate_null_test(t, (NullTest *) expr, value);
		case T_BooleanTest:
			return tb_translate_boolean_test(t, (BooleanTest *) expr, value);
		case T_CaseExpr:
			return tb_translate_case(t, (CaseExpr *) expr, value);
		case T_CoalesceExpr:
			return tb_translate_coalesce(t, (CoalesceExpr *) expr, value);
		case T_MinMaxExpr:
			return tb_translate_extreme(t, (MinMaxExpr *) expr, value);
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
		return translate_column(t, (Var *) expr, value);
	if (IsA(expr, Const))
		return translate_literal(t, (Const *) expr, value);
	if (IsA(expr, CaseTestExpr))
	{
		if (t->case_value == NULL)
			return tb_refuse(t, "a CASE of a kind that devices do not compute");
		*value = *t->case_value;
		return true;
	}
	if (is_constant_in_query(expr))
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
