/*
 * estimate.c - see estimate.h. Called by the planning of GpuPreAgg and GpuSort, and
 * when a run of groups starts.
 *
 * Knows PostgreSQL's arithmetic, casts and comparisons of numbers, and reads aggregates off
 * their states. The engine's intervals are wide enough for whatever PostgreSQL rounds; an
 * expression with anything else in it has no estimate.
 *
 * Parameters are values that are known when a run starts, such as those of a subquery that
 * is computed once. A step names its parameter by number; of what type it is says the
 * node's filter or target, where it stands. Must never evaluate what PostgreSQL might not,
 * if that may raise an error.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/nodeSubplan.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "pg/compat/pg18.h"
#include "pg/nodes/results/estimate.h"
#include "pg/planner/expression/aggregate_kind.h"
#include "pg/errors/may_raise.h"

/* Whole numbers up to here are doubles. */
#define EXACT_DOUBLE 9007199254740992.0
/* Digits that round() may keep. */
#define MOST_ROUNDED_DIGITS 30

/* In a step's column, beside the number: one of the client's. */
#define EXTERN_PARAM 0x40000000u

typedef struct Estimator
{
	const TbResultColumns *columns;
	List				  *steps; /* TbEstimateStep * */
} Estimator;

static uint32
number_of(const Param *param)
{
	return (uint32) param->paramid | (param->paramkind == PARAM_EXTERN ? EXTERN_PARAM : 0);
}

/* The step of a parameter in a plan: any value, and which parameter it is. */
static TbEstimateStep
param_step(const Param *param)
{
	return (TbEstimateStep) {.op = TB_ESTIMATE_CONSTANT,
							 .column = number_of(param),
							 .low = -INFINITY,
							 .high = INFINITY};
}

/* Functions whose value is an operation on their arguments, in their result's domain. */
static const struct
{
	Oid	  function;
	uint8 op;
} operations[] = {
	{F_INT4PL, TB_ESTIMATE_ADD},
	{F_INT8PL, TB_ESTIMATE_ADD},
	{F_INT48PL, TB_ESTIMATE_ADD},
	{F_INT84PL, TB_ESTIMATE_ADD},
	{F_INT28PL, TB_ESTIMATE_ADD},
	{F_INT82PL, TB_ESTIMATE_ADD},
	{F_NUMERIC_ADD, TB_ESTIMATE_ADD},
	{F_FLOAT8PL, TB_ESTIMATE_ADD},
	{F_INT4MI, TB_ESTIMATE_SUBTRACT},
	{F_INT8MI, TB_ESTIMATE_SUBTRACT},
	{F_INT48MI, TB_ESTIMATE_SUBTRACT},
	{F_INT84MI, TB_ESTIMATE_SUBTRACT},
	{F_INT28MI, TB_ESTIMATE_SUBTRACT},
	{F_INT82MI, TB_ESTIMATE_SUBTRACT},
	{F_NUMERIC_SUB, TB_ESTIMATE_SUBTRACT},
	{F_FLOAT8MI, TB_ESTIMATE_SUBTRACT},
	{F_INT4MUL, TB_ESTIMATE_MULTIPLY},
	{F_INT8MUL, TB_ESTIMATE_MULTIPLY},
	{F_INT48MUL, TB_ESTIMATE_MULTIPLY},
	{F_INT84MUL, TB_ESTIMATE_MULTIPLY},
	{F_INT28MUL, TB_ESTIMATE_MULTIPLY},
	{F_INT82MUL, TB_ESTIMATE_MULTIPLY},
	{F_NUMERIC_MUL, TB_ESTIMATE_MULTIPLY},
	{F_FLOAT8MUL, TB_ESTIMATE_MULTIPLY},
	{F_INT4DIV, TB_ESTIMATE_DIVIDE},
	{F_INT8DIV, TB_ESTIMATE_DIVIDE},
	{F_INT48DIV, TB_ESTIMATE_DIVIDE},
	{F_INT84DIV, TB_ESTIMATE_DIVIDE},
	{F_INT28DIV, TB_ESTIMATE_DIVIDE},
	{F_INT82DIV, TB_ESTIMATE_DIVIDE},
	{F_NUMERIC_DIV, TB_ESTIMATE_DIVIDE},
	{F_FLOAT8DIV, TB_ESTIMATE_DIVIDE},
	{F_INT4UM, TB_ESTIMATE_NEGATE},
	{F_INT8UM, TB_ESTIMATE_NEGATE},
	{F_NUMERIC_UMINUS, TB_ESTIMATE_NEGATE},
	{F_FLOAT8UM, TB_ESTIMATE_NEGATE},
	{F_ABS_INT4, TB_ESTIMATE_ABSOLUTE},
	{F_ABS_INT8, TB_ESTIMATE_ABSOLUTE},
	{F_ABS_NUMERIC, TB_ESTIMATE_ABSOLUTE},
	{F_ABS_FLOAT8, TB_ESTIMATE_ABSOLUTE},
	{F_INT4_INT8, TB_ESTIMATE_CONVERT},
	{F_INT4_NUMERIC, TB_ESTIMATE_CONVERT},
	{F_INT8_NUMERIC, TB_ESTIMATE_CONVERT},
	{F_INT4_FLOAT8, TB_ESTIMATE_CONVERT},
	{F_INT8_FLOAT8, TB_ESTIMATE_CONVERT},
	{F_NUMERIC_FLOAT8, TB_ESTIMATE_CONVERT},
};

