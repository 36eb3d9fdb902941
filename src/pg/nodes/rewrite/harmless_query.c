/*
 * harmless_query.c - see harmless_query.h.
 *
 * "Yes" is a promise; "no" is said of all that is not known. Owns nothing. Called by
 * correlated_aggregates.c.
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "pg/nodes/rewrite/harmless_query.h"
#include "pg/stage/may_raise.h"

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

/* Whether the subquery has one row whatever its tables hold. */
static bool
returns_one_row(const Query *query)
{
	return query->hasAggs && query->groupClause == NIL && query->groupingSets == NIL &&
		query->havingQual == NULL && query->setOperations == NULL && !query->hasTargetSRFs;
}

/* Counts of LIMIT may be negative; rows that are locked, and statements in WITH, have
 * effects. */
static bool
is_harmful_query(const Query *query)
{
	return query->commandType != CMD_SELECT || query->limitCount != NULL ||
		query->limitOffset != NULL || query->rowMarks != NIL || query->hasModifyingCTE ||
		query->hasTargetSRFs || query->hasRecursive;
}

static bool
is_harmful(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Query:
			return is_harmful_query((Query *) node) ||
				query_tree_walker((Query *) node, is_harmful, context, 0);
		case T_SubLink:
		{
			const SubLink *link = (SubLink *) node;

			if (link->subLinkType != EXISTS_SUBLINK && link->subLinkType != ANY_SUBLINK &&
				!(link->subLinkType == EXPR_SUBLINK &&
				  returns_one_row(castNode(Query, link->subselect))))
				return true;
			break;
		}
		case T_OpExpr:
			if (!has_harmless_operand((OpExpr *) node) &&
				check_functions_in_node(node, function_raises, NULL))
				return true;
			break;
		case T_FuncExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_Aggref:
			if (check_functions_in_node(node, function_raises, NULL))
				return true;
			break;
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN &&
				((Param *) node)->paramkind != PARAM_SUBLINK;
		case T_Const:
		case T_Var:
		case T_CaseTestExpr:
		case T_SQLValueFunction:
		case T_List:
		case T_TargetEntry:
		case T_FromExpr:
		case T_JoinExpr:
		case T_RangeTblRef:
		case T_RelabelType:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_ArrayExpr:
		case T_SortGroupClause:
		case T_CommonTableExpr:
			break;
		default:
			return true;
	}
	return expression_tree_walker(node, is_harmful, context);
}

bool
tb_query_is_harmless(Node *tree)
{
	return !is_harmful(tree, NULL) && !contain_volatile_functions(tree);
}
