/*
 * expression_internal.h - what the files of the translator share; nobody else
 * includes it.
 *
 *   expression.c          columns, literals, parameters, conditions; dispatch
 *   expression_call.c     functions and operators, dates and times among them
 *   expression_numeric.c  numeric arithmetic: scales and digits
 *   expression_model.c    predictions of models
 *   expression_routine.c  functions of LANGUAGE turbine
 */
#ifndef TURBINE_PG_PLANNER_EXPRESSION_EXPRESSION_INTERNAL_H
#define TURBINE_PG_PLANNER_EXPRESSION_EXPRESSION_INTERNAL_H

#include "turbine/model.h"

#include "pg/planner/expression/expression.h"

/* expression.c */
extern TbValue tb_literal(TbTranslator *t, Const *literal, TbTypeInfo info);
extern bool	   tb_is_null_literal(const TbValue *value);
/* CASE WHEN conditions[i] THEN values[i] ... ELSE values[n] */
extern bool	   tb_make_case(TbTranslator *t, int nconditions, const TbValue *conditions,
							TbValue *values, TbValue *result);

/* No columns, and the same value all through the query. */
extern bool tb_is_constant_in_query(Expr *expr);
/* A parameter that may be read although PostgreSQL might not have got there. */
extern bool tb_is_harmless_parameter(const TbTranslator *t, const Expr *expr);

/* expression_call.c */
extern bool tb_translate_call(TbTranslator *t, Oid funcid, Oid collation, List *args,
							  TbValue *value);
extern bool tb_translate_array_op(TbTranslator *t, ScalarArrayOpExpr *expr, TbValue *value);
extern bool tb_translate_distinct(TbTranslator *t, OpExpr *expr, TbValue *value);
/* Whether, and by which row, the device compares these two; gives numerics one
 * type and scale. */
extern bool tb_comparison_row(TbTranslator *t, Oid funcid, Oid collation, TbValue *args,
							  int *row);
extern bool tb_translate_nullif(TbTranslator *t, OpExpr *expr, TbValue *value);
/* f(args) of translated operands. */
extern bool tb_call_on_values(TbTranslator *t, Oid funcid, Oid collation, int nargs,
							  TbValue *args, TbValue *value);

/* expression_routine.c */
extern bool tb_translate_routine(TbTranslator *t, FuncExpr *call, TbValue *value);
/* Inside a body: what a register of it holds. */
extern bool tb_translate_register(TbTranslator *t, Var *var, TbValue *value);

/* expression_numeric.c */
extern bool	   tb_numeric_call(TbTranslator *t, Oid funcid, int nargs, TbValue *args,
							   TbValue *value);
/* The value with that type and scale. */
extern TbValue tb_numeric_resize(TbTranslator *t, const TbValue *value, uint8 type,
								 int scale);
/* Gives all values, NULL literals apart, the widest type and largest scale. */
extern void	   tb_numeric_unify(TbTranslator *t, int nvalues, TbValue *values);
/* The display scale as an INT4 expression, whether it varies or not. */
extern TbValue tb_numeric_display(TbTranslator *t, const TbValue *value);
/* Whether values differ in scale or vary themselves; NULL literals don't count. */
extern bool	   tb_numeric_mixed(int nvalues, const TbValue *values);

/* expression_model.c */
/* Whether the function is one of a model's; its kind, and the schema of the extension. */
extern bool tb_model_function(Oid funcid, TbModelKind *kind, Oid *namespace);
extern bool tb_translate_model(TbTranslator *t, TbModelKind kind, Oid namespace, List *args,
							   TbValue *value);

#endif