/* Casts to a type that has a value for each of the argument's, or its nearest one. */
static const Oid plain_casts[] = {
	F_INT8_INT4,	F_INT8_INT2,   F_INT4_INT2,	  F_NUMERIC_INT2, F_NUMERIC_INT4,
	F_NUMERIC_INT8, F_FLOAT8_INT2, F_FLOAT8_INT4, F_FLOAT8_INT8,  F_FLOAT8_NUMERIC,
};

static bool estimate(Estimator *e, Expr *expr);

static TbEstimateStep *
add_step(Estimator *e, uint8 op)
{
	TbEstimateStep *step = palloc0(sizeof(TbEstimateStep));

	step->op = op;
	step->column = TB_NONE;
	e->steps = lappend(e->steps, step);
	return step;
}

/* False: values of the type are none of ours. */
static bool
set_domain(TbEstimateStep *step, Oid type)
{
	switch (type)
	{
		case INT4OID:
			step->domain = TB_DOMAIN_INTEGER;
			step->low = PG_INT32_MIN;
			step->high = PG_INT32_MAX;
			return true;
		case INT8OID:
			step->domain = TB_DOMAIN_INTEGER;
			step->low = (double) PG_INT64_MIN;
			/* the last double below 2^63 */
			step->high = nextafter(-(double) PG_INT64_MIN, 0);
			return true;
		case NUMERICOID:
			step->domain = TB_DOMAIN_NUMERIC;
			return true;
		case FLOAT8OID:
			step->domain = TB_DOMAIN_FLOAT8;
			return true;
		default:
			return false;
	}
}

static void
add_column(Estimator *e, uint32 column, int scale)
{
	TbEstimateStep *step = add_step(e, TB_ESTIMATE_COLUMN);

	step->column = column;
	step->scale = scale;
	step->low = -INFINITY;
	step->high = INFINITY;
}

static bool
estimate_average(Estimator *e, const TbOutput *output, Oid type)
{
	add_column(e, output->first, output->kind == TB_OUT_AVG_NUMERIC ? output->scale : 0);
	add_column(e, output->second, 0);
	return set_domain(add_step(e, TB_ESTIMATE_DIVIDE), type);
}

static bool
estimate_output(Estimator *e, const TbOutput *output, Expr *expr)
{
	bool numeric = output->type == TB_TYPE_NUM64 || output->type == TB_TYPE_NUM128;

	if (output->scale < -TB_MAX_ESTIMATE_SCALE || output->scale > TB_MAX_ESTIMATE_SCALE)
		return false;
	switch (output->kind)
	{
		case TB_OUT_KEY:
		case TB_OUT_VALUE:
			if (tb_type_is_text(output->type))
				return false;
			add_column(e, output->first, numeric ? output->scale : 0);
			return true;
		case TB_OUT_SUM_NUMERIC:
			add_column(e, output->first, output->scale);
			return true;
		case TB_OUT_SUM_FLOAT8:
			add_column(e, output->first, 0);
			return true;
		case TB_OUT_AVG_NUMERIC:
		case TB_OUT_AVG_FLOAT8:
			return estimate_average(e, output, exprType((Node *) expr));
		default:
			return false;
	}
}

