/*
 * typing.c - see typing.h.
 *
 * PostgreSQL's own parser chooses operators, functions and casts, so that types, overloads
 * and errors are SQL's. But names mean what they mean in pg_catalog, whatever search_path
 * is: nobody can put another function under a body. Functions of the language are looked
 * for in the schema of the function that calls them.
 *
 * Called by parser.c. Must never accept a function that is not in the catalogue of devices,
 * nor of the language: those are pure, so that a body has no effects.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_func.h"
#include "parser/parse_oper.h"
#include "parser/parse_type.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "pg/convert/function_lookup.h"
#include "pg/convert/type_map.h"
#include "pg/language/typing.h"

#define CATALOG_SCHEMA "pg_catalog"

/* ---- Types ---- */

bool
tb_routine_has_type(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case TEXTOID:
			return true;
		default:
			return false;
	}
}

Oid
tb_type_of_name(const char *name)
{
	static const struct
	{
		const char *name;
		Oid			type;
	} names[] = {
		{"bool", BOOLOID},
		{"boolean", BOOLOID},
		{"int2", INT2OID},
		{"smallint", INT2OID},
		{"int", INT4OID},
		{"int4", INT4OID},
		{"integer", INT4OID},
		{"int8", INT8OID},
		{"bigint", INT8OID},
		{"float4", FLOAT4OID},
		{"real", FLOAT4OID},
		{"float", FLOAT8OID},
		{"float8", FLOAT8OID},
		{"double precision", FLOAT8OID},
		{"numeric", NUMERICOID},
		{"decimal", NUMERICOID},
		{"date", DATEOID},
		{"timestamp", TIMESTAMPOID},
		{"timestamp without time zone", TIMESTAMPOID},
		{"timestamptz", TIMESTAMPTZOID},
		{"timestamp with time zone", TIMESTAMPTZOID},
		{"text", TEXTOID},
		{"interval", INTERVALOID},
	};

	for (int i = 0; i < (int) lengthof(names); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].type;
	return InvalidOid;
}

/* ---- Operators and functions ---- */

static bool
is_known(Oid function)
{
	switch (function)
	{
		/* The translator knows these without rows of their own. */
		case F_NUMERIC_NUMERIC_INT4:
		case F_ROUND_NUMERIC_INT4:
		case F_NUMERIC_UPLUS:
			return true;
		default:
			return tb_function_is_known(function) || tb_is_routine(function);
	}
}

static void
raise_unknown(ParseState *pstate, Oid function, int location)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("function %s is not one of LANGUAGE turbine",
					format_procedure(function)),
			 errhint(
				 "Bodies call the functions and operators that turbine.functions lists, "
				 "and functions of the language."),
			 parser_errposition(pstate, location)));
}

static List *
catalog_name(const char *name)
{
	return list_make2(makeString(CATALOG_SCHEMA), makeString(pstrdup(name)));
}

Expr *
tb_make_operator(ParseState *pstate, const char *name, Expr *left, Expr *right,
				 int location)
{
	return make_op(pstate, catalog_name(name), (Node *) left, (Node *) right, NULL,
				   location);
}

/* Nodes of this kind are those of the operator "=", with another tag. */
static Expr *
equality_as(ParseState *pstate, NodeTag tag, const char *construct, Expr *left, Expr *right,
			int location)
{
	Expr *result = tb_make_operator(pstate, "=", left, right, location);

	if (exprType((Node *) result) != BOOLOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s requires = operator to yield boolean", construct),
				 parser_errposition(pstate, location)));
	((Node *) result)->type = tag;
	return result;
}

Expr *
tb_make_distinct(ParseState *pstate, Expr *left, Expr *right, int location)
{
	return equality_as(pstate, T_DistinctExpr, "IS DISTINCT FROM", left, right, location);
}

