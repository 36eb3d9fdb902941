/*
 * may_raise_expression.c - see may_raise_expression.h.
 *
 * Functions of the catalogue say whether they raise; a few others are listed here, and
 * operands with which one that may raise never does. Owns nothing. Called by the planner's
 * part of nodes, by rewrites, and by stage/may_raise.c when a run starts.
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "pg/planner/expression/aggregate_kind.h"
#include "pg/planner/expression/function_lookup.h"
#include "pg/planner/expression/may_raise_expression.h"

/* Of dates and times: those that fail where a result is millions of days away only. */
static bool
is_harmless_time_function(Oid f)
{
	return TB_IS_ONE_OF(f, F_NOW, F_DATE_PLI, F_DATE_MII, F_DATE_PL_INTERVAL,
						F_DATE_MI_INTERVAL, F_TIMESTAMP_PL_INTERVAL,
						F_TIMESTAMP_MI_INTERVAL, F_TIMESTAMPTZ_PL_INTERVAL,
						F_TIMESTAMPTZ_MI_INTERVAL, F_DATE_TIMESTAMPTZ, F_TIMESTAMP_DATE,
						F_TIMESTAMPTZ_DATE, F_TIMESTAMP_TIMESTAMPTZ,
						F_TIMESTAMPTZ_TIMESTAMP);
}

static bool
is_harmless_number_function(Oid f)
{
	return TB_IS_ONE_OF(f, F_SCALE, F_INT4_INT2, F_INT8_INT2, F_INT8_INT4, F_FLOAT8_INT2,
						F_FLOAT8_INT4, F_FLOAT8_INT8, F_FLOAT8_FLOAT4, F_NUMERIC_INT2,
						F_NUMERIC_INT4, F_NUMERIC_INT8, F_NUMERIC_ADD, F_NUMERIC_SUB,
						F_NUMERIC_MUL, F_NUMERIC_UMINUS);
}

bool
tb_function_may_raise(Oid f)
{
	switch (tb_aggregate_kind(f))
	{
		case TB_AGGREGATE_UNKNOWN:
			return !tb_function_never_raises(f) && !is_harmless_time_function(f) &&
				!is_harmless_number_function(f);
		case TB_AGGREGATE_SUM:
		case TB_AGGREGATE_AVG:
			/* Floats overflow. */
			return TB_IS_ONE_OF(f, F_SUM_FLOAT4, F_SUM_FLOAT8, F_AVG_FLOAT4, F_AVG_FLOAT8);
		default:
			return false;
	}
}

static bool
function_raises(Oid funcid, void *context)
{
	return tb_function_may_raise(funcid);
}

/* The constant that the operand is, after a cast that never raises; NULL: it is none. */
static const Const *
constant_operand(Node *operand)
{
	const FuncExpr *cast = (const FuncExpr *) operand;

	if (IsA(cast, FuncExpr) && list_length(cast->args) == 1 &&
		IsA(linitial(cast->args), Const) &&
		func_volatile(cast->funcid) == PROVOLATILE_IMMUTABLE &&
		!tb_function_may_raise(cast->funcid))
		operand = eval_const_expressions(NULL, operand);
	return IsA(operand, Const) ? (const Const *) operand : NULL;
}

/* Whether the operation's second operand is a constant, with which it never raises: a
 * divisor but 0 and -1, a pattern without escapes. */
static bool
has_harmless_operand(const OpExpr *op)
{
	const Const *operand = list_length(op->args) == 2 ?
		constant_operand(lsecond(op->args)) :
		NULL;

	if (operand == NULL || operand->constisnull)
		return false;
	switch (get_opcode(op->opno))
	{
		case F_NUMERIC_DIV:
			return DatumGetBool(
				DirectFunctionCall2(numeric_ne, operand->constvalue,
									DirectFunctionCall1(int4_numeric, Int32GetDatum(0))));
		case F_INT4DIV:
		case F_INT84DIV:
			return DatumGetInt32(operand->constvalue) != 0 &&
				DatumGetInt32(operand->constvalue) != -1;
		case F_TEXTLIKE:
		case F_TEXTNLIKE:
		case F_BPCHARLIKE:
		case F_BPCHARNLIKE:
			return strchr(TextDatumGetCString(operand->constvalue), '\\') == NULL;
		default:
			return false;
	}
}

bool
tb_node_may_raise(Node *node)
{
	switch (nodeTag(node))
	{
		case T_OpExpr:
			return !has_harmless_operand((OpExpr *) node) &&
				check_functions_in_node(node, function_raises, NULL);
		case T_FuncExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_Aggref:
			return check_functions_in_node(node, function_raises, NULL);
		case T_Const:
		case T_Var:
		case T_CaseTestExpr:
		case T_SQLValueFunction:
		case T_SortGroupClause:
		case T_List:
		case T_TargetEntry:
		case T_RelabelType:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_GroupingFunc:
			return false;
		case T_ArrayExpr:
			/* Its elements are arrays, which may not match. */
			return ((ArrayExpr *) node)->multidims;
		default:
			return true;
	}
}

static bool
raises(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind != PARAM_EXTERN;
	return tb_node_may_raise(node) || expression_tree_walker(node, raises, context);
}

bool
tb_expression_may_raise(Node *expr)
{
	return raises(expr, NULL);
}