/* The double next to the value on either side, or the value itself. */
static void
add_constant(Estimator *e, double value, bool exact)
{
	TbEstimateStep *step = add_step(e, TB_ESTIMATE_CONSTANT);

	step->low = exact ? value : nextafter(value, -INFINITY);
	step->high = exact ? value : nextafter(value, INFINITY);
}

static bool
estimate_numeric_constant(Estimator *e, Datum value)
{
	double number;

	if (numeric_is_nan(DatumGetNumeric(value)) || numeric_is_inf(DatumGetNumeric(value)))
		return false;
	number = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value));
	if (!isfinite(number))
		return false;
	/* Rounding may have made it whole. */
	add_constant(e, number,
				 fabs(number) < EXACT_DOUBLE &&
					 DatumGetBool(
						 DirectFunctionCall2(numeric_eq, value,
											 DirectFunctionCall1(float8_numeric,
																 Float8GetDatum(
																	 trunc(number))))));
	return true;
}

static bool
estimate_constant(Estimator *e, const Const *constant)
{
	double number;

	if (constant->constisnull)
	{
		(void) add_step(e, TB_ESTIMATE_NULL);
		return true;
	}
	switch (constant->consttype)
	{
		case INT2OID:
			number = DatumGetInt16(constant->constvalue);
			break;
		case INT4OID:
		case DATEOID:
			number = DatumGetInt32(constant->constvalue);
			break;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			number = (double) DatumGetInt64(constant->constvalue);
			break;
		case FLOAT8OID:
			number = DatumGetFloat8(constant->constvalue);
			if (!isfinite(number))
				return false;
			add_constant(e, number, true);
			return true;
		case NUMERICOID:
			return estimate_numeric_constant(e, constant->constvalue);
		default:
			return false;
	}
	add_constant(e, number, fabs(number) < EXACT_DOUBLE);
	return true;
}

/* Its value is known when a run starts. */
static bool
estimate_param(Estimator *e, const Param *param)
{
	if (!TB_IS_ONE_OF(param->paramtype, INT2OID, INT4OID, INT8OID, NUMERICOID, FLOAT8OID,
					  DATEOID, TIMESTAMPOID, TIMESTAMPTZOID) ||
		(param->paramkind != PARAM_EXEC && param->paramkind != PARAM_EXTERN))
		return false;
	*add_step(e, TB_ESTIMATE_CONSTANT) = param_step(param);
	return true;
}

static bool
is_plain_cast(Oid function)
{
	for (int i = 0; i < lengthof(plain_casts); i++)
		if (plain_casts[i] == function)
			return true;
	return false;
}

static bool
estimate_all(Estimator *e, const List *exprs)
{
	ListCell *lc;

	foreach(lc, exprs)
		if (!estimate(e, lfirst(lc)))
			return false;
	return true;
}

static bool
estimate_round(Estimator *e, const List *args)
{
	const Const *digits = list_length(args) == 2 ? lsecond(args) : NULL;
	int			 kept = 0;

	if (digits != NULL)
	{
		if (!IsA(digits, Const) || digits->constisnull)
			return false;
		kept = DatumGetInt32(digits->constvalue);
	}
	if (kept < 0 || kept > MOST_ROUNDED_DIGITS || !estimate(e, linitial(args)))
		return false;
	add_step(e, TB_ESTIMATE_ROUND)->high = pow(10, -kept);
	return true;
}

static bool
estimate_function(Estimator *e, Oid function, const List *args, Oid type)
{
	if (TB_IS_ONE_OF(function, F_ROUND_NUMERIC_INT4, F_ROUND_NUMERIC, F_ROUND_FLOAT8))
		return estimate_round(e, args);
	if (is_plain_cast(function))
		return estimate(e, linitial(args));
	for (int i = 0; i < lengthof(operations); i++)
		if (operations[i].function == function)
			return estimate_all(e, args) && set_domain(add_step(e, operations[i].op), type);
	return false;
}

/* Types whose values are compared as numbers, with each other. */
static bool
compares_numbers(Oid left, Oid right)
{
	bool numbers = TB_IS_ONE_OF(left, INT2OID, INT4OID, INT8OID, NUMERICOID, FLOAT8OID) &&
		TB_IS_ONE_OF(right, INT2OID, INT4OID, INT8OID, NUMERICOID, FLOAT8OID);

	return numbers ||
		(left == right && TB_IS_ONE_OF(left, DATEOID, TIMESTAMPOID, TIMESTAMPTZOID));
}