Expr *
tb_make_nullif(ParseState *pstate, Expr *left, Expr *right, int location)
{
	OpExpr *result = (OpExpr *) equality_as(pstate, T_NullIfExpr, "NULLIF", left, right,
											location);

	result->opresulttype = exprType(linitial(result->args));
	return (Expr *) result;
}

/* Whether a function of the name is of the language. */
static bool
names_routine(const char *schema, const char *name, int nargs)
{
	FuncCandidateList candidates =
		FuncnameGetCandidates(list_make2(makeString(pstrdup(schema)),
										 makeString(pstrdup(name))),
							  nargs, NIL, false, true, false, true);

	for (; candidates != NULL; candidates = candidates->next)
		if (OidIsValid(candidates->oid) && tb_is_routine(candidates->oid))
			return true;
	return false;
}

/* Raises what the parser would have other words for. */
static void
check_function_kind(ParseState *pstate, List *name, int nargs, int location)
{
	FuncCandidateList candidates = FuncnameGetCandidates(name, nargs, NIL, true, true,
														 false, true);

	for (; candidates != NULL; candidates = candidates->next)
		if (OidIsValid(candidates->oid) &&
			(get_func_prokind(candidates->oid) != PROKIND_FUNCTION ||
			 get_func_retset(candidates->oid)))
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("%s is no function of one value",
							quote_identifier(strVal(llast(name)))),
					 errdetail("Bodies of LANGUAGE turbine call no aggregates, window "
							   "functions, procedures or set-returning functions."),
					 parser_errposition(pstate, location)));
}

Expr *
tb_make_call(ParseState *pstate, const char *schema, const char *name, Oid own_schema,
			 List *args, int location)
{
	List *full_name;
	Node *result;

	if (schema == NULL)
	{
		char *own = get_namespace_name(own_schema);

		schema = own != NULL && names_routine(own, name, list_length(args)) ?
			own :
			CATALOG_SCHEMA;
	}
	full_name = list_make2(makeString(pstrdup(schema)), makeString(pstrdup(name)));
	check_function_kind(pstate, full_name, list_length(args), location);
	/* Without the node it might be a column. */
	result = ParseFuncOrColumn(pstate, full_name, args, NULL,
							   makeFuncCall(full_name, args, COERCE_EXPLICIT_CALL,
											location),
							   false, location);
	if (IsA(result, FuncExpr) && !is_known(((FuncExpr *) result)->funcid))
		raise_unknown(pstate, ((FuncExpr *) result)->funcid, location);
	if (IsA(result, FuncExpr) && ((FuncExpr *) result)->funcvariadic)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("function %s is variadic",
						format_procedure(((FuncExpr *) result)->funcid)),
				 parser_errposition(pstate, location)));
	if (IsA(result, FuncExpr))
		tb_complete_arguments((FuncExpr *) result);
	return (Expr *) result;
}

/* ---- Choices ---- */

Expr *
tb_null_literal(int location)
{
	Const *literal = makeConst(UNKNOWNOID, -1, InvalidOid, -2, (Datum) 0, true, false);

	literal->location = location;
	return (Expr *) literal;
}

Oid
tb_common_type(ParseState *pstate, List *exprs)
{
	Oid type = select_common_type(pstate, exprs, "IF", NULL);

	return type == UNKNOWNOID ? TEXTOID : type;
}

Expr *
tb_make_choice(ParseState *pstate, List *conditions, List *values, int location)
{
	CaseExpr *result = makeNode(CaseExpr);
	Oid		  type = tb_common_type(pstate, values);
	ListCell *condition;
	ListCell *value;

	result->casetype = type;
	result->location = location;
	forboth(condition, conditions, value, values)
	{
		CaseWhen *when = makeNode(CaseWhen);

		when->expr = lfirst(condition);
		when->result = (Expr *) coerce_to_common_type(pstate, lfirst(value), type, "IF");
		when->location = location;
		result->args = lappend(result->args, when);
	}
	result->defresult = (Expr *) coerce_to_common_type(pstate, llast(values), type, "IF");
	return (Expr *) result;
}

Expr *
tb_make_list(ParseState *pstate, const char *name, List *args, int location)
{
	const char *construct = pg_strcasecmp(name, "coalesce") == 0 ? "COALESCE" :
		pg_strcasecmp(name, "greatest") == 0					 ? "GREATEST" :
																   "LEAST";
	Oid			type = select_common_type(pstate, args, construct, NULL);
	List	   *values = NIL;
	ListCell   *lc;

	if (type == UNKNOWNOID)
		type = TEXTOID;
	foreach(lc, args)
		values = lappend(values,
						 coerce_to_common_type(pstate, lfirst(lc), type, construct));
	if (construct[0] == 'C')
	{
		CoalesceExpr *coalesce = makeNode(CoalesceExpr);

		coalesce->coalescetype = type;
		coalesce->args = values;
		coalesce->location = location;
		return (Expr *) coalesce;
	}
	else
	{
		MinMaxExpr *extreme = makeNode(MinMaxExpr);

		extreme->minmaxtype = type;
		extreme->op = construct[0] == 'G' ? IS_GREATEST : IS_LEAST;
		extreme->args = values;
		extreme->location = location;
		return (Expr *) extreme;
	}
}

/* ---- Casts ---- */

Expr *
tb_coerce_assigned(ParseState *pstate, Expr *expr, Oid type, int32 typmod, const char *what,
				   int location)
{
	Oid	  from = exprType((Node *) expr);
	Node *result = coerce_to_target_type(pstate, (Node *) expr, from, type, typmod,
										 COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST, -1);

	if (result == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s is of type %s but expression is of type %s", what,
						format_type_be(type), format_type_be(from)),
				 errhint("You will need to rewrite or cast the expression."),
				 parser_errposition(pstate, location)));
	return (Expr *) result;
}

Expr *
tb_make_cast(ParseState *pstate, Expr *expr, Oid type, int32 typmod, int location)
{
	Oid	  from = exprType((Node *) expr);
	Node *result = coerce_to_target_type(pstate, (Node *) expr, from, type, typmod,
										 COERCION_EXPLICIT, COERCE_EXPLICIT_CAST, location);

	if (result == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CANNOT_COERCE),
				 errmsg("cannot cast type %s to %s", format_type_be(from),
						format_type_be(type)),
				 parser_errposition(pstate, location)));
	return (Expr *) result;
}

Expr *
tb_make_condition(ParseState *pstate, Expr *expr, const char *construct)
{
	return (Expr *) coerce_to_boolean(pstate, (Node *) expr, construct);
}

/*
 * Casts of constants that cannot raise, so that 1.5 in a float8 expression is a float8
 * constant. Nothing else is computed here: it might raise, in a branch that is never taken.
 */
static Node *
cast_constants(Node *node, void *context)
{
	FuncExpr	*cast;
	const Const *literal;
	bool		 safe = false;

	if (node == NULL)
		return NULL;
	check_stack_depth();
	node = expression_tree_mutator(node, cast_constants, context);
	cast = (FuncExpr *) node;
	if (!IsA(node, FuncExpr) || list_length(cast->args) != 1 ||
		!IsA(linitial(cast->args), Const))
		return node;
	literal = linitial_node(Const, cast->args);
	if (literal->constisnull)
		return node;
	switch (cast->funcid)
	{
		case F_INT4_INT2:
		case F_INT8_INT2:
		case F_INT8_INT4:
		case F_FLOAT4_INT2:
		case F_FLOAT4_INT4:
		case F_FLOAT4_INT8:
		case F_FLOAT8_INT2:
		case F_FLOAT8_INT4:
		case F_FLOAT8_INT8:
		case F_FLOAT8_FLOAT4:
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
			safe = true;
			break;
		case F_FLOAT8_NUMERIC:
		{
			/* Digits beyond float8's range raise. */
			double value = DatumGetFloat8(
				DirectFunctionCall1(numeric_float8_no_overflow, literal->constvalue));

			safe = !isinf(value) && (value == 0 || fabs(value) > 1e-300);
			break;
		}
		default:
			break;
	}
	return safe ? eval_const_expressions(NULL, node) : node;
}