static int
strategy_of(Oid operator)
{
	List *meanings = get_op_index_interpretation(operator);

	return meanings == NIL ? InvalidStrategy :
							 ((OpIndexInterpretation *) linitial(meanings))->cmptype;
}

static bool
estimate_comparison(Estimator *e, const OpExpr *op)
{
	int	  strategy = strategy_of(op->opno);
	Expr *left = linitial(op->args);
	Expr *right = lsecond(op->args);
	bool  swapped = strategy == BTGreaterStrategyNumber ||
		strategy == BTGreaterEqualStrategyNumber;

	/* Both sides, the less one first. */
	if (!compares_numbers(exprType((Node *) left), exprType((Node *) right)) ||
		!estimate(e, swapped ? right : left) || !estimate(e, swapped ? left : right))
		return false;
	/* How they are compared. */
	switch (strategy)
	{
		case BTLessStrategyNumber:
		case BTGreaterStrategyNumber:
			(void) add_step(e, TB_ESTIMATE_LESS);
			return true;
		case BTLessEqualStrategyNumber:
		case BTGreaterEqualStrategyNumber:
			(void) add_step(e, TB_ESTIMATE_LESS_EQUAL);
			return true;
		case BTEqualStrategyNumber:
			(void) add_step(e, TB_ESTIMATE_EQUAL);
			return true;
		case COMPARE_NE:
			(void) add_step(e, TB_ESTIMATE_NOT_EQUAL);
			return true;
		default:
			return false;
	}
}

static bool
estimate_operator(Estimator *e, const OpExpr *op)
{
	if (op->opno >= FirstNormalObjectId)
		return false;
	if (op->opresulttype == BOOLOID)
		return list_length(op->args) == 2 && estimate_comparison(e, op);
	return estimate_function(e, op->opfuncid, op->args, op->opresulttype);
}

static bool
estimate_null_if(Estimator *e, const NullIfExpr *expr)
{
	Expr *left = linitial(expr->args);
	Expr *right = lsecond(expr->args);

	if (expr->opno >= FirstNormalObjectId ||
		strategy_of(expr->opno) != BTEqualStrategyNumber ||
		!compares_numbers(exprType((Node *) left), exprType((Node *) right)) ||
		!estimate(e, left) || !estimate(e, right))
		return false;
	(void) add_step(e, TB_ESTIMATE_NULLIF);
	return true;
}

static bool
estimate_coalesce(Estimator *e, const CoalesceExpr *expr)
{
	ListCell *lc;

	foreach(lc, expr->args)
	{
		if (!estimate(e, lfirst(lc)))
			return false;
		if (foreach_current_index(lc) > 0)
			(void) add_step(e, TB_ESTIMATE_COALESCE);
	}
	return true;
}

static bool
estimate(Estimator *e, Expr *expr)
{
	const TbOutput *output = tb_result_columns_find(e->columns, expr);

	check_stack_depth();
	if (output != NULL)
		return estimate_output(e, output, expr);
	switch (nodeTag(expr))
	{
		case T_Const:
			return estimate_constant(e, (Const *) expr);
		case T_Param:
			return estimate_param(e, (Param *) expr);
		case T_OpExpr:
			return estimate_operator(e, (OpExpr *) expr);
		case T_FuncExpr:
			return estimate_function(e, ((FuncExpr *) expr)->funcid,
									 ((FuncExpr *) expr)->args,
									 ((FuncExpr *) expr)->funcresulttype);
		case T_NullIfExpr:
			return estimate_null_if(e, (NullIfExpr *) expr);
		case T_CoalesceExpr:
			return estimate_coalesce(e, (CoalesceExpr *) expr);
		default:
			return false;
	}
}

static int
depth_of(const List *steps)
{
	int		  depth = 0;
	int		  most = 0;
	ListCell *lc;

	foreach(lc, steps)
	{
		switch (((TbEstimateStep *) lfirst(lc))->op)
		{
			case TB_ESTIMATE_COLUMN:
			case TB_ESTIMATE_CONSTANT:
			case TB_ESTIMATE_NULL:
				most = Max(most, ++depth);
				break;
			case TB_ESTIMATE_NEGATE:
			case TB_ESTIMATE_ABSOLUTE:
			case TB_ESTIMATE_CONVERT:
			case TB_ESTIMATE_ROUND:
				break;
			default:
				depth--;
		}
	}
	return most;
}