/* ---- Whole expressions ---- */

static bool
is_unknown(Oid function, void *context)
{
	if (is_known(function))
		return false;
	*(Oid *) context = function;
	return true;
}

typedef struct Check
{
	ParseState	 *pstate;
	TbDependence *depends;
} Check;

static int
count_digits(const char *text)
{
	return strspn(text, "0123456789");
}

/*
 * Whether a date or time means the same under all settings: year, month and day come first,
 * nothing is spelled out, and a timestamptz ends with its zone as digits. "today", 1/2/2024
 * and names of zones do not. The constant was made of the string at its place.
 */
static bool
is_fixed_moment(const Const *constant, const char *source)
{
	const char *text;
	size_t		length;

	if (constant->constisnull || constant->location < 0)
		return constant->constisnull;
	text = source + constant->location;
	if (*text++ != '\'' || count_digits(text) != 4 || text[4] != '-' ||
		count_digits(text + 5) != 2 || text[7] != '-' || count_digits(text + 8) != 2)
		return false;
	/* To the closing quote: digits and their delimiters. */
	length = strspn(text, "0123456789-+:. T");
	if (text[length] != '\'')
		return false;
	if (constant->consttype != TIMESTAMPTZOID)
		return true;
	/* ...+00, ...+05:30 */
	return length > 13 &&
		(strchr("+-", text[length - 3]) != NULL ||
		 (length > 16 && strchr("+-", text[length - 6]) != NULL &&
		  text[length - 3] == ':'));
}

static bool
check_node(Node *node, Check *check)
{
	Oid function;

	if (node == NULL)
		return false;
	check_stack_depth();
	switch (nodeTag(node))
	{
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			if (IsA(node, FuncExpr) == false)
				set_opfuncid((OpExpr *) node);
			if (check_functions_in_node(node, is_unknown, &function))
				raise_unknown(check->pstate, function, exprLocation(node));
			break;
		case T_Const:
			if (!tb_routine_has_type(((Const *) node)->consttype) &&
				((Const *) node)->consttype != INTERVALOID)
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("values of type %s are not of LANGUAGE turbine",
								format_type_be(((Const *) node)->consttype)),
						 parser_errposition(check->pstate, exprLocation(node))));
			if ((((Const *) node)->consttype == DATEOID ||
				 ((Const *) node)->consttype == TIMESTAMPOID ||
				 ((Const *) node)->consttype == TIMESTAMPTZOID) &&
				!is_fixed_moment((Const *) node, check->pstate->p_sourcetext))
				check->depends->stable = check->depends->session_constants = true;
			break;
		case T_Var:
		case T_List:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_RelabelType:
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("a conversion to type %s is not of LANGUAGE turbine",
							format_type_be(exprType(node))),
					 parser_errposition(check->pstate, exprLocation(node))));
	}
	return expression_tree_walker(node, check_node, check);
}

Expr *
tb_finish_expression(ParseState *pstate, Expr *expr, TbDependence *depends)
{
	Check check = {.pstate = pstate, .depends = depends};

	(void) check_node((Node *) expr, &check);
	assign_expr_collations(pstate, (Node *) expr);
	expr = (Expr *) cast_constants((Node *) expr, NULL);
	fix_opfuncids((Node *) expr);
	if (contain_mutable_functions((Node *) expr))
		depends->stable = true;
	return expr;
}

static bool
count_node(Node *node, int *count)
{
	if (node == NULL)
		return false;
	check_stack_depth();
	(*count)++;
	return expression_tree_walker(node, count_node, count);
}

int
tb_count_expressions(Expr *expr)
{
	int count = 0;

	(void) count_node((Node *) expr, &count);
	return count;
}