List *
tb_estimate_steps(const TbResultColumns *columns, Expr *expr)
{
	Estimator e = {.columns = columns};

	if (!estimate(&e, expr) || depth_of(e.steps) > TB_MAX_ESTIMATE_DEPTH)
		return NIL;
	return e.steps;
}

List *
tb_estimate_of_anything(void)
{
	Estimator		e = {0};
	TbEstimateStep *step = add_step(&e, TB_ESTIMATE_CONSTANT);

	step->low = -INFINITY;
	step->high = INFINITY;
	return e.steps;
}

static bool
is_of_param(const TbEstimateStep *step)
{
	return step->op == TB_ESTIMATE_CONSTANT && step->column != TB_NONE;
}

typedef struct Search
{
	uint32 number;
	Param *found;
} Search;

static bool
find_param(Node *node, Search *search)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && number_of((Param *) node) == search->number)
	{
		search->found = (Param *) node;
		return true;
	}
	return expression_tree_walker(node, find_param, search);
}

static bool
value_of_client(const Param *param, ExprContext *econtext, Datum *value, bool *isnull)
{
	ParamListInfo	 list = econtext->ecxt_param_list_info;
	ParamExternData	 room;
	ParamExternData *known;

	if (list == NULL || param->paramid > list->numParams)
		return false;
	known = list->paramFetch != NULL ?
		list->paramFetch(list, param->paramid, false, &room) :
		&list->params[param->paramid - 1];
	*value = known->value;
	*isnull = known->isnull;
	return known->ptype == param->paramtype;
}

/* The parameter's value; false if it must not be computed now. */
static bool
evaluate(const Param *param, PlanState *node, Datum *value, bool *isnull)
{
	ExprContext	  *econtext = node->ps_ExprContext;
	ParamExecData *known;

	if (param->paramkind == PARAM_EXTERN)
		return value_of_client(param, econtext, value, isnull);
	if (tb_param_may_raise(param, node->state))
		return false;
	known = &econtext->ecxt_param_exec_vals[param->paramid];
	if (known->execPlan != NULL)
		ExecSetParamPlan(known->execPlan, econtext);
	*value = known->value;
	*isnull = known->isnull;
	return true;
}

/* The step of the value, as that of a constant. */
static void
bind_step(TbEstimateStep *step, PlanState *node)
{
	TbResultColumns none = {NIL, NIL};
	Search			search = {.number = step->column};
	List		   *steps;
	Datum			value;
	bool			isnull;
	int16			length;
	bool			by_value;

	step->column = TB_NONE;
	if (!find_param((Node *) node->plan->qual, &search) &&
		!find_param((Node *) node->plan->targetlist, &search))
		(void) find_param((Node *) castNode(CustomScan, node->plan)->custom_scan_tlist,
						  &search);
	if (search.found == NULL || !evaluate(search.found, node, &value, &isnull))
		return;
	get_typlenbyval(search.found->paramtype, &length, &by_value);
	steps = tb_estimate_steps(&none,
							  (Expr *) makeConst(search.found->paramtype, -1, InvalidOid,
												 length, isnull ? (Datum) 0 : value, isnull,
												 by_value));
	if (steps != NIL)
		*step = *(TbEstimateStep *) linitial(steps);
}

static TbEstimateStep *
steps_of(TbResultPlan *result)
{
	return (TbEstimateStep *) ((char *) result + result->steps.offset);
}

bool
tb_estimate_has_params(const TbResultPlan *result)
{
	for (uint32 i = 0; result != NULL && i < result->steps.count; i++)
		if (is_of_param(steps_of((TbResultPlan *) result) + i))
			return true;
	return false;
}

void
tb_estimate_bind_params(const TbResultPlan *planned, TbResultPlan *bound, PlanState *node)
{
	/* A node below a subquery may start thousands of times. */
	MemoryContext old = MemoryContextSwitchTo(node->ps_ExprContext->ecxt_per_tuple_memory);

	memcpy(bound, planned, planned->total_size);
	for (uint32 i = 0; i < bound->steps.count; i++)
		if (is_of_param(steps_of(bound) + i))
			bind_step(steps_of(bound) + i, node);
	MemoryContextSwitchTo(old);
}
